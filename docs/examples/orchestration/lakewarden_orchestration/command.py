"""Runs a command of lakewarden in a process of its own, and says how it ended.

The command has its own environment (`executable`), since schedulers pin versions of their own.
Secrets go into the environment of the process, never into its arguments, which every user of a
machine may read; wherever they appear in what is logged, they are masked.
"""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum

MASKED = "***"

_CREDENTIALS = re.compile(r"(?<=://)[^/\s@]*:[^/\s@]*(?=@)")
"""The name and password of an address."""


class Outcome(IntEnum):
    """The exit codes of lakewarden."""

    DONE = 0
    FOUND = 1
    """A finding or a denial: changes, unused grants, toxic combinations."""
    REFUSED = 2
    """The input is wrong: a retry would fail again."""
    UNAVAILABLE = 3
    """Something could not be reached or told: a retry may succeed."""


@dataclass(frozen=True)
class Finished:
    """How a command ended. `report` is what it printed, parsed where that is JSON."""

    outcome: Outcome
    report: object
    message: str


def run(
    arguments: Sequence[str],
    log: Callable[[str], None],
    *,
    executable: str = "lakewarden",
    secrets: Mapping[str, str] | None = None,
    started: Callable[[subprocess.Popen[str]], None] | None = None,
) -> Finished:
    """Runs `lakewarden` with `arguments`; what it says on standard error is logged line by line.

    `secrets` are variables of its environment. `started` is given the process, to `stop` it. Any
    other exit code than those of `Outcome`, as of a process that was killed, is `UNAVAILABLE`.
    """
    hidden = sorted((value for value in (secrets or {}).values() if value), key=len, reverse=True)

    def masked(text: str) -> str:
        for value in hidden:
            text = text.replace(value, MASKED)
        return _CREDENTIALS.sub(MASKED, text)

    log(masked(" ".join(("lakewarden", *arguments))))
    said: list[str] = []
    with tempfile.TemporaryFile("w+", encoding="utf-8") as output:
        try:
            process = subprocess.Popen(
                [executable, *arguments],
                env={**os.environ, **(secrets or {})},
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.PIPE,
                encoding="utf-8",
                errors="replace",
                start_new_session=True,
            )
        except OSError as error:
            return Finished(Outcome.REFUSED, None, f"{executable}: {error.strerror}")
        if started is not None:
            started(process)
        with process:
            for line in _lines(process):
                said.append(masked(line))
                log(said[-1])
        output.seek(0)
        report = _parsed(masked(output.read()), log)
    codes = {outcome.value for outcome in Outcome}
    code = process.returncode
    outcome = Outcome(code) if code in codes else Outcome.UNAVAILABLE
    message = said[-1] if said else f"ended with {code}"
    return Finished(outcome, report, message)


def stop(process: subprocess.Popen[str]) -> None:
    """Ends a command and what it started, such as Spark."""
    try:
        os.killpg(process.pid, signal.SIGTERM)
    except ProcessLookupError:
        return


def _lines(process: subprocess.Popen[str]) -> Iterable[str]:
    assert process.stderr is not None
    return (line.rstrip("\n") for line in process.stderr)


def _parsed(text: str, log: Callable[[str], None]) -> object:
    try:
        return json.loads(text)
    except ValueError:
        for line in text.splitlines():
            log(line)
        return None
