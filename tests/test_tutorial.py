"""The tutorial: all that it shows is run, in its order, and answers as it says."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest

from lakewarden.cli import main

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PAGE = Path(__file__).parent.parent / "docs" / "tutorial.md"


class Block(NamedTuple):
    """A fenced block: its language, and its text."""

    language: str
    text: str


def blocks() -> list[Block]:
    found = re.findall(r"^```([a-z]*)\n(.*?)^```", PAGE.read_text("utf-8"), re.DOTALL | re.M)
    return [Block(*cells) for cells in found]


def is_as_shown(said: str, shown: str) -> bool:
    """Whether it was said, `…` standing for anything in a line, or alone for any lines."""
    lines = (
        r"(?:.*\n)*" if line == "…" else ".*".join(map(re.escape, line.split("…"))) + r"\n"
        for line in shown.strip().splitlines()
    )
    return re.fullmatch("".join(lines), f"{said.strip()}\n") is not None


class Reader:
    """Does what the page says, as somebody would who reads it."""

    def __init__(self, spark: SparkSession, capsys: pytest.CaptureFixture[str]) -> None:
        self._spark = spark
        self._capsys = capsys
        self._names: dict[str, Any] = {}
        self.questions = 0

    def answers(self, block: Block) -> Iterator[tuple[str, str]]:
        """What a block is about to ask, and the answer; nothing where it asks nothing."""
        match block.language:
            case "sh":
                path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
                environment = {**os.environ, "PATH": path}
                subprocess.run(["sh", "-ec", block.text], check=True, env=environment)
            case "python":
                exec(block.text, self._names)  # noqa: S102 — what the page tells its reader to run
            case "sql":
                yield block.text, self._asked(block.text)
            case _ if block.text.startswith("$ "):
                command = block.text.removeprefix("$ ").partition("\n")[0]
                yield command, self._told(command)

    def _told(self, command: str) -> str:
        program, *rest = shlex.split(command)
        assert program == "lakewarden"
        assert main(rest) in (0, 1), self._capsys.readouterr().err
        return self._capsys.readouterr().out

    def _asked(self, question: str) -> str:
        self.questions += 1
        rows = self._names["db"].execute(question).fetchall()
        assert [tuple(row) for row in self._spark.sql(question).collect()] == rows, question
        return "\n".join(" | ".join(map(str, row)) for row in rows)


@pytest.mark.slow
def test_the_tutorial_answers_as_it_shows(
    declared: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    reader, page = Reader(declared, capsys), blocks()
    for number, block in enumerate(page):
        for question, said in reader.answers(block):
            answer = page[number + 1] if block.language == "sql" else block
            shown = answer.text.removeprefix(f"$ {question}\n")
            assert is_as_shown(said, shown), f"{question}\n{said}"
    assert reader.questions
