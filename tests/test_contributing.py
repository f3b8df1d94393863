"""The pages for new contributors: the first change works as written; every room has an owner."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from lakewarden.service.scenario_file import read
from lakewarden.service.scenario_target import KernelTarget
from lakewarden.service.scenarios import run
from lakewarden.service.system import load_system
from tests.agreement.targets import OracleTarget

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "CONTRIBUTING.md").read_text("utf-8")


def first_change(folder: Path, *, moved: bool = False) -> Path:
    """The scenario of the page; `moved`: as changed by the third step."""
    (text,) = re.findall(r"```toml\n(.+?) *```", PAGE, re.DOTALL)
    text = dedent(text)
    if moved:
        text = text.replace('allow = ["ana"]\ndeny = ["bo"]', 'allow = ["ana", "bo"]', 1)
    file = folder / "first_change.toml"
    file.write_text(text, "utf-8")
    return file


@pytest.mark.parametrize("target", [OracleTarget(), KernelTarget()], ids=["oracle", "kernel"])
def test_the_first_change_holds_and_fails_as_the_page_says(
    tmp_path: Path, target: OracleTarget | KernelTarget
) -> None:
    assert run(read(first_change(tmp_path), load_system), target) == []
    (failure,) = run(read(first_change(tmp_path, moved=True), load_system), target)
    told = (failure.title, failure.user, failure.expected, failure.actual)
    assert told == ("READ on a dataset reads that dataset alone", "user:bo", "allow", "deny")


def test_the_page_names_the_rule_and_what_runs_it() -> None:
    for named in re.findall(r"`((?:src|tests|docs)/[\w/.-]+)`", PAGE):
        if "first_change" not in named and "NNNN" not in named:
            assert (ROOT / named).exists(), named
    model = (ROOT / "src/lakewarden/systems/cdap/model.toml").read_text("utf-8")
    assert '[operations."dataset.read"]' in model


def test_every_room_has_an_owner() -> None:
    lines = (ROOT / ".github/CODEOWNERS").read_text("utf-8").splitlines()
    owned = {line.split()[0] for line in lines if line.startswith("/")}
    rooms = {
        f"/src/lakewarden/{path.name}" + "/" * path.is_dir()
        for path in (ROOT / "src/lakewarden").iterdir()
        if path.name not in ("__pycache__", "__init__.py", "py.typed")
    }
    assert rooms <= owned
    for path in owned:
        assert (ROOT / path.strip("/")).exists(), path


def test_the_index_of_decisions_is_that_of_the_records() -> None:
    script = ROOT / "scripts/index-decisions.py"
    check = [sys.executable, str(script), "--check", str(ROOT / "docs/decisions")]
    assert subprocess.run(check, check=False).returncode == 0, "run `make docs`"
