"""Printing: escapes, widths, colours on a terminal, exit codes of errors."""

from __future__ import annotations

import io
import json
import re
import sys

import pytest

from lakewarden.cli import outcome
from lakewarden.kernel.errors import (
    BadInput,
    Busy,
    Conflict,
    LimitExceeded,
    StaleSnapshot,
    Unavailable,
    Unknown,
    WardenError,
)


class Terminal(io.StringIO):
    """A standard output that claims to be a terminal."""

    def isatty(self) -> bool:
        return True


def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    """Makes a terminal of forty columns with colours the standard output."""
    found = Terminal()
    monkeypatch.setattr("sys.stdout", found)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "40")
    for name in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(name, raising=False)
    return found


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (BadInput("x"), 2),
        (Unknown("type", "x"), 2),
        (Conflict("x"), 2),
        (Busy("x"), 3),
        (LimitExceeded("x"), 2),
        (StaleSnapshot("x"), 3),
        (Unavailable("x"), 3),
        (WardenError("x"), 3),
    ],
)
def test_every_error_has_an_exit_code(error: WardenError, code: int) -> None:
    assert outcome.code_for(error) == code


def test_columns_are_as_wide_as_their_cells(capsys: pytest.CaptureFixture[str]) -> None:
    outcome.show_table(("a", "long heading"), [("wide cell" * 20, "x"), ("y", "")])
    first, second, third = capsys.readouterr().out.splitlines()
    assert first == f"a{' ' * 181}long heading"
    assert second == f"{'wide cell' * 20}  x"
    assert third == "y"


def test_nothing_that_a_terminal_would_obey_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    evil = "a\x1b[2Jb\u009bc\nd\u202e"
    outcome.show(evil)
    outcome.show_table(("x",), [(evil,)])
    outcome.show_json({"x": evil})
    outcome.note(evil)
    outcome.complain(evil)
    out, err = capsys.readouterr()
    assert (out + err).replace("\n", "").isprintable()


def test_json_keeps_every_character(capsys: pytest.CaptureFixture[str]) -> None:
    for value in ({"x": "höhe → 5"}, {"x": "a\x1bb\u202e"}):
        outcome.show_json(value)
        assert json.loads(capsys.readouterr().out) == value
    outcome.show_json({"x": "höhe → 5"})
    assert "höhe → 5" in capsys.readouterr().out


def test_a_document_is_utf_8_whatever_the_locale(monkeypatch: pytest.MonkeyPatch) -> None:
    raw = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(raw, "ascii", errors="backslashreplace"))
    outcome.show("before")
    outcome.show_json({"x": "żó"})
    outcome.show_document("é\n")
    before, _, document = raw.getvalue().decode("utf-8").partition("\n")
    assert (before, document) == ("before", '{\n  "x": "żó"\n}\né\n')


def test_a_terminal_gets_colours(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = terminal(monkeypatch)
    outcome.show("allow", "deny", "plain [bold]", "1. a question")
    lines = screen.getvalue().splitlines()
    assert lines[0] == "\x1b[1;32mallow\x1b[0m"
    assert lines[1] == "\x1b[1;31mdeny\x1b[0m"
    assert lines[2] == "plain [bold]"
    assert lines[3] == "\x1b[1m1. a question\x1b[0m"


def test_a_table_is_folded_to_the_width_of_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = terminal(monkeypatch)
    outcome.show_table(("name", "meaning"), [("a_very_long_name_of_something", "[x] " * 20)])
    lines = re.sub("\x1b[^m]*m", "", screen.getvalue()).splitlines()
    assert len(lines) > 2
    assert all(len(line) <= 40 for line in lines)
    assert "…" not in screen.getvalue()
    assert "[x]" in screen.getvalue()


def test_csv_quotes_what_it_must_and_escapes_for_a_terminal_alone(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    outcome.show_csv(("name",), [('a,"b"',), ("c\x1b[1m",)])
    assert capsys.readouterr().out == 'name\n"a,""b"""\nc\x1b[1m\n'
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    outcome.show_csv(("name",), [("c\x1b[1m",)])
    assert "\x1b" not in capsys.readouterr().out
