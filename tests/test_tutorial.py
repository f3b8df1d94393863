"""The tutorial: all its examples run, in order, with the outputs that it shows."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import psycopg
import pytest
import sqlalchemy as sa

from lakewarden.cli import main
from tests.sample.estate import estate
from tests.servers import fresh_database

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

__all__ = ["estate"]

PAGE = Path(__file__).parent.parent / "docs" / "tutorial.md"


class Block(NamedTuple):
    """A fenced block: its language, and its text."""

    language: str
    text: str


def blocks(text: str) -> list[Block]:
    found = re.findall(r"^```([a-z]*)\n(.*?)^```", text, re.DOTALL | re.M)
    return [Block(*cells) for cells in found]


def parts() -> tuple[str, str]:
    """The jobs of the pipeline, and the step that needs a database."""
    jobs, _, push = PAGE.read_text("utf-8").partition("\n## 10. Push to a database\n")
    return jobs, push


def is_as_shown(said: str, shown: str) -> bool:
    """Whether the output matches; `…` matches any text in a line, or, alone, any lines."""
    lines = (
        r"(?:.*\n)*" if line == "…" else ".*".join(map(re.escape, line.split("…"))) + r"\n"
        for line in shown.strip().splitlines()
    )
    return re.fullmatch("".join(lines), f"{said.strip()}\n") is not None


class Reader:
    """Follows the page like a human reader."""

    def __init__(
        self,
        spark: SparkSession | None,
        capsys: pytest.CaptureFixture[str],
        *,
        asks_all: bool = False,
    ) -> None:
        """With `asks_all`, runs all queries in Spark; otherwise the first query on a view."""
        self._spark = spark
        self._capsys = capsys
        self._asks_all = asks_all
        self._names: dict[str, Any] = {}
        self.views: set[str] = set()
        self.questions = 0

    def answers(self, block: Block) -> Iterator[tuple[str, str]]:
        """The questions of a block, each with its answer."""
        match block.language:
            case "sh":
                path = os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"]))
                environment = {**os.environ, "PATH": path}
                subprocess.run(["sh", "-ec", block.text], check=True, env=environment)
            case "python":
                exec(block.text, self._names)  # noqa: S102 — the page's own example
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

    def follow(self, page: Sequence[Block]) -> None:
        """Runs the whole page, and compares the outputs with those that it shows."""
        for number, block in enumerate(page):
            for question, said in self.answers(block):
                answer = page[number + 1] if block.language == "sql" else block
                shown = answer.text.removeprefix(f"$ {question}\n")
                assert is_as_shown(said, shown), f"{question}\n{said}"

    def _asked(self, question: str) -> str:
        assert self._spark is not None
        self.questions += 1
        rows = self._names["db"].execute(question).fetchall()
        views = set(re.findall(r"who_can|why|inside", question))
        if self._asks_all or views - self.views:
            assert [tuple(row) for row in self._spark.sql(question).collect()] == rows, question
        self.views |= views
        return "\n".join(" | ".join(map(str, row)) for row in rows)


@pytest.fixture
def target(postgres_url: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """An empty database; its address is in the environment."""
    with fresh_database(postgres_url) as url:
        text = sa.make_url(url).set(drivername="postgresql").render_as_string(hide_password=False)
        monkeypatch.setenv("LAKEWARDEN_TARGET_URL", text)
        yield
        with psycopg.connect(text, autocommit=True) as own:
            roles = own.execute(
                "SELECT rolname FROM pg_roles WHERE starts_with(rolname, 'lw_')"
                " OR rolname IN ('ana', 'jane', 'paul')"
            ).fetchall()
            for (role,) in roles:
                own.execute(f'DROP OWNED BY "{role}"; DROP ROLE "{role}"')


@pytest.mark.slow
@pytest.mark.parametrize(
    "asks_all", [False, pytest.param(True, marks=pytest.mark.nightly)], ids=["some", "all"]
)
def test_the_tutorial_answers_as_it_shows(
    asks_all: bool,
    declared: SparkSession,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    reader = Reader(declared, capsys, asks_all=asks_all)
    reader.follow(blocks(parts()[0]))
    assert reader.questions > len(reader.views) == 3


@pytest.mark.nightly  # test_push.py follows docs/push-down.md by day
def test_a_database_is_told_as_it_shows(
    estate: Path,
    target: None,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "lake").symlink_to(estate / "gravitino")
    page = blocks(parts()[1])
    assert len(page) > 7
    capsys.readouterr()
    Reader(None, capsys).follow(page)
