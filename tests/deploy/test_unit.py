"""The unit for systemd on the page about the server."""

from __future__ import annotations

import re
from configparser import ConfigParser
from pathlib import Path

import pytest

from lakewarden.app.server import SHUTDOWN_SECONDS
from lakewarden.cli import main

PAGE = Path(__file__).parents[2] / "docs" / "serving.md"


def test_the_unit_starts_reloads_and_stops_a_server(capsys: pytest.CaptureFixture[str]) -> None:
    (text,) = re.findall(r"^```ini\n(.*?)^```", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    unit = ConfigParser(interpolation=None)
    unit.read_string(text)
    service = unit["Service"]
    command, verb, *words = service["ExecStart"].split()
    assert (Path(command).name, verb) == ("lakewarden", "serve")
    assert main(["serve", "--help"]) == 0
    shown = capsys.readouterr().out
    assert [word for word in words if word.startswith("--") and f"{word} " not in shown] == []
    # A server with one worker would stop instead of replacing it.
    assert "-HUP" in service["ExecReload"]
    assert int(words[words.index("--workers") + 1]) > 1
    assert int(service["TimeoutStopSec"]) > SHUTDOWN_SECONDS
