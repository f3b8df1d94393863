"""An installed wheel serves the pages, without Node."""

from __future__ import annotations

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from lakewarden.ui.built import is_built
from tests.app.serving import server

ROOT = Path(__file__).parents[2]


@pytest.mark.nightly  # downloads the build's packages, and builds everything
@pytest.mark.skipif(not is_built(), reason="the pages are not built: make ui")
def test_an_installed_wheel_serves_the_pages(tmp_path: Path) -> None:
    wheels, place = tmp_path / "wheels", tmp_path / "place"
    command = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "-w", str(wheels), "."]
    subprocess.run(command, cwd=ROOT, check=True, timeout=300)
    (wheel,) = wheels.iterdir()
    with zipfile.ZipFile(wheel) as packed:
        assert "lakewarden/ui/dist/index.html" in packed.namelist()
        packed.extractall(place)
    nowhere = tmp_path / "bin"
    nowhere.mkdir()
    environment = {"PYTHONPATH": str(place), "PATH": str(nowhere)}
    with server(tmp_path / "served", environment={**os.environ, **environment}) as served:
        page = served.ask("GET", "/ui/ask")
        assert page.status == 200
        assert b'<script type="module"' in page.body
