"""What normalised rows are checked for, in Spark: every row passes, or gets a reason.

    repeated          the same row again; the first is kept
    two parents       an entity is placed in several places: none is believed
    cycle             a containment, or a membership among groups and roles, that leads back
    too deep          a place more than 64 levels down
    dangling parent   the parent is not stored, in a system that denies what is not
    not stored        a row about an entity that is not stored
    dangling target   a row names what is not stored, in a system that denies what is not
    incomplete        another edge of the entity was set aside, and rules ask about all of them

A place that data gave is set aside alone and the entity kept, at the top; with a parent that
its name needs, the entity goes too. Frames only: no RDD, no Python function. What has to be
followed from row to row (containers, domains, term groups, groups and roles, which are few,
and what hangs below a missing parent) is followed on the driver.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Final, NamedTuple

import pyarrow as pa
from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812 — as everybody calls it

from lakewarden.kernel.expression import Every, Node, children
from lakewarden.kernel.model import Model, above
from lakewarden.kernel.principal import GROUP, ROLE
from lakewarden.service.source_row import CELLS, PLACEMENTS, WIDTHS

REPEATED: Final = "repeated"
TWO_PARENTS: Final = "two parents"
CYCLE: Final = "cycle"
TOO_DEEP: Final = "too deep"
DANGLING_PARENT: Final = "dangling parent"
NOT_STORED: Final = "not stored"
DANGLING_TARGET: Final = "dangling target"
INCOMPLETE: Final = "incomplete"

MAX_LEVELS: Final = 64
"""Deepest place of an entity. SOURCE: security reference, R-17."""

Key = tuple[str, str]
"""Type (or kind) and name."""

ABOUT: Final = ("relations", "attributes", "owners", PLACEMENTS)
"""Tables whose rows are about an entity."""

NESTING_KINDS: Final = (GROUP, ROLE)
"""Kinds of principals that can be members of one another."""

DETAILS: Final = {
    REPEATED: "the first is kept",
    INCOMPLETE: "another edge of the entity was set aside",
}
"""What is said of a row beside a reason, where it is the same of all rows."""


class Bad(NamedTuple):
    """A row that does not pass, known by all its cells."""

    table: str
    cells: tuple[str, ...]
    reason: str
    detail: str


def check(rows: DataFrame, model: Model) -> DataFrame:
    """The same rows, with `reason` and `detail` where one does not pass.

    `rows` has the schema of `lakewarden.pipeline.ingest.row`, without notes and errors; it is
    read several times, so it should not have to be computed each time.
    """
    marked = _placed_once(_repeated(rows))
    bad = [*_off_tree(marked, model), *_circular_memberships(marked), *_dangling(marked, model)]
    return _whole(_about_stored(_marked(marked, bad), model), model)


def _rejected(rows: DataFrame, bad: Column, reason: str, detail: Column) -> DataFrame:
    """`rows`, with the reason where `bad` holds of a row that has none yet."""
    is_newly_bad = F.col("reason").isNull() & F.coalesce(bad, F.lit(False))
    return rows.withColumns(
        {
            "reason": F.when(is_newly_bad, F.lit(reason)).otherwise(F.col("reason")),
            "detail": F.when(is_newly_bad, detail).otherwise(F.col("detail")),
        }
    )


def _repeated(rows: DataFrame) -> DataFrame:
    same = Window.partitionBy("table", *CELLS, F.col("reason").isNull()).orderBy("place")
    return _rejected(rows, F.row_number().over(same) > 1, REPEATED, F.lit(DETAILS[REPEATED]))


def _placed_once(rows: DataFrame) -> DataFrame:
    placed = F.col("table") == PLACEMENTS
    sound = placed & F.col("reason").isNull()
    # Rows of other tables are spread by all their cells: two would be a few huge groups.
    others = (F.when(~placed, F.col(cell)) for cell in CELLS[2:])
    entity = Window.partitionBy("table", "c0", "c1", *others)
    places = F.count(F.when(sound, True)).over(entity)
    detail = F.concat(F.lit("one of "), places.cast("string"))
    return _rejected(rows, sound & (places > 1), TWO_PARENTS, detail)


def _sound(rows: DataFrame, table: str) -> DataFrame:
    cells = CELLS[: WIDTHS[table]]
    return rows.filter((F.col("table") == table) & F.col("reason").isNull()).select(*cells)


def _tuples(frame: DataFrame) -> list[tuple[str, ...]]:
    """The rows of a small frame, on the driver."""
    table = frame.toArrow()
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))


def _off_tree(rows: DataFrame, model: Model) -> Iterator[Bad]:
    """Places that lead back to where they began, or too far down."""
    nested = nesting(model)
    if nested:
        inner = F.col("c0").isin(nested) & F.col("c2").isin(nested)
        yield from misplaced(_tuples(_sound(rows, PLACEMENTS).filter(inner)))


def nesting(model: Model) -> list[str]:
    """The types that may lie below their own kind: only these can lead back; they are few."""
    return sorted(type for type in model.types if _may_nest(model, type))


def misplaced(placements: Iterable[tuple[str, ...]]) -> Iterator[Bad]:
    """Of the places of types that nest, those that lead back, or too far down."""
    parents = {
        (type, name): (parent_type, parent_name)
        for type, name, parent_type, parent_name in placements
    }
    circular = on_cycles({child: [parent] for child, parent in parents.items()})
    levels = _levels({c: p for c, p in parents.items() if c not in circular})
    for child, parent in parents.items():
        cells = (*child, *parent)
        if child in circular:
            yield Bad(PLACEMENTS, cells, CYCLE, f"`{child[1]}` is below itself")
        elif levels[child] >= MAX_LEVELS:
            detail = f"level {levels[child]}, at most {MAX_LEVELS - 1} for what has members"
            yield Bad(PLACEMENTS, cells, TOO_DEEP, detail)


def _may_nest(model: Model, type: str) -> bool:
    """Whether an entity of the type may lie, at any depth, below another of that type."""
    parents = model.types[type].parents
    return any(type in above(model.types, parent) for parent in parents)


def on_cycles(edges: Mapping[Key, Iterable[Key]]) -> set[Key]:
    """The nodes that lie on a cycle: those that can be reached from themselves.

    >>> sorted(on_cycles({("g", "a"): [("g", "b")], ("g", "b"): [("g", "b")]}))
    [('g', 'b')]
    """
    return {node for group in _components(edges) for node in group}


def _components(edges: Mapping[Key, Iterable[Key]]) -> Iterator[list[Key]]:
    """The strongly connected components that hold a cycle (Tarjan's algorithm, unrolled)."""
    index: dict[Key, int] = {}
    low: dict[Key, int] = {}
    stack: list[Key] = []
    on_stack: set[Key] = set()
    for start in edges:
        if start in index:
            continue
        index[start] = low[start] = len(index)
        stack.append(start)
        on_stack.add(start)
        path = [(start, iter(edges[start]))]
        while path:
            node, targets = path[-1]
            for target in targets:
                if target not in index:
                    index[target] = low[target] = len(index)
                    stack.append(target)
                    on_stack.add(target)
                    path.append((target, iter(edges.get(target, ()))))
                    break
                if target in on_stack:
                    low[node] = min(low[node], index[target])
            else:
                path.pop()
                if path:
                    low[path[-1][0]] = min(low[path[-1][0]], low[node])
                if low[node] == index[node]:
                    group = [stack.pop()]
                    while group[-1] != node:
                        group.append(stack.pop())
                    on_stack.difference_update(group)
                    if len(group) > 1 or node in set(edges.get(node, ())):
                        yield group


def _levels(parents: Mapping[Key, Key]) -> dict[Key, int]:
    """How far down each child is; the graph has no cycle."""
    levels: dict[Key, int] = {}
    for child in parents:
        chain = []
        node: Key | None = child
        while node is not None and node not in levels:
            chain.append(node)
            node = parents.get(node)
        level = -1 if node is None else levels[node]
        for passed in reversed(chain):
            level += 1
            levels[passed] = level
    return levels


def _circular_memberships(rows: DataFrame) -> Iterator[Bad]:
    """Memberships among groups and roles by which somebody would be below himself."""
    inner = F.col("c0").isin(*NESTING_KINDS) & F.col("c2").isin(*NESTING_KINDS)
    yield from circular(_tuples(_sound(rows, "memberships").filter(inner)))


def circular(memberships: Iterable[tuple[str, ...]]) -> Iterator[Bad]:
    """Of the memberships among groups and roles, those on a cycle."""
    rows = list(memberships)
    edges: dict[Key, list[Key]] = {}
    for kind, name, of_kind, of_name in rows:
        edges.setdefault((kind, name), []).append((of_kind, of_name))
    component = {node: i for i, group in enumerate(_components(edges)) for node in group}
    for kind, name, of_kind, of_name in rows:
        if component.get((kind, name), -1) == component.get((of_kind, of_name), -2):
            detail = f"`{name}` would be a member of itself"
            yield Bad("memberships", (kind, name, of_kind, of_name), CYCLE, detail)


def _dangling(rows: DataFrame, model: Model) -> Iterator[Bad]:
    """Entities whose parent is not stored, and all below them, where that denies."""
    denied = denied_types(model)
    if not denied:
        return
    placements = _sound(rows, PLACEMENTS)
    stored = _sound(rows, "entities").toDF("c2", "c3")
    lost = _tuples(
        placements.filter(F.col("c2").isin(denied))
        .join(stored, ["c2", "c3"], "left_anti")
        .select(*CELLS[:4])
    )
    while lost:
        for placement in lost:
            yield from dangling(placement)
        missing = pa.table({"c2": [row[0] for row in lost], "c3": [row[1] for row in lost]})
        below = rows.sparkSession.createDataFrame(missing)
        lost = _tuples(placements.join(below, ["c2", "c3"], "left_semi").select(*CELLS[:4]))


def dangling(placement: tuple[str, ...]) -> Iterator[Bad]:
    """An entity whose parent is not stored, or goes itself, with its place."""
    detail = f"{_named(*placement[2:])} is not stored"
    yield Bad("entities", placement[:2], DANGLING_PARENT, detail)
    yield Bad(PLACEMENTS, placement, DANGLING_PARENT, detail)


def _named(type: str, name: str) -> str:
    return f"`{type}:{name}`"


def denied_types(model: Model) -> list[str]:
    """The types whose names are denied when they are not stored."""
    return sorted(type for type in model.types if not model.judged(type))


def _marked(rows: DataFrame, bad: Iterable[Bad]) -> DataFrame:
    """`rows`, with the reasons of those that were found on the driver."""
    marks = list(bad)
    if not marks:
        return rows
    frame = _bad_frame(rows.sparkSession, marks)
    same = (rows["table"] == frame["bad_table"]) & F.lit(True)
    for cell in CELLS:
        same = same & rows[cell].eqNullSafe(frame[f"bad_{cell}"])
    joined = rows.join(frame, same & rows["reason"].isNull(), "left")
    return joined.select(
        "table",
        *CELLS,
        "place",
        F.coalesce("bad_reason", "reason").alias("reason"),
        F.coalesce("bad_detail", "detail").alias("detail"),
    )


def _bad_frame(spark: SparkSession, marks: Iterable[Bad]) -> DataFrame:
    columns: dict[str, list[str | None]] = {f"bad_{name}": [] for name in ("table", *CELLS)}
    columns |= {"bad_reason": [], "bad_detail": []}
    for row in dict.fromkeys(marks):
        cells = (*row.cells, *(None,) * (len(CELLS) - len(row.cells)))
        values = (row.table, *cells, row.reason, row.detail)
        for column, value in zip(columns.values(), values, strict=True):
            column.append(value)
    schema = pa.schema([(name, pa.string()) for name in columns])
    return spark.createDataFrame(pa.table(columns, schema=schema))


def _about_stored(rows: DataFrame, model: Model) -> DataFrame:
    """`rows`, those rejected that are about, or name, what is not stored where it has to be."""
    stored = _sound(rows, "entities")
    about = F.col("table").isin(*ABOUT)
    second = F.col("table") == "relations"
    type = F.when(second, F.col("c1")).otherwise(F.col("c0"))
    name = F.when(second, F.col("c2")).otherwise(F.col("c1"))
    rows = _joined(rows, stored, (type, name), about, NOT_STORED)
    denied = denied_types(model)
    if not denied or not model.relations:
        return rows
    named = second & F.col("c3").isin(denied)
    return _joined(rows, stored, (F.col("c3"), F.col("c4")), named, DANGLING_TARGET)


def _joined(
    rows: DataFrame, stored: DataFrame, key: tuple[Column, Column], applies: Column, reason: str
) -> DataFrame:
    """`rows`, rejected where `asked` holds and the entity of `key` is not `stored`."""
    type, name = key
    # A row that is not asked about matches nothing, and is spread by its name all the same.
    keyed = rows.withColumns({"_type": F.when(applies, type), "_name": name})
    known = stored.select(
        F.col("c0").alias("_type"), F.col("c1").alias("_name"), F.lit(True).alias("_stored")
    )
    joined = keyed.join(known, ["_type", "_name"], "left")
    detail = F.concat(F.lit("`"), "_type", F.lit(":"), "_name", F.lit("` is not stored"))
    bad = applies & F.col("_stored").isNull()
    return _rejected(joined, bad, reason, detail).drop("_type", "_name", "_stored")


def _whole(rows: DataFrame, model: Model) -> DataFrame:
    """`rows`, where a rule asks about every edge: one edge less would open more."""
    kinds = universal_relations(model)
    if not kinds:
        return rows
    about_all = (F.col("table") == "relations") & F.col("c0").isin(kinds)
    edges = Window.partitionBy("table", "c0", "c1", "c2")
    lost = F.col("reason").isNotNull() & (F.col("reason") != REPEATED)
    bad = about_all & (F.count(F.when(about_all & lost, True)).over(edges) > 0)
    return _rejected(rows, bad, INCOMPLETE, F.lit(DETAILS[INCOMPLETE]))


def universal_relations(model: Model) -> list[str]:
    """The relations about all of whose edges some rule asks.

    >>> from lakewarden.service.system import load_system
    >>> universal_relations(load_system("datahub").model)
    ['subject']
    """
    rules = (rule for operation in model.operations.values() for rule in operation.rules.values())
    return sorted({kind for rule in rules for kind in _universal(rule)} & set(model.relations))


def _universal(node: Node) -> Iterator[str]:
    if isinstance(node, Every):
        yield node.source
    for inner in children(node):
        yield from _universal(inner)
