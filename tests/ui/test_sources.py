"""The pages' own tests, and checks of their sources."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path
from typing import Final

import pytest

UI: Final = Path(__file__).parents[2] / "ui"

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        shutil.which("npm") is None or not (UI / "node_modules").is_dir(),
        reason="the pages are not built here with a Node on the path: make ui",
    ),
]


def _npm(script: str) -> None:
    environment = {**os.environ, "NO_COLOR": "1", "CI": "1"}
    command = ["npm", "run", "--silent", script]
    ran = subprocess.run(
        command, cwd=UI, env=environment, capture_output=True, text=True, timeout=600, check=False
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_their_units_pass() -> None:
    _npm("test")


@pytest.mark.nightly  # the build also checks the types when a source changes
def test_types_style_and_format_are_clean() -> None:
    _npm("check")
