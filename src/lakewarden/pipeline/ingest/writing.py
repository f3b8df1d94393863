"""From checked rows to the tables of a version, and whether what was written adds up."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import pyarrow.parquet as pq

from lakewarden.aspects.row import CELLS, PLACEMENTS, STATEMENTS
from lakewarden.kernel.errors import BadInput, WardenError
from lakewarden.kernel.relations import TABLES
from lakewarden.pipeline.directory_manifest import Content
from lakewarden.pipeline.ingest.source import Progress
from lakewarden.pipeline.ingest.version import Draft
from lakewarden.pipeline.tables import COLUMNS, QUARANTINE

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame


class Checked(NamedTuple):
    """Rows with their reasons, kept; how many of each table passed and not, and why not."""

    rows: DataFrame
    passed: Mapping[str, int]
    failed: Mapping[str, int]
    reasons: Mapping[str, int]


class Owned(NamedTuple):
    """The owners after the rules; how many there are, were added and were removed."""

    rows: DataFrame
    total: int
    added: int = 0
    removed: int = 0


def expect(what: str, found: int, expected: int) -> None:
    """INVARIANT: no row is lost on the way, and none appears."""
    if found != expected:
        raise WardenError(f"rows do not add up: {what}: expected {expected}, found {found}")


def table(rows: DataFrame, name: str) -> DataFrame:
    """The rows of one table that passed, under the names of its columns."""
    names = ["type", "name"] if name == "entities" else [c.name for c in COLUMNS[name]]
    return rows.filter(_is(rows, name)).select(*CELLS[: len(names)]).toDF(*names)


def _is(rows: DataFrame, name: str) -> Column:
    """Whether a row is of the table and passed."""
    return (rows["table"] == name) & rows["reason"].isNull()


def write(
    checked: Checked, owned: Owned, one: Draft, progress: Progress
) -> tuple[dict[str, Content], Content]:
    """Writes every table and the statements; what each holds. Raises when a row is missing."""
    frames = {name: table(checked.rows, name) for name in TABLES}
    frames["entities"] = _placed(checked.rows)
    frames["owners"] = owned.rows
    frames[QUARANTINE] = _quarantine(checked.rows)
    counts = {
        **checked.passed,
        "owners": owned.total,
        QUARANTINE: sum(checked.failed.values()),
    }
    tables: dict[str, Content] = {}
    for done, name in enumerate(COLUMNS, 1):
        tables[name] = one.write(name, frames[name], counts.get(name, 0))
        progress("write", done, len(COLUMNS) + 1, f"{tables[name].rows} {name}")
    statements = one.write_statements(_statements(checked))
    _compare(checked, owned, tables, statements, one)
    return tables, statements


def _statements(checked: Checked) -> str:
    """The statements that passed, one JSON object a line, by id."""
    if not checked.passed.get(STATEMENTS):
        return ""
    rows = checked.rows.filter(_is(checked.rows, STATEMENTS))
    found = rows.select("c0", "c1").orderBy("c0").toArrow()
    ids = found.column("c0").to_pylist()
    for id, following in pairwise(ids):
        if id == following:
            raise BadInput(f"statement id `{id}` is used twice")
    return "".join(f"{text}\n" for text in found.column("c1").to_pylist())


def _placed(rows: DataFrame) -> DataFrame:
    """The entities with their places."""
    entities = table(rows, "entities")
    named = (
        rows.filter(_is(rows, PLACEMENTS))
        .select(*CELLS[:4])
        .toDF("type", "name", "parent_type", "parent_name")
    )
    return entities.join(named, ["type", "name"], "left")


def _quarantine(rows: DataFrame) -> DataFrame:
    from pyspark.sql import functions as F  # noqa: N812 — as everybody calls it

    return rows.filter("reason is not null").select(
        "table",
        F.to_json(F.array_compact(F.array(*CELLS))).alias("row"),
        "reason",
        F.coalesce("detail", F.lit("")).alias("detail"),
        "place",
    )


def _compare(
    checked: Checked,
    owned: Owned,
    tables: Mapping[str, Content],
    statements: Content,
    one: Draft,
) -> None:
    """Compares what was written with what was counted on the way."""
    passed = checked.passed
    for name in TABLES:
        grown = owned.added - owned.removed if name == "owners" else 0
        expect(f"{name} written", tables[name].rows, passed.get(name, 0) + grown)
    parents = pq.read_table(one.folder / "entities", columns=["parent_type"]).column(0)
    expect("places written", len(parents) - parents.null_count, passed.get(PLACEMENTS, 0))
    expect("statements written", statements.rows, passed.get(STATEMENTS, 0))
    expect("rows in quarantine", tables[QUARANTINE].rows, sum(checked.failed.values()))
