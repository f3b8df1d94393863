"""What "As command" shows is a command: it runs, and answers as the page does."""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.app.serving import Served
from tests.ui.browser import Visits

if TYPE_CHECKING:
    pass

pytestmark = pytest.mark.browser

FORECASTS = "table:quillmere:lake.sales.forecasts"
PAGES = (
    (
        "/ui/ask",
        {"who": "user:hugo", "do": "table.alter", "on": FORECASTS},
        1,
        "marts_only",
    ),
    ("/ui/ask/who", {"do": "table.load", "on": "table:quillmere:lake.people.salaries"}, 0, "wanda"),
    ("/ui/ask/what", {"who": "user:ana", "do": "table.load"}, 0, "lake.finance"),
)


def _run(command: str, folder: Path, database: Path) -> subprocess.CompletedProcess[str]:
    """Runs the command with the program of this environment, on a copy of the estate."""
    program = Path(sys.executable).with_name("lakewarden")
    words = shlex.split(command)
    assert words[0] == "lakewarden"
    environment = {**os.environ, "LAKEWARDEN_DATABASE": f"sqlite:///{database}"}
    return subprocess.run(
        [str(program), *words[1:]],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def test_commands_run_and_answer_as_the_pages_do(
    visit: Visits, served: Served, estate: Path, tmp_path: Path
) -> None:
    database = tmp_path / "lakewarden.db"
    for file in estate.glob("lakewarden.db*"):
        shutil.copy(file, tmp_path / file.name)
    with visit("admin") as found:
        for path, search, code, part in PAGES:
            found.open(path, realm="gravitino", **search)
            shown = found.page.locator("[data-command]").first.get_attribute("data-command")
            assert shown is not None
            ran = _run(shown, tmp_path, database)
            assert ran.returncode == code, (shown, ran.stderr)
            assert part in ran.stdout, shown
            assert part in found.text()
        found.open("/ui/r/gravitino/plan")
        shown = found.page.locator("[data-command]").first.get_attribute("data-command")
    assert shown is not None
    (tmp_path / "policy.toml").write_text("roles = []\n")
    ran = _run(shown, tmp_path, database)
    assert "nothing is pending" in ran.stdout, (shown, ran.stderr)
