"""The job on Spark: its tables, queried in Spark SQL and in DuckDB, agree with the kernel."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import duckdb
import pyarrow.parquet as pq
import pytest

from lakewarden.kernel.errors import BadInput, LimitExceeded, Unknown
from lakewarden.kernel.matrix import Matrix
from lakewarden.pipeline import parquet_output
from lakewarden.pipeline.export.run import STAGES, make_export
from lakewarden.pipeline.export.schemas import DUCKDB, FOLDER, SCHEMAS, SPARK, VIEWS
from lakewarden.pipeline.job import Result, names_of
from lakewarden.pipeline.version_folder import MANIFEST, folder_of
from lakewarden.testing.worlds import Size, World
from tests.pipeline.export.asked import WHO_CAN, decided
from tests.pipeline.index import worlds
from tests.pipeline.review.whole import compiled, some

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SIZE = Size(entities=40, users=6, groups=4, roles=4, statements=30, goals=20)
BITS = 4


@dataclass(frozen=True, slots=True)
class Made:
    """A world, its compiled form, and the tables of its export."""

    world: World
    matrix: Matrix
    result: Result
    out: Path

    @property
    def folder(self) -> Path:
        return folder_of(self.out, self.result.manifest)

    def rows(self, table: str) -> list[dict[str, Any]]:
        found: list[dict[str, Any]] = pq.read_table(self.folder / table).to_pylist()
        return found


@pytest.fixture(scope="module")
def made(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Made:
    folder = tmp_path_factory.mktemp("export")
    (world,) = some("gravitino", 40, 1, SIZE)
    whole = compiled(world)
    worlds.index(folder / "index", whole, world.system, world.facts.statements, bits=BITS)
    result = make_export(folder / "index", folder / "tables", spark=spark)
    return Made(world, Matrix(whole), result, folder / "tables")


def statements(file: Path) -> list[str]:
    """The statements of an SQL file, for engines that accept one at a time."""
    lines = (line for line in file.read_text("utf-8").splitlines() if not line.startswith("--"))
    return [text for text in "\n".join(lines).split(";") if text.strip()]


@pytest.mark.slow
def test_every_table_is_there_with_its_columns(made: Made) -> None:
    assert set(made.result.manifest.tables) == set(SCHEMAS)
    for name, schema in SCHEMAS.items():
        found = pq.read_table(made.folder / name)
        assert found.schema.names == schema.names
        assert found.schema.types == schema.types, name
        assert made.result.manifest.tables[name].rows == len(found)


@pytest.mark.slow
def test_duckdb_says_what_the_kernel_decides(made: Made) -> None:
    database = duckdb.connect()
    database.execute(f"SET file_search_path = '{made.folder}'")
    for name in (DUCKDB, VIEWS):
        database.execute((made.folder / name).read_text("utf-8"))
    assert set(database.execute(WHO_CAN).fetchall()) == decided(made.matrix)


# By day the tutorial queries both engines, and compares their results.
@pytest.mark.nightly
@pytest.mark.slow
def test_spark_says_what_the_kernel_decides(made: Made, declared: SparkSession) -> None:
    declared.sql(f"SET {FOLDER} = file://{made.folder}")
    for name in (SPARK, VIEWS):
        for statement in statements(made.folder / name):
            declared.sql(statement)
    assert {tuple(row) for row in declared.sql(WHO_CAN).collect()} == decided(made.matrix)


@pytest.mark.slow
def test_entities_say_where_they_lie_and_what_is_known_of_them(made: Made) -> None:
    tree, coded = made.matrix.snapshot.coded.tree, made.matrix.snapshot.coded
    rows = made.rows("entities")
    assert [row["id"] for row in sorted(rows, key=lambda row: row["id"])] == list(range(len(tree)))
    for row in rows:
        id = row["id"]
        assert (row["type"], row["name"]) == tree.entity(id)
        assert (row["parent"] is None) == (tree.parents[id] < 0)
        assert row["last"] == tree.ends[id] - 1
        assert row["stored"] == (id in tree.stored)
        above = row["path"].split(" > ") if row["path"] else []
        assert above == [":".join(tree.entity(at)) for at in reversed(list(tree.ancestors(id)))]
    owners = {(row["entity"], row["principal"], row["ownership"]) for row in made.rows("owners")}
    assert owners == {
        (id, owner, coded.ownerships[label])
        for id in range(len(tree))
        for owner, label in coded.owners.of(id)
    }


@pytest.mark.nightly
@pytest.mark.slow
def test_a_run_that_fails_leaves_what_was_there_and_the_same_index_makes_no_version(
    made: Made, spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, before = made.out.parent / "index", (made.out / MANIFEST).read_bytes()

    def broken(*_: object) -> None:
        raise OSError("no space left")

    with pytest.raises(Unknown):
        make_export(source, made.out, spark=spark, operations=["no.such"])
    with pytest.raises(BadInput, match="--classes"):
        make_export(source, made.out, spark=spark, classes=0)
    with pytest.raises(
        LimitExceeded, match=r"more than 1 kinds .* `CREATE_FILESET on \w+`,.* \d+ more"
    ):
        make_export(source, made.out, spark=spark, classes=1)
    with monkeypatch.context() as patched:
        patched.setattr(parquet_output, "contents", broken)
        with pytest.raises(OSError, match="no space"):
            make_export(source, made.out, spark=spark)
    assert (made.out / MANIFEST).read_bytes() == before
    again = make_export(source, made.out, spark=spark)
    assert not again.is_new
    assert again.report["reused"] == list(names_of(STAGES))
    next(source.rglob("*.parquet")).write_bytes(b"")
    with pytest.raises(BadInput):
        make_export(source, made.out, spark=spark)
    assert (made.out / MANIFEST).read_bytes() == before
