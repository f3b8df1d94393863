"""The text of "As command" is a working command, with the same answer as the page."""

from __future__ import annotations

import shlex
import shutil
from pathlib import Path

import pytest

from lakewarden.cli import main
from tests.ui.browser import Visits

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


def _run(command: str, capture: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    """Runs the command in this process; returns the exit code and the output."""
    program, *words = shlex.split(command)
    assert program == "lakewarden"
    code = main(words)
    return code, *capture.readouterr()


def test_commands_run_and_answer_as_the_pages_do(
    visit: Visits,
    estate: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """On a copy of the estate, like a terminal next to the server."""
    for file in estate.glob("lakewarden.db*"):
        shutil.copy(file, tmp_path / file.name)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LAKEWARDEN_DATABASE", f"sqlite:///{tmp_path}/lakewarden.db")
    with visit("admin") as found:
        for path, search, code, part in PAGES:
            found.go(path, realm="gravitino", **search)
            shown = found.page.locator("[data-command]").first.get_attribute("data-command")
            assert shown is not None
            ended, out, err = _run(shown, capsys)
            assert ended == code, (shown, err)
            assert part in out, shown
            assert part in found.text()
        found.go("/ui/r/gravitino/plan")
        shown = found.page.locator("[data-command]").first.get_attribute("data-command")
    assert shown is not None
    (tmp_path / "policy.toml").write_text("roles = []\n")
    _, out, err = _run(shown, capsys)
    assert "nothing is pending" in out, (shown, err)
