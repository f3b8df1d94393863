"""A small realm, and functions to write to and read from a store."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from lakewarden.kernel.change import (
    AttributeChanged,
    EntityAdded,
    MembershipChanged,
    OwnerChanged,
    PrincipalChanged,
    RelationChanged,
    StatementAdded,
)
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.principal import USER, Principal
from lakewarden.kernel.relations import Facts
from lakewarden.service.audit import AuditEvent
from lakewarden.service.effect import Effect, RealmChanged
from lakewarden.service.ports import Store
from lakewarden.service.realm import Realm
from lakewarden.service.system import System, load_system
from lakewarden.store import SqlStore

REALM = "lake"
PEOPLE = "@main"
METALAKE = Entity("metalake", "lk")
CATALOG = Entity("catalog", "lk:c")
SCHEMA = Entity("schema", "lk:c.s")
TABLE = Entity("table", "lk:c.s.t")
TAG = Entity("tag", "lk:pii")
ANA = Principal(USER, "ana")
GRAVITINO = load_system("gravitino")
DATAHUB = load_system("datahub")

Rows = dict[str, frozenset[object]]


def as_port(store: SqlStore) -> Store:
    """The store as the use cases see it; the type checker compares the two."""
    return store


def write(store: SqlStore, *effects: Effect, scope: str = REALM) -> int:
    """Performs the effects in one write; returns the revision."""
    with as_port(store).writing() as writing:
        writing.apply(scope, effects)
        return writing.commit(())


def with_realm(store: SqlStore, *effects: Effect) -> int:
    """Writes a realm with a table, and the effects."""
    return write(
        store,
        RealmChanged(REALM, Realm(REALM, "gravitino")),
        EntityAdded(METALAKE),
        EntityAdded(CATALOG, METALAKE),
        EntityAdded(SCHEMA, CATALOG),
        EntityAdded(TABLE, SCHEMA),
        *effects,
    )


def tables(count: int, first: int = 0) -> list[Effect]:
    """`count` tables of the schema."""
    names = (f"lk:c.s.t{i}" for i in range(first, first + count))
    return [EntityAdded(Entity("table", name), SCHEMA) for name in names]


def facts(store: SqlStore, scope: str = REALM, system: System | None = GRAVITINO) -> Facts:
    """The stored facts of a scope."""
    with store.reading() as reading:
        return reading.facts(scope, system)


def sets(of: Facts) -> Rows:
    """The rows without their order."""
    names = ("entities", "relations", "attributes", "owners", "principals", "memberships")
    rows = {name: frozenset(getattr(of, name)) for name in names}
    return {**rows, "statements": frozenset(of.statements)}


def effects_of(of: Facts) -> Iterator[Effect]:
    """The effects that create the rows."""
    yield from (EntityAdded(row.entity, row.parent) for row in of.entities)
    yield from (RelationChanged(row, True) for row in of.relations)
    values: dict[tuple[Entity, str], list[str]] = {}
    for entity, attribute, value in of.attributes:
        values.setdefault((entity, attribute), []).append(value)
    yield from (AttributeChanged(*found, tuple(kept)) for found, kept in values.items())
    yield from (OwnerChanged(row, True) for row in of.owners)
    yield from (PrincipalChanged(principal, True) for principal in of.principals)
    yield from (MembershipChanged(row, True) for row in of.memberships)
    yield from (StatementAdded(statement) for statement in of.statements)


def event(number: int = 0) -> AuditEvent:
    """An audit event."""
    return AuditEvent(
        1_700_000_000.0 + number, "ana", "table.load", f"table:{number}", "allow", "granted", REALM
    )


def events(numbers: Iterable[int]) -> Sequence[AuditEvent]:
    """Several audit events."""
    return [event(number) for number in numbers]
