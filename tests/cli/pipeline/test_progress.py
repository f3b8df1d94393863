"""The progress of a run: a line for each stage, or bars on a terminal."""

from __future__ import annotations

import io

import pytest

from lakewarden.cli.pipeline.progress import shown
from lakewarden.pipeline.ingest.source import STAGES


def test_without_a_terminal_there_is_a_line_for_each_stage(
    capsys: pytest.CaptureFixture[str],
) -> None:
    with shown("sample") as progress:
        progress("read", 1, 2, "1 files")
        progress("read", 2, 2, "7\x1b rows")
        progress("write", 1, 1, "version 1")
    out, err = capsys.readouterr()
    assert out == ""
    assert err.splitlines() == ["sample: read: 7\\x1b rows", "sample: write: version 1"]


def test_a_terminal_gets_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    class Terminal(io.StringIO):
        def isatty(self) -> bool:
            return True

    terminal = Terminal()
    monkeypatch.setattr("sys.stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "120")
    with shown("sample [x]") as progress:
        for stage in STAGES:
            progress(stage, 1, 1, f"found [{stage}]")
    assert "sample [x]" in terminal.getvalue()
    assert "writing: found [write]" in terminal.getvalue()
    assert "━" in terminal.getvalue()
