"""Jobs in one Spark session of a process of its own, which does all work, even on small estates.

    python -m tests.pipeline.spark_jobs SETTING=VALUE …

The process reads the words of a command from each line of standard input, as a JSON list, and
writes the exit code of the command to standard output. The settings are those of Spark.
"""

from __future__ import annotations

import io
import json
import os
import select
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType
from typing import Final

import pytest

from lakewarden.cli import main
from lakewarden.pipeline.spark_session import spark_session
from tests.pipeline import spared

ROOT: Final = Path(__file__).parents[2]
CACHE: Final = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "lakewarden"
_MOST_SECONDS: Final = 600.0
"""How long a command may take."""

_FOR_FEW_ROWS: Final = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.codegen.wholeStage": "false",
}


@dataclass
class SparkJobs:
    """The process; `said` is what it wrote on standard error during its last command."""

    process: subprocess.Popen[str]
    log: Path
    said: str = ""

    def run(self, *words: object) -> int:
        """Runs a command there; returns the exit code."""
        assert self.process.stdin is not None
        assert self.process.stdout is not None
        before = self.log.stat().st_size
        self.process.stdin.write(json.dumps(["--quiet", *map(str, words)]) + "\n")
        self.process.stdin.flush()
        ready, _, _ = select.select([self.process.stdout], [], [], _MOST_SECONDS)
        answer = self.process.stdout.readline() if ready else ""
        self.said = self.log.read_bytes()[before:].decode()
        assert answer, f"no exit code within {_MOST_SECONDS} s: {self.said}"
        return int(answer)


def jars(folder: str, script: str) -> dict[str, str]:
    """The setting for the jars that a script has installed; skips the test if there are none."""
    found = ",".join(map(str, sorted(CACHE.glob(f"{folder}/*.jar"))))
    if not found:
        pytest.skip(f"Hadoop's client of the store is not installed (scripts/{script})")
    return {"spark.jars": found}


@contextmanager
def spark_jobs(
    folder: Path, settings: Mapping[str, str], environment: Mapping[str, str] = MappingProxyType({})
) -> Iterator[SparkJobs]:
    """A running process, whose standard error goes to a file of the folder."""
    log = folder / "spark.log"
    words = [f"{name}={value}" for name, value in {**_FOR_FEW_ROWS, **settings}.items()]
    with log.open("w") as errors:
        process = subprocess.Popen(
            [sys.executable, "-m", __name__, *words],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            cwd=ROOT,
            env={**os.environ, **environment},
        )
    try:
        yield SparkJobs(process, log)
    finally:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.close()  # it stops its session, and ends
        try:
            process.wait(60)
        finally:
            process.kill()
            process.wait()
            process.stdout.close()


def _serve(settings: Sequence[str]) -> None:
    answers = sys.stdout
    spared.spare_nothing(pytest.MonkeyPatch())
    pairs = tuple((name, value) for name, _, value in (one.partition("=") for one in settings))
    session = spark_session("lakewarden tests", master="local[2]", conf=pairs)
    for line in sys.stdin:
        with redirect_stdout(io.StringIO()):
            code = main(json.loads(line))
        print(code, file=answers, flush=True)
    session.stop()


if __name__ == "__main__":
    _serve(sys.argv[1:])
