"""Jobs give the same answers for ids of 64 bits as for ids of 32.

Two ways make a small estate wide: its ids begin beyond 32 bits, so that an id that some place cuts
off would be another one; or all ids count as wide, for jobs that keep arrays by id.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyroaring import BitMap, BitMap64

from lakewarden.kernel.snapshot import compile
from lakewarden.pipeline.diff.run import difference_of_policies, difference_of_times
from lakewarden.pipeline.directory import load
from lakewarden.pipeline.export import schemas as export_schemas
from lakewarden.pipeline.export.run import make_export
from lakewarden.pipeline.index import id_space
from lakewarden.pipeline.index.block import OWNER
from lakewarden.pipeline.index.id_space import FIRST, WIDTH, IdWidth
from lakewarden.pipeline.index.index import open_index, snapshot
from lakewarden.pipeline.index.run import make_index
from lakewarden.pipeline.job import Result
from lakewarden.pipeline.lint.run import lint_index, read_findings
from lakewarden.pipeline.review import schemas as review_schemas
from lakewarden.pipeline.review.run import make_review
from lakewarden.pipeline.stream.batch import apply
from lakewarden.pipeline.unused.run import Log, UnusedCriteria, find_unused
from lakewarden.pipeline.version_folder import folder_of
from lakewarden.testing.world_draft import NOW
from tests.agreement import harness
from tests.pipeline.diff import test_run as diffs
from tests.pipeline.index import worlds
from tests.pipeline.index.test_run import a_world
from tests.pipeline.review.test_column_readers import masked
from tests.pipeline.review.test_run import SIZE
from tests.pipeline.review.whole import compiled, some
from tests.pipeline.stream.realms import Estate, alike
from tests.pipeline.stream.worlds import fill, happen
from tests.pipeline.unused import lake
from tests.service.opened_services import opened

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

BITS = 4
FAR = 5 << 30
"""Where the ids of a wide estate begin: an id that is cut to 32 bits, signed or not, differs."""

NIGHTLY = [pytest.param(name, marks=pytest.mark.nightly) for name in ("gravitino", "datahub")]


@pytest.fixture
def every_id_is_wide(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """Lowers the limit of narrow ids to nothing."""
    return lambda: monkeypatch.setattr(id_space, "width_for", lambda _: IdWidth.WIDE)


def tables(out: Path, made: Result, names: Iterable[str]) -> dict[str, list[dict[str, Any]]]:
    """The rows of tables, with ids as if they began at 0."""
    folder = folder_of(out, made.manifest)
    found = {}
    for name in names:
        table = pq.read_table(folder / name)
        rows = [_near(row) for row in table.to_pylist()]
        found[name] = sorted(rows, key=repr)
    return found


_IDS = ("id", "a", "b", "entity", "parent", "last", "target", "source")


def _near(row: dict[str, Any]) -> dict[str, Any]:
    near = dict(row)
    is_far = any(isinstance(row.get(name), int) and row[name] >= FAR for name in _IDS)
    is_far |= (row.get("block") or 0) >= FAR >> BITS
    if row.get("what") == OWNER:
        near["owner"] = near.pop("a")
    for name in _IDS:
        if is_far and isinstance(near.get(name), int) and near[name] >= 0:
            assert near[name] >= FAR, (name, row)
            near[name] -= FAR
    if "block" in row and is_far:
        near["block"] -= FAR >> BITS
    if "bits" in row:
        ids = BitMap64.deserialize(row["bits"]) if is_far else BitMap.deserialize(row["bits"])
        near["bits"] = [id - FAR if is_far else id for id in ids]
    return near


@pytest.mark.parametrize("name", ["cdap", *NIGHTLY])
def test_an_index_has_the_same_blocks_and_matches(
    spark: SparkSession, tmp_path: Path, name: str
) -> None:
    system = harness.system(name)
    worlds.directory(tmp_path / "lake", system, a_world(system, 1).facts)
    made = {
        first: make_index(
            tmp_path / "lake", tmp_path / str(first), spark=spark, now=NOW, bits=BITS, first=first
        )
        for first in (0, FAR)
    }
    near, far = (
        tables(tmp_path / str(first), made[first], made[0].manifest.tables) for first in made
    )
    assert near == far
    facts = made[0].manifest.facts
    assert made[FAR].manifest.facts == {**facts, WIDTH: 64, FIRST: FAR}
    blocks = pq.read_schema(
        next((folder_of(tmp_path / str(FAR), made[FAR].manifest) / "blocks").glob("*.parquet"))
    )
    assert [blocks.field(name).type for name in ("block", "id", "a", "b")] == [
        pa.int32(),
        *[pa.int64()] * 3,
    ]


@pytest.mark.parametrize("name", ["datahub", *NIGHTLY[:1]])
def test_a_wide_index_that_fits_into_one_process_is_the_kernels(
    spark: SparkSession, tmp_path: Path, every_id_is_wide: Callable[[], None], name: str
) -> None:
    every_id_is_wide()
    system = harness.system(name)
    worlds.directory(tmp_path / "lake", system, a_world(system, 1).facts)
    make_index(tmp_path / "lake", tmp_path / "index", spark=spark, now=NOW, bits=BITS)
    index = open_index(tmp_path / "index")
    assert index.space.width is IdWidth.WIDE
    loaded = load(tmp_path / "lake")
    kernel = compile(loaded.facts, system.model, system.spelling, now=NOW)
    assert worlds.differences(snapshot(index), kernel) == []


@pytest.mark.parametrize("classes", [2, pytest.param(None, marks=pytest.mark.nightly)])
def test_a_review_has_the_same_rows(
    spark: SparkSession, tmp_path: Path, classes: int | None
) -> None:
    (world,) = masked("gravitino", 40, 1)
    whole = compiled(world)
    found = {}
    for first in (0, FAR):
        place, out = tmp_path / f"index-{first}", tmp_path / f"review-{first}"
        facts = {FIRST: first} if first else {}
        worlds.index(place, whole, world.system, world.facts.statements, bits=BITS, facts=facts)
        made = make_review(place, out, spark=spark, classes=classes)
        found[first] = tables(out, made, review_schemas.SCHEMAS)
        width = IdWidth.WIDE if first else IdWidth.NARROW
        for name, schema in review_schemas.schemas(width).items():
            folder = folder_of(out, made.manifest) / name
            assert pq.read_table(folder).schema.equals(schema), name
    assert found[0] == found[FAR]
    assert all(found[0][name] for name in ("by_asset", "members", "people", "columns"))


def test_an_export_has_the_same_rows(spark: SparkSession, tmp_path: Path) -> None:
    (world,) = some("datahub", 40, 1, SIZE)
    whole = compiled(world)
    found = {}
    for first in (0, FAR):
        place, out = tmp_path / f"index-{first}", tmp_path / f"export-{first}"
        facts = {FIRST: first} if first else {}
        worlds.index(place, whole, world.system, world.facts.statements, bits=BITS, facts=facts)
        made = make_export(place, out, spark=spark, classes=None)
        found[first] = tables(out, made, export_schemas.SCHEMAS)
        width = IdWidth.WIDE if first else IdWidth.NARROW
        for name, schema in export_schemas.schemas(width).items():
            read = pq.read_table(folder_of(out, made.manifest) / name).schema
            assert read.types == schema.types, name
    assert found[0] == found[FAR]
    assert all(found[0][name] for name in ("entities", "classes", "relations", "owners"))


def test_a_difference_has_the_same_rows(spark: SparkSession, tmp_path: Path) -> None:
    """Also between an index with ids of 32 bits and a later one with ids of 64."""
    estate = diffs.estate("cdap", tmp_path)
    far = tmp_path / "far-before", tmp_path / "far-after"
    for source, place in zip(estate.directories, far, strict=True):
        worlds.index_of(source, place, now=NOW, bits=BITS, first=FAR)
    found = []
    for number, (one, other) in enumerate([estate.indexes, far, (estate.indexes[0], far[1])]):
        out = tmp_path / f"times-{number}"
        made = difference_of_times(one, other, out, spark=spark)
        found.append(tables(out, made, made.manifest.tables))
    assert found[0]["members"]
    assert found[0] == found[1] == found[2]

    _, files = diffs.policies(estate)
    judged = []
    for number, place in enumerate((estate.indexes[0], far[0])):
        out = tmp_path / f"policies-{number}"
        made = difference_of_policies(place, files, out, spark=spark, only=True, now=NOW)
        judged.append(tables(out, made, made.manifest.tables))
    assert judged[0]["members"]
    assert judged[0] == judged[1]


def test_what_is_not_used_is_the_same(spark: SparkSession, tmp_path: Path) -> None:
    realm = lake.write_lake(tmp_path / "lake")
    rows, lines, mapping = lake.write_others(tmp_path)
    logs = [
        Log("usage", lake.write_usage(tmp_path / "usage.csv")),
        Log("trino", lake.write_trino(tmp_path / "trino.json.gz")),
        Log("spark", lake.write_spark(tmp_path / "spark")),
        Log("csv", rows),
        Log("json", lines),
    ]
    found = []
    for first in (0, FAR):
        place, out = tmp_path / f"index-{first}", tmp_path / f"unused-{first}"
        worlds.index_of(realm, place, now=lake.NOW, first=first)
        asked = UnusedCriteria(days=lake.DAYS, now=lake.NOW)
        made = find_unused(place, logs, out, asked, spark=spark, mapping=mapping)
        found.append(tables(out, made, made.manifest.tables))
    assert found[0]["over_broad"]
    assert found[0] == found[1]


@pytest.mark.nightly
def test_lint_finds_the_same(
    spark: SparkSession, tmp_path: Path, every_id_is_wide: Callable[[], None]
) -> None:
    realm = lake.write_lake(tmp_path / "lake")
    found = []
    for name in ("narrow", "wide"):
        worlds.index_of(realm, tmp_path / name, now=lake.NOW)
        made = lint_index(tmp_path / name, tmp_path / f"lint-{name}", spark=spark)
        found.append(read_findings(tmp_path / f"lint-{name}", made.manifest))
        every_id_is_wide()
    assert open_index(tmp_path / "wide").space.width is IdWidth.WIDE
    assert found[0] == found[1]


def test_an_index_that_follows_events_stays_wide_and_equals_one_of_all_rows(
    spark: SparkSession, tmp_path: Path, every_id_is_wide: Callable[[], None]
) -> None:
    every_id_is_wide()
    with opened(tmp_path, "cdap") as service:
        estate = Estate(service, tmp_path, spark)
        fill(estate, 1)
        estate.start()
        happen(estate, 7, 6)
        applied = apply(estate.lines(), estate.index, spark, now=NOW)
        assert applied.manifest.facts[WIDTH] == 64
        assert alike(applied.manifest) == alike(estate.whole())
