"""Some blocks of an index are compared with the kernel, as for a world too large for the whole."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

import pyarrow.parquet as pq
import pytest

from bench.literal import Void
from bench.pipeline import by_blocks
from bench.pipeline.grants import GRANTS
from lakewarden.pipeline.chunk_digests import content_of
from lakewarden.pipeline.directory_manifest import read_manifest
from lakewarden.pipeline.directory_statements import STATEMENT_LINES, lines_content
from lakewarden.pipeline.index.index import open_index
from lakewarden.pipeline.index.numbering import BLOCK_BITS
from lakewarden.pipeline.index.run import make_index
from lakewarden.pipeline.session import Deferred
from lakewarden.pipeline.version_folder import MANIFEST, folder_of
from tests.bench.pipeline.worlds import TINY

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

WITH_COLUMNS = replace(TINY, columns=5)
QUESTIONS = 500


def no_session() -> SparkSession:
    raise AssertionError("one block needs no Spark")


@pytest.fixture(name="made", scope="module")
def _made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A world and its index of one block, which are only read."""
    folder = tmp_path_factory.mktemp("one-block")
    GRANTS.write(folder / "world", TINY, seed=1)
    session = cast("SparkSession", Deferred(no_session, is_here=True))
    make_index(folder / "world", folder / "index", spark=session, bits=BLOCK_BITS)
    return folder


@pytest.fixture(name="world")
def _world(made: Path, tmp_path: Path) -> Path:
    """A copy of the world, for a test that changes it."""
    return shutil.copytree(made / "world", tmp_path / "world")


def compared(world: Path, made: Path) -> dict[str, object]:
    return by_blocks.agree(world, made / "index", seed=1, questions=QUESTIONS)


def without_last_rows(world: Path, table: str, removed: int) -> None:
    """Removes rows from the end of a table; the manifest knows."""
    manifest = read_manifest(world)
    version = folder_of(world, manifest)
    [file] = (version / table).glob("*.parquet")
    rows = pq.read_table(file)
    pq.write_table(rows.slice(0, rows.num_rows - removed), file)
    tables = {**manifest.tables, table: content_of(version / table, table)}
    (world / MANIFEST).write_text(replace(manifest, tables=tables).text())


def test_an_index_of_the_same_rows_agrees(made: Path) -> None:
    found = by_blocks.agree(made / "world", made / "index", seed=1, questions=QUESTIONS)
    assert found["asked"] == QUESTIONS
    assert 0 < found["allowed"] < QUESTIONS
    assert found["blocks"] == [0]
    assert found["entities"] == read_manifest(made / "world").tables["entities"].rows


def test_an_entity_that_the_directory_does_not_have_is_found(made: Path, world: Path) -> None:
    without_last_rows(world, "entities", 1)
    with pytest.raises(Void, match="an entity that its directory does not have"):
        compared(world, made)


def test_another_owner_is_found(made: Path, world: Path) -> None:
    without_last_rows(world, "owners", read_manifest(world).tables["owners"].rows)
    with pytest.raises(Void, match="the index says"):
        compared(world, made)


def test_another_statement_is_found(made: Path, world: Path) -> None:
    manifest = read_manifest(world)
    file = folder_of(world, manifest) / STATEMENT_LINES
    lines = file.read_text().splitlines(keepends=True)
    text = "".join(lines[: len(lines) // 2])
    file.write_text(text)
    (world / MANIFEST).write_text(replace(manifest, statements=lines_content(text)).text())
    with pytest.raises(Void, match="the scopes of the statements differ"):
        compared(world, made)


def test_other_entities_in_a_scope_are_found(
    made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = shutil.copytree(made / "index", tmp_path / "index")
    [file] = index.glob("versions/*/matches/*.parquet")
    rows = pq.read_table(file)
    pq.write_table(rows.slice(1), file)
    monkeypatch.setattr(
        "bench.pipeline.by_blocks.open_index", lambda out: open_index(out, check=False)
    )
    with pytest.raises(Void, match="block 0 has other entities in the scope"):
        by_blocks.agree(made / "world", index, seed=1, questions=QUESTIONS)


def test_the_command_prints_what_was_compared(
    made: Path, world: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(by_blocks.agree, "__defaults__", (1, QUESTIONS))
    assert by_blocks.main([str(made / "world"), str(made / "index"), "3"]) == 0
    assert json.loads(capsys.readouterr().out)["asked"] == QUESTIONS
    without_last_rows(world, "entities", 1)
    assert by_blocks.main([str(world), str(made / "index")]) == 1
    assert "the index differs: the index has an entity" in capsys.readouterr().err
    assert by_blocks.main([]) == 2
    assert "WORLD INDEX" in capsys.readouterr().err


@pytest.mark.nightly
@pytest.mark.spark
def test_some_blocks_of_many_agree(spark: SparkSession, tmp_path: Path) -> None:
    GRANTS.write(tmp_path / "world", WITH_COLUMNS, seed=1)
    make_index(tmp_path / "world", tmp_path / "index", spark=spark, bits=8)
    found = by_blocks.agree(
        tmp_path / "world", tmp_path / "index", seed=1, count=3, questions=QUESTIONS
    )
    assert len(found["blocks"]) == 3
    assert found["asked"] == QUESTIONS
    assert found["entities"] < read_manifest(tmp_path / "world").tables["entities"].rows / 3
