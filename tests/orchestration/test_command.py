"""The commands of the examples for schedulers: real exit codes, reports, and no secrets."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

import lakewarden
from lakewarden import sample

FOLDER = Path(lakewarden.__file__).parents[2] / "docs" / "examples" / "orchestration"
BIN = str(Path(sys.executable).with_name("lakewarden"))
EXPORT = str(sample.path("gravitino"))


@pytest.fixture(scope="module")
def command() -> ModuleType:
    spec = importlib.util.spec_from_file_location(
        "lakewarden_orchestration.command", FOLDER / "lakewarden_orchestration" / "command.py"
    )
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def ended(command: ModuleType, *arguments: str, **more: Any) -> tuple[str, Any, str, list[str]]:
    log: list[str] = []
    finished = command.run(arguments, log.append, **{"executable": BIN, **more})
    return finished.outcome.name, finished.report, finished.message, log


def test_exit_codes_say_how_a_command_ended(command: ModuleType, tmp_path: Path) -> None:
    lake = str(tmp_path / "lake")
    words = ("pipeline", "ingest", EXPORT, "--source", "gravitino-file", "--out", lake)
    outcome, report, _, log = ended(command, *words, "--format", "json")
    assert (outcome, report["version"]) == ("DONE", 1)
    assert log[0].startswith("lakewarden pipeline ingest")
    assert ended(command, "lint", "--from", lake)[0] == "FOUND"
    outcome, report, message, log = ended(command, "lint", "--from", str(tmp_path / "nothing"))
    assert (outcome, report) == ("REFUSED", None)
    assert message == log[-1]
    assert "nothing" in message
    server = ("--server", "http://127.0.0.1:9", "--realm", "lake")
    asked = ("check", "user:ana", "table.load", "table:lk:c.s.t", *server)
    assert ended(command, *asked, secrets={"LAKEWARDEN_TOKEN": "x" * 40})[0] == "UNAVAILABLE"
    assert ended(command, "lint", executable=str(tmp_path / "no"))[0] == "REFUSED"


def test_nothing_secret_is_logged_or_reported(command: ModuleType, tmp_path: Path) -> None:
    told = tmp_path / "told"
    told.write_text(
        '#!/bin/sh\necho "error: $LAKEWARDEN_TOKEN at http://ana:hunter2@host/" >&2\n'
        'echo "{\\"token\\": \\"$LAKEWARDEN_TOKEN\\"}"\nkill -9 $$\n'
    )
    told.chmod(0o755)
    outcome, report, message, log = ended(
        command,
        "postgresql://ana:hunter2@host/db",
        executable=str(told),
        secrets={"LAKEWARDEN_TOKEN": "secret-of-many-letters"},
    )
    assert (outcome, report) == ("UNAVAILABLE", {"token": "***"})
    assert message == "error: *** at http://***@host/"
    assert log == ["lakewarden postgresql://***@host/db", message]


def test_a_command_is_ended_with_what_it_started(command: ModuleType, tmp_path: Path) -> None:
    slow = tmp_path / "slow"
    slow.write_text("#!/bin/sh\necho begun >&2\nsleep 60 & wait\n")
    slow.chmod(0o755)
    processes: list[Any] = []

    def log(line: str) -> None:
        if line == "begun":
            command.stop(processes[0])

    finished = command.run([], log, executable=str(slow), started=processes.append)
    assert finished.outcome.name == "UNAVAILABLE"
    command.stop(processes[0])
