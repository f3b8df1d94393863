"""The checks of normalised rows: each reason, and the surviving rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import pairwise
from random import Random
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.model import Model
from lakewarden.kernel.principal import Principal
from lakewarden.pipeline import check_local, check_rules
from lakewarden.pipeline.check import check
from lakewarden.pipeline.check_rules import MAX_LEVELS, Key, on_cycles, universal_relations
from lakewarden.pipeline.ingest.tabular import frame_of
from lakewarden.service.source_row import (
    CELLS,
    Row,
    attribute_row,
    entity_row,
    membership_row,
    owner_row,
    placement_row,
    relation_row,
    statement_row,
)
from lakewarden.service.system import load_system

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

DATAHUB, GRAVITINO = load_system("datahub").model, load_system("gravitino").model
ANA = Principal("user", "urn:li:corpuser:ana")


def box(name: object) -> Entity:
    return Entity("container", f"urn:li:container:{name}")


def data(name: str) -> Entity:
    return Entity("dataset", f"urn:li:dataset:(urn:li:dataPlatform:hive,{name},PROD)")


def query(name: str) -> Entity:
    return Entity("query", f"urn:li:query:{name}")


def group(name: str) -> Principal:
    return Principal("group", name)


def stored(*entities: Entity) -> list[Row]:
    return [entity_row(entity, f"stored {i}") for i, entity in enumerate(entities)]


def checked(spark: SparkSession, rows: Iterable[Row], model: Model) -> dict[Row, list[str]]:
    """The outcome of each row: its reason, empty for one that passed; repeated rows together."""
    given = list(rows)
    frame = check(frame_of(spark, given), model)
    found: dict[Row, list[str]] = {}
    for row in frame.collect():
        cells = tuple(row[cell] for cell in CELLS if row[cell] is not None)
        found.setdefault(Row(row["table"], cells), []).append(row["reason"] or "")
        assert bool(row["reason"]) == bool(row["detail"])
    assert sum(map(len, found.values())) == len(given)
    assert became_here(given, model) == Counter(map(tuple, frame.select(*OUTCOME).collect()))
    return {row: sorted(reasons) for row, reasons in found.items()}


OUTCOME = ("table", *CELLS, "reason", "detail")


def became_here(rows: Iterable[Row], model: Model) -> Counter[tuple[str | None, ...]]:
    """The outcomes in this process: table, cells, reason and detail of each row."""
    return Counter(
        (row.table, *padded(row), row.reason or None, row.detail or None)
        for row in check_local.check(rows, model)
    )


def padded(row: Row) -> tuple[str | None, ...]:
    return (*row.cells, *(None,) * (len(CELLS) - len(row.cells)))


def random_rows(model: Model) -> list[Row]:
    """Rows, several set aside for different reasons; no other row of a test names them."""
    rows = list(drawn(Random(1), model))
    reasons = {row.reason for row in check_local.check(rows, model)}
    assert len(reasons) > 4, reasons
    return rows


def drawn(random: Random, model: Model) -> Iterator[Row]:
    """Rows with few names, so many of them repeat, dangle, or form cycles."""
    kinds = {
        "datahub": ("container", "domain", "dataset", "query"),
        "gravitino": ("metalake", "catalog", "schema", "table"),
    }[model.name]
    entities = [Entity(kind, f"{n}") for kind in kinds for n in range(20)]
    people = [Principal(kind, f"{n}") for kind in ("user", "group", "role") for n in range(3)]
    relations = sorted({*model.relations, "subject"})
    for number in range(400):
        place = f"line {random.randrange(500)} of {number}"
        one, other = random.choices(entities, k=2)
        member, of = random.choices(people, k=2)
        rows = [
            entity_row(one, place),
            placement_row(one, other, place),
            relation_row(random.choice([*relations, *["subject"] * 9]), one, other, place),
            owner_row(one, of, "", place),
            membership_row(member, of, place),
        ]
        row = random.choice(rows)
        yield row.rejected("bad name", "drawn") if random.random() < 0.05 else row


def at(row: Row) -> Row:
    """The row without its place, as returned by `checked`."""
    return Row(row.table, tuple(row.cells))


def became(found: dict[Row, list[str]], *rows: Row) -> set[str]:
    """The reasons of rows that occur once each."""
    reasons = [found[at(row)] for row in rows]
    assert all(len(one) == 1 for one in reasons)
    return {reason for one in reasons for reason in one}


# Each of them is one run, in which `checked` also compares the outcomes of random rows.
def test_every_reason_where_names_are_judged(spark: SparkSession) -> None:
    chain = [box(i) for i in range(MAX_LEVELS + 2)]
    entities = stored(
        *(data(name) for name in "abc"),
        *(box(name) for name in ("x", "y", "self", "below")),
        *chain,
        *(query(name) for name in "pqr"),
    )
    fine = [
        placement_row(data("a"), box("nowhere"), ""),
        placement_row(box("below"), box("x"), ""),
        owner_row(data("a"), ANA, "", ""),
        attribute_row(data("a"), "k", "v", ""),
        relation_row("tag", data("a"), Entity("tag", "urn:li:tag:never-stored"), ""),
        relation_row("subject", query("p"), data("a"), ""),
        membership_row(ANA, group("g"), ""),
        membership_row(group("g"), group("h"), ""),
        statement_row({"id": "s"}, ""),
        *(placement_row(chain[i + 1], chain[i], "") for i in range(MAX_LEVELS - 1)),
    ]
    expected = {
        "cycle": [
            placement_row(box("x"), box("y"), ""),
            placement_row(box("y"), box("x"), ""),
            placement_row(box("self"), box("self"), ""),
            membership_row(group("i"), group("j"), ""),
            membership_row(group("j"), group("i"), ""),
            membership_row(group("k"), group("k"), ""),
        ],
        # The contents of the first of these would be a level too deep.
        "too deep": [
            placement_row(chain[MAX_LEVELS], chain[MAX_LEVELS - 1], ""),
            placement_row(chain[MAX_LEVELS + 1], chain[MAX_LEVELS], ""),
        ],
        "two parents": [
            placement_row(data("b"), box("x"), ""),
            placement_row(data("b"), box("y"), ""),
        ],
        "not stored": [
            owner_row(data("ghost"), ANA, "", ""),
            attribute_row(data("ghost"), "k", "v", ""),
            relation_row("tag", data("ghost"), Entity("tag", "urn:li:tag:t"), ""),
            placement_row(data("ghost"), box("x"), ""),
        ],
        "incomplete": [relation_row("subject", query("q"), data("a"), "")],
        "bad name": [
            relation_row("subject", query("q"), box("x"), "").rejected("bad name", "a box"),
            entity_row(Entity("tag", "x"), "").rejected("bad name", "no URN"),
        ],
    }
    twice = [
        owner_row(data("c"), ANA, "", "first"),
        owner_row(data("c"), ANA, "", "second"),
        relation_row("subject", query("r"), data("a"), "first"),
        relation_row("subject", query("r"), data("a"), "second"),
    ]
    rows = [*entities, *fine, *(row for bad in expected.values() for row in bad), *twice]
    found = checked(spark, [*rows, *random_rows(DATAHUB)], DATAHUB)
    assert became(found, *entities, *fine) == {""}
    assert {reason: became(found, *bad) for reason, bad in expected.items()} == {
        reason: {reason} for reason in expected
    }
    assert all(found[at(row)] == ["", "repeated"] for row in twice)


def test_a_row_with_two_reasons_is_set_aside_once(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Too deep, and below an unstored entity: only custom models have such types."""
    levels = 1  # each of them is a Spark query
    monkeypatch.setattr(check_rules, "MAX_LEVELS", levels)
    types = {**DATAHUB.types, "container": replace(DATAHUB.types["container"], judged=False)}
    chain = [box(n) for n in range(levels + 2)]
    rows = [*stored(*chain), placement_row(chain[0], box("gone"), "top")]
    rows += [placement_row(c, p, f"{n}") for n, (p, c) in enumerate(pairwise(chain))]
    found = checked(spark, rows, replace(DATAHUB, types=types))
    assert became(found, *rows) == {"dangling parent"}


def test_every_reason_where_names_that_are_not_stored_are_denied(spark: SparkSession) -> None:
    def placed(type: str, name: str, parent_type: str, parent: str) -> list[Row]:
        entity = Entity(type, name)
        return [entity_row(entity, ""), placement_row(entity, Entity(parent_type, parent), "")]

    fine = [
        entity_row(Entity("metalake", "lk"), ""),
        *placed("catalog", "lk:c", "metalake", "lk"),
        *placed("schema", "lk:c.s", "catalog", "lk:c"),
        owner_row(Entity("schema", "lk:c.s"), Principal("user", "ana"), "", ""),
    ]
    lost = [
        *placed("schema", "lk:d.s", "catalog", "lk:d"),
        *placed("table", "lk:d.s.t", "schema", "lk:d.s"),
        *placed("column", "lk:d.s.t.x", "table", "lk:d.s.t"),
    ]
    owner = owner_row(Entity("table", "lk:d.s.t"), Principal("user", "ana"), "", "")
    found = checked(spark, [*fine, *lost, owner, *random_rows(GRAVITINO)], GRAVITINO)
    assert became(found, *fine) == {""}
    assert became(found, *lost) == {"dangling parent"}
    assert became(found, owner) == {"not stored"}


@pytest.mark.parametrize(("name", "kinds"), [("datahub", ["subject"]), ("gravitino", [])])
def test_relations_of_which_every_edge_is_asked(name: str, kinds: list[str]) -> None:
    assert universal_relations(load_system(name).model) == kinds


NODES = st.integers(0, 6).map(lambda number: ("group", str(number)))


@given(st.dictionaries(NODES, st.lists(NODES, max_size=3)))
def test_the_nodes_on_cycles_are_those_that_reach_themselves(
    edges: dict[Key, list[Key]],
) -> None:
    def reached(start: Key) -> set[Key]:
        seen: set[Key] = set()
        todo = list(edges.get(start, ()))
        while todo:
            node = todo.pop()
            if node not in seen:
                seen.add(node)
                todo.extend(edges.get(node, ()))
        return seen

    nodes = {*edges, *(node for targets in edges.values() for node in targets)}
    assert on_cycles(edges) == {node for node in nodes if node in reached(node)}


def test_a_long_chain_is_no_recursion() -> None:
    edges = {("group", str(i)): [("group", str(i + 1))] for i in range(100_000)}
    assert on_cycles(edges) == set()
    edges["group", "100000"] = [("group", "0")]
    assert len(on_cycles(edges)) == 100_001
