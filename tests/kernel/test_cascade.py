"""Cascades: the consequences of a drop or a rename as single steps, with the same result."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakewarden.kernel import cascade
from lakewarden.kernel.change import (
    Change,
    EntityDropped,
    EntityRenamed,
    RelationChanged,
    StatementAdded,
    StatementRemoved,
)
from lakewarden.kernel.changed_rows import ChangedRows
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.facts import rows_of
from lakewarden.kernel.incremental_compile import apply
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.relations import EntityRow, Facts, RelationRow
from lakewarden.kernel.snapshot import compile
from lakewarden.kernel.statement import Anything, On, Statement
from lakewarden.kernel.statement_file import read_statements
from lakewarden.service.system import System, load_system
from lakewarden.testing.changes import after
from lakewarden.testing.world_draft import NOW
from lakewarden.testing.worlds import Size, make
from tests.kernel.small import world

SMALL = Size(entities=12, users=4, groups=2, roles=2, statements=8, goals=5)
SYSTEMS = ("gravitino", "datahub", "cdap")


def matrix_of(system: System, facts: Facts) -> Matrix:
    return Matrix(compile(facts, system.model, system.spelling, now=NOW, revision=1))


def sets(facts: Facts) -> dict[str, frozenset[object]]:
    """Statements and rows without their order; principals have their own changes."""
    names = ("entities", "relations", "attributes", "owners", "memberships")
    rows = {name: frozenset(getattr(facts, name)) for name in names}
    return {**rows, "statements": frozenset(facts.statements)}


def row_by_row(facts: Facts, steps: Iterable[Change]) -> Facts:
    """The rows after steps, each of which only affects the named rows."""
    for step in steps:
        match step:
            case EntityDropped(entity):
                facts = replace(
                    facts,
                    entities=[r for r in facts.entities if r.entity != entity],
                    relations=[r for r in facts.relations if r.source != entity],
                    attributes=[r for r in facts.attributes if r.entity != entity],
                    owners=[r for r in facts.owners if r.entity != entity],
                )
            case EntityRenamed(entity, name):
                facts = renamed(facts, entity, Entity(entity.type, name))
            case RelationChanged(row, False):
                facts = replace(facts, relations=[r for r in facts.relations if r != row])
            case StatementRemoved(id):
                facts = replace(facts, statements=[s for s in facts.statements if s.id != id])
            case StatementAdded(statement):
                kept = [s for s in facts.statements if s.id != statement.id]
                facts = replace(facts, statements=[*kept, statement])
            case _:
                raise AssertionError(step)
    return facts


def renamed(facts: Facts, old: Entity, new: Entity) -> Facts:
    def name(entity: Any) -> Any:
        return new if entity == old else entity

    return replace(
        facts,
        entities=[r._replace(entity=name(r.entity), parent=name(r.parent)) for r in facts.entities],
        relations=[
            r._replace(source=name(r.source), target=name(r.target)) for r in facts.relations
        ],
        attributes=[r._replace(entity=name(r.entity)) for r in facts.attributes],
        owners=[r._replace(entity=name(r.entity)) for r in facts.owners],
    )


@pytest.mark.by_day(1)
@pytest.mark.parametrize("name", SYSTEMS)
@given(seed=st.integers(0, 2**32 - 1))
def test_the_steps_of_a_drop_come_to_the_drop(name: str, seed: int) -> None:
    system = load_system(name)
    facts = make(system, seed, SMALL).facts
    before = matrix_of(system, facts)
    entity = facts.entities[seed % len(facts.entities)].entity
    drop = EntityDropped(entity)
    steps = cascade.steps(before.snapshot, drop)
    assert sets(row_by_row(facts, steps)) == sets(after(system, facts, drop))
    one, other = (apply(before, c, now=NOW, revision=2).snapshot for c in ([drop], steps))
    assert sets(rows_of(one.coded, one.table.statements)) == sets(
        rows_of(other.coded, other.table.statements)
    )


@pytest.mark.by_day(1)
@pytest.mark.parametrize("name", SYSTEMS)
@given(seed=st.integers(0, 2**32 - 1))
def test_the_steps_of_several_drops_come_to_one_after_the_other(name: str, seed: int) -> None:
    system = load_system(name)
    facts = make(system, seed, SMALL).facts
    before = matrix_of(system, facts)
    dropped = [EntityDropped(row.entity) for row in facts.entities[:: seed % 3 + 1]]
    steps = cascade.drops(before.snapshot, dropped)
    one = before.snapshot
    for drop in dropped:
        if one.coded.is_known(drop.entity):  # otherwise it was removed with its container
            one = apply(Matrix(one), [drop], now=NOW, revision=2).snapshot
    other = apply(before, steps, now=NOW, revision=2).snapshot
    assert sets(rows_of(one.coded, one.table.statements)) == sets(
        rows_of(other.coded, other.table.statements)
    )


def test_a_drop_of_what_is_not_stored_comes_behind_the_others() -> None:
    system = load_system("gravitino")
    snapshot = matrix_of(system, lake_with_grants(system)).snapshot
    gone, table = (EntityDropped(Entity("table", f"lk:c.s.{name}")) for name in ("gone", "t"))
    steps = cascade.drops(snapshot, [gone, table, gone])
    assert steps == (StatementRemoved("table:lk:c.s.t"), table, gone)


@given(seed=st.integers(0, 2**32 - 1))
def test_the_steps_of_a_rename_come_to_the_rename(seed: int) -> None:
    system = load_system("gravitino")
    facts = make(system, seed, SMALL).facts
    before = matrix_of(system, facts)
    rename = EntityRenamed(facts.entities[seed % len(facts.entities)].entity, "elsewhere")
    steps = cascade.steps(before.snapshot, rename)
    assert sets(row_by_row(facts, steps)) == sets(after(system, facts, rename))


@pytest.mark.parametrize(
    "change",
    [
        EntityDropped(Entity("table", "lk:c.s.gone")),
        EntityRenamed(Entity("table", "lk:c.s.gone"), "x"),
        StatementRemoved("s"),
    ],
)
def test_what_does_not_spread_is_its_own_step(change: Change) -> None:
    system = load_system("gravitino")
    assert cascade.steps(matrix_of(system, Facts()).snapshot, change) == (change,)


def test_what_lies_below_goes_first() -> None:
    system = load_system("gravitino")
    names = ["metalake:lk", "catalog:lk:c", "schema:lk:c.s", "table:lk:c.s.t"]
    entities = [system.entity(name) for name in names]
    rows = [(entity, system.spelling.parent(entity)) for entity in entities]
    facts = Facts(entities=[EntityRow(*row) for row in rows])
    steps = cascade.steps(matrix_of(system, facts).snapshot, EntityDropped(entities[1]))
    assert steps == tuple(EntityDropped(entity) for entity in reversed(entities[1:]))


def lake_with_grants(system: System) -> Facts:
    """A metalake, a catalog, a schema and a table, each with a statement."""
    names = ["metalake:lk", "catalog:lk:c", "schema:lk:c.s", "table:lk:c.s.t"]
    grants: list[Mapping[str, object]] = [
        {"id": name, "privileges": ["SELECT_TABLE"], "to": ["user:ana"], "on": name}
        for name in names
    ]
    return world(system, names, statements=grants)


def test_statements_on_what_goes_are_removed_before_it() -> None:
    system = load_system("gravitino")
    m = matrix_of(system, lake_with_grants(system))
    schema, table = system.entity("schema:lk:c.s"), system.entity("table:lk:c.s.t")
    steps = cascade.steps(m.snapshot, EntityDropped(schema))
    assert set(steps[:2]) == {StatementRemoved(f"{e.type}:{e.name}") for e in (schema, table)}
    assert steps[2:] == (EntityDropped(table), EntityDropped(schema))


def with_limits(system: System, facts: Facts) -> Facts:
    """The same, with a filter on the schema, and masks on the table and on one of its columns."""
    tables = [
        {"id": "filter", "effect": "filter", "on": "schema:lk:c.s", "expression": "a = 1"},
        {"id": "mask", "effect": "mask", "on": "table:lk:c.s.t", "expression": "null"},
        {"id": "one", "effect": "mask", "on": "column:lk:c.s.t.a", "expression": "null"},
    ]
    read = read_statements(tables, system.model, system.spelling, "test")
    return replace(facts, statements=(*facts.statements, *read))


def test_filters_and_masks_stay_where_what_they_lie_on_is_dropped() -> None:
    system = load_system("gravitino")
    m = matrix_of(system, with_limits(system, lake_with_grants(system)))
    drop = EntityDropped(system.entity("schema:lk:c.s"))
    steps = cascade.steps(m.snapshot, drop)
    removed = {step.id for step in steps if isinstance(step, StatementRemoved)}
    assert removed == {"schema:lk:c.s", "table:lk:c.s.t"}
    for changes in ([drop], steps):
        left = apply(m, changes, now=NOW, revision=2).snapshot.table.statements
        assert {"filter", "mask", "one"} <= set(left)
        assert not removed & set(left)


def test_filters_and_masks_follow_a_rename() -> None:
    system = load_system("gravitino")
    m = matrix_of(system, with_limits(system, lake_with_grants(system)))
    rename = EntityRenamed(system.entity("table:lk:c.s.t"), "lk:c.s.u")
    steps = cascade.steps(m.snapshot, rename)
    followed = {step.statement.id for step in steps if isinstance(step, StatementAdded)}
    assert followed == {"table:lk:c.s.t", "mask"}


def test_statements_on_what_is_renamed_follow_it() -> None:
    system = load_system("gravitino")
    facts = lake_with_grants(system)
    rename = EntityRenamed(system.entity("table:lk:c.s.t"), "lk:c.s.u")
    statement = next(s for s in facts.statements if s.id == "table:lk:c.s.t")
    everywhere = replace(statement, id="everywhere", scope=Anything())
    facts = replace(facts, statements=[*facts.statements, everywhere])
    renamed = replace(statement, scope=On(Entity("table", "lk:c.s.u")))
    steps = cascade.steps(matrix_of(system, facts).snapshot, rename)
    assert steps == (rename, StatementAdded(renamed))


class Passes(dict[str, Statement]):
    """Statements that count the iterations over all of them."""

    count = 0

    def values(self) -> Any:
        self.count += 1
        return super().values()


def test_all_statements_are_looked_at_once_however_much_is_renamed() -> None:
    system = load_system("gravitino")
    snapshot = matrix_of(system, lake_with_grants(system)).snapshot
    statements = Passes(snapshot.table.statements)
    snapshot = replace(snapshot, table=replace(snapshot.table, statements=statements))
    rows = ChangedRows(snapshot)
    rows.statements = own = Passes(statements)
    names = ["table:lk:c.s.t", "schema:lk:c.s", "catalog:lk:c"]
    for entity in map(system.entity, names):
        rename = EntityRenamed(entity, entity.name.replace("lk:c", "lk:d"))
        assert len(cascade.steps(snapshot, rename)) > 1
        rows.apply(rename)
    assert (statements.count, own.count) == (1, 1)
    found = {one.scope.entity.name for one in own.values() if isinstance(one.scope, On)}
    assert {"lk:d.s.t", "lk:d.s", "lk:d"} <= found
    assert not {"lk:c.s.t", "lk:c.s", "lk:c"} & found


def test_all_statements_are_looked_at_twice_however_much_is_dropped() -> None:
    system = load_system("gravitino")
    rows = ChangedRows(matrix_of(system, lake_with_grants(system)).snapshot)
    rows.statements = own = Passes(rows.statements)
    left = set(own)
    for name in ("table:lk:c.s.t", "schema:lk:c.s", "catalog:lk:c"):
        rows.apply(EntityDropped(system.entity(name)))
        left.remove(name)
        assert left == set(own)
    assert own.count == 2


def test_a_name_that_another_one_had_takes_its_statements_no_second_time() -> None:
    system = load_system("gravitino")
    rows = ChangedRows(matrix_of(system, lake_with_grants(system)).snapshot)
    for old, new in (("t", "u"), ("u", "t"), ("t", "v")):
        rows.apply(EntityRenamed(Entity("table", f"lk:c.s.{old}"), f"lk:c.s.{new}"))
    assert rows.statements["table:lk:c.s.t"].scope == On(Entity("table", "lk:c.s.v"))


def test_where_statements_do_not_hold_on_to_entities_a_drop_stands_alone() -> None:
    system = load_system("datahub")
    assert not system.model.binds_identity
    dataset = system.entity("dataset:urn:li:dataset:(urn:li:dataPlatform:hive,a,PROD)")
    m = matrix_of(system, Facts(entities=[EntityRow(dataset, None)]))
    assert cascade.steps(m.snapshot, EntityDropped(dataset)) == (EntityDropped(dataset),)


def test_only_the_edges_that_lead_to_what_goes_are_cut() -> None:
    system = load_system("gravitino")
    names = ["metalake:lk", "catalog:lk:c", "tag:lk:a", "tag:lk:b"]
    lake, catalog, one, other = (system.entity(name) for name in names)
    facts = Facts(
        entities=[EntityRow(lake), *(EntityRow(entity, lake) for entity in (catalog, one, other))],
        relations=[RelationRow("tag", catalog, one), RelationRow("tag", catalog, other)],
    )
    steps = cascade.steps(matrix_of(system, facts).snapshot, EntityDropped(one))
    assert steps == (
        RelationChanged(RelationRow("tag", catalog, one), False),
        EntityDropped(one),
    )
