"""A slow verb reports its progress, but not with `--quiet`."""

from __future__ import annotations

import io
import re
import threading
import time
from contextlib import redirect_stderr
from pathlib import Path

import pytest

from lakewarden.cli import status_line
from lakewarden.cli.pipeline import run
from lakewarden.cli.pipeline.progress import shown
from lakewarden.pipeline.ingest.source import STAGES
from tests.cli.realms import Cli, write_gravitino

STEPS = ("open", "compare")
COLOUR = re.compile(r"\x1b\[[0-9;]*3[0-9][0-9;]*m")


class Terminal(io.StringIO):
    """Simulates a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    monkeypatch.setenv("TERM", "xterm-256color")
    monkeypatch.setenv("COLUMNS", "120")
    monkeypatch.delenv("NO_COLOR", raising=False)
    return Terminal()


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(status_line, "PATIENCE", 0.0)


@pytest.mark.usefixtures("at_once")
def test_without_a_terminal_there_is_a_line_for_each_stage(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with status_line.working("plan\x1b", STEPS) as begin:
        begin("compare")
    out, err = capsys.readouterr()
    assert out == ""
    lines = [re.sub(r"[0-9.]+ s$", "N s", line) for line in err.splitlines()]
    assert lines == ["plan\\x1b: open: N s", "plan\\x1b: compare: N s"]


def test_what_takes_no_second_says_nothing(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [0.0]
    monkeypatch.setattr(time, "monotonic", lambda: now[0])
    monkeypatch.setattr(status_line, "PATIENCE", 1.0)
    with status_line.working("quick", STEPS) as begin:
        now[0] = 0.4
        begin("compare")
        now[0] = 0.9
    assert capsys.readouterr().err == ""
    with status_line.working("slow", STEPS) as begin:
        now[0] += 0.5
        begin("compare")
        now[0] += 2.0
    assert capsys.readouterr().err == "slow: compare: 2.0 s\n"


@pytest.mark.usefixtures("at_once")
def test_a_terminal_gets_a_bar_with_the_stage(terminal: Terminal) -> None:
    with redirect_stderr(terminal), status_line.working("plan [x]", STEPS) as begin:
        begin("compare")
    text = terminal.getvalue()
    for said in ("plan [x]", "open", "compare", "━"):
        assert said in text
    assert COLOUR.search(text)
    assert text.rstrip().endswith("\x1b[2K")  # the bar is removed in the end


def test_a_bar_comes_when_it_takes_long_and_goes_with_the_work(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    waiting: list[threading.Timer] = []

    def start(timer: threading.Timer) -> None:
        waiting.append(timer)

    monkeypatch.setattr(threading.Timer, "start", start)
    monkeypatch.setattr(status_line, "PATIENCE", 1.0)
    with redirect_stderr(terminal), status_line.working("long", STEPS) as begin:
        begin("compare")
        assert terminal.getvalue() == ""
        (timer,) = waiting
        timer.function()  # as if a second had passed
        assert "compare" in terminal.getvalue()
    before = terminal.getvalue()
    timer.function()  # too late: nothing is shown anymore
    assert terminal.getvalue() == before


@pytest.mark.usefixtures("at_once")
@pytest.mark.parametrize("is_pipeline", [False, True])
def test_no_colour_where_nobody_wants_it(
    terminal: Terminal, monkeypatch: pytest.MonkeyPatch, is_pipeline: bool
) -> None:
    def run() -> str:
        before = len(terminal.getvalue())
        with redirect_stderr(terminal):
            if is_pipeline:
                with shown("job") as progress:
                    progress(STAGES[0], 1, 1, "rows")
            else:
                with status_line.working("job", STEPS) as begin:
                    begin("compare")
        return terminal.getvalue()[before:]

    assert COLOUR.search(run())
    monkeypatch.setenv("NO_COLOR", "1")
    text = run()
    assert "job" in text
    assert not COLOUR.search(text)


@pytest.mark.usefixtures("at_once")
def test_quiet_says_nothing(terminal: Terminal) -> None:
    with redirect_stderr(terminal), status_line.quietly(True):
        with status_line.working("plan", STEPS) as begin:
            begin("compare")
        with shown("review") as progress:
            progress(STAGES[0], 1, 1, "rows")
        run._say("[1/2] review")  # the messages of jobs in one run
    assert terminal.getvalue() == ""
    assert not status_line.is_quiet()


@pytest.mark.usefixtures("at_once")
def test_work_within_work_is_told_once(capsys: pytest.CaptureFixture[str]) -> None:
    with (
        status_line.working("load", ("read", "write")) as begin,
        status_line.working("database", ("open",)) as inner,
    ):
        inner("open")
        begin("write")
    assert [line.split(":")[0] for line in capsys.readouterr().err.splitlines()] == ["load"] * 2


@pytest.mark.usefixtures("at_once")
def test_verbs_say_what_they_do_unless_quiet(cli: Cli, tmp_path: Path) -> None:
    realm = str(write_gravitino(tmp_path / "realm"))
    words = ("check", "ana", "table.load", "table:lk:c.s.t", "--from", realm)
    told = cli(*words)
    assert [line.rpartition(":")[0] for line in told.err.splitlines()] == [
        "realm: read",
        "realm: compile",
    ]
    quiet = cli(words[0], "--quiet", *words[1:])
    assert quiet.err == ""
    assert (quiet.code, quiet.out) == (told.code, told.out)
    lint = cli("lint", "--from", realm)
    assert "lint: look: " in lint.err
    assert cli("lint", "--from", realm, "--quiet").err == ""
