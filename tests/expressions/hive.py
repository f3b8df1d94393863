"""Hive as a process for tests: Hive's driver over files, without a server."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

CACHE: Final = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lakewarden"
PROGRAM: Final = Path(__file__).with_name("HiveEvaluator.java")
PACKAGES: Final = (
    *("lang", "util", "io", "net", "nio", "time", "util.concurrent", "util.concurrent.atomic"),
    "util.regex",
)
"""Packages of `java.base` that Hive and Hadoop access by reflection."""

Hive = Callable[[str], list[list[Any]]]
"""A function from a statement to its rows: texts, booleans and nulls."""


def installed() -> Path:
    """The folder of its archives; skips the test if it is not installed or there is no Java."""
    found = next(iter(sorted(CACHE.glob("hive-*/lib"), reverse=True)), None)
    if found is None:
        pytest.skip("Hive is not installed (scripts/install-hive.sh)")
    if shutil.which("javac") is None:
        pytest.skip("Hive needs a Java 17 with its compiler")
    return found


@contextmanager
def hive(folder: Path) -> Iterator[Hive]:
    """A Hive that stores its files in the folder."""
    opened = [f"--add-opens=java.base/java.{name}=ALL-UNNAMED" for name in PACKAGES]
    command = ["java", *opened, "-Xmx1g", "-XX:TieredStopAtLevel=1", "-Duser.timezone=UTC"]
    command += ["-cp", f"{installed()}/*", str(PROGRAM), str(folder)]
    log = folder / "hive.log"
    with (
        log.open("w") as errors,
        subprocess.Popen(
            command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            encoding="utf-8",
            cwd=folder,
        ) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        statements, answers = process.stdin, process.stdout

        def run(statement: str) -> list[list[Any]]:
            statements.write(json.dumps(statement) + "\n")
            statements.flush()
            line = answers.readline()
            assert line, log.read_text("utf-8", errors="replace")[-2_000:]
            answer = json.loads(line)
            assert "rows" in answer, f"{statement[:500]}: {answer['error'][:1_000]}"
            rows: list[list[Any]] = answer["rows"]
            return rows

        try:
            yield run
        finally:
            statements.close()
            process.wait(60)
