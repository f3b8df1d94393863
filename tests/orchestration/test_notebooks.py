"""The notebooks print their stored outputs, and each contains a picture."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path

import pytest

from tests.orchestration.environments import ROOT, environment
from tests.orchestration.test_command import BIN, EXPORT

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def test_there_are_three() -> None:
    assert [file.stem for file in NOTEBOOKS] == ["what_changed", "what_if", "who_can_read_what"]


@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_a_notebook_was_run_and_holds_a_picture(file: Path) -> None:
    cells = json.loads(file.read_text("utf-8"))["cells"]
    code = [cell for cell in cells if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1))
    outputs = [output for cell in code for output in cell["outputs"]]
    assert any("image/png" in output.get("data", {}) for output in outputs)
    assert all(output["output_type"] != "error" for output in outputs)
    assert "/tmp/" not in file.read_text("utf-8")


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.spark
@pytest.mark.parametrize("file", NOTEBOOKS, ids=lambda file: file.stem)
def test_a_notebook_says_what_it_said(file: Path, tmp_path: Path) -> None:
    more = ("ipykernel==7.4.0", "matplotlib==3.11.2", "pandas==2.3.3", "duckdb==2.0.0")
    python = environment("notebooks", "0.11.0", "nbclient", *more)
    with_estate = {"ESTATE_COMMAND": BIN, "ESTATE_EXPORT": EXPORT, "HOME": str(tmp_path)}
    ran = subprocess.run(
        [python, str(ROOT / "scripts" / "run-notebooks.py"), str(file)],
        cwd=tmp_path,
        env={**os.environ, **with_estate},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    assert ran.returncode == 0, ran.stdout[-4000:]
