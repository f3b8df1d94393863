"""The small realm of these tests: one schema, tables in it, users who may or may not read them.

A *key* is a table; its *register* says whether ana may load it. Grants and revocations go
through the use cases of the service, questions through the compiled state.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lakewarden.app.word import word_of
from lakewarden.kernel.change import (
    EntityAdded,
    MembershipChanged,
    OwnerChanged,
    PrincipalChanged,
    StatementAdded,
)
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import Conflict
from lakewarden.kernel.principal import USER, Principal, members_of
from lakewarden.kernel.relations import MembershipRow, OwnerRow
from lakewarden.kernel.request import Request
from lakewarden.kernel.statement import Effect, On, Statement
from lakewarden.service import grant as grants
from lakewarden.service.actor import SYSTEM
from lakewarden.service.desk import Desk
from lakewarden.service.effect import DocumentChanged, RealmChanged
from lakewarden.service.grant import Word
from lakewarden.service.plane import Plane
from lakewarden.service.realm import Realm
from lakewarden.service.state import State
from lakewarden.service.system import load_system
from lakewarden.store import open_store

REALM = "lake"
GRAVITINO = load_system("gravitino")
"""The system of the realm; loaded once for all processes that are forked later."""
LAKE = Entity("metalake", "lk")
CATALOG = Entity("catalog", "lk:c")
SCHEMA = Entity("schema", "lk:c.s")
ANA = Principal(USER, "ana")
"""Whose grants come and go."""
OWNER = Principal(USER, "olga")
"""Who owns everything."""

READ = frozenset({Word("SELECT_TABLE", Effect.ALLOW)})
"""What a register is about."""


class Stale(Plane):
    """A plane without its protection: it answers from what it knows, however old."""

    def current(self, now: float) -> State | None:
        return self.state

    def catch_up(self, at_least: int = 0) -> State:
        return self.state


@contextmanager
def plane_of(url: str, kind: type[Plane] = Plane) -> Iterator[Plane]:
    """A plane on the store, with the revision word where a server would have one."""
    word = word_of(url)
    try:
        with open_store(url) as store:
            plane = kind(store, word=word)
            plane.open()
            yield plane
    finally:
        if word is not None:
            word.close()


def build(plane: Plane) -> None:
    """The realm with its empty schema, unless it is there."""

    def declare(desk: Desk) -> None:
        if REALM in desk.state.realms:
            return
        desk.change(REALM, RealmChanged(REALM, Realm(REALM, "gravitino")))
        for entity, parent in ((LAKE, None), (CATALOG, LAKE), (SCHEMA, CATALOG)):
            desk.change(
                REALM, EntityAdded(entity, parent), OwnerChanged(OwnerRow(entity, OWNER), True)
            )
        for user in (ANA, OWNER):
            desk.change("@main", PrincipalChanged(user, True))
            desk.change(REALM, MembershipChanged(MembershipRow(user, members_of("lk")), True))
        uses = frozenset({"USE_CATALOG", "USE_SCHEMA"})
        desk.change(
            REALM, StatementAdded(Statement("u", Effect.ALLOW, uses, On(LAKE), frozenset({ANA})))
        )

    plane.write(SYSTEM, declare)


def table(name: int | str) -> Entity:
    """The table of that name or number in the one schema."""
    return Entity("table", f"{SCHEMA.name}.t{name}")


def add_tables(plane: Plane, *tables: Entity) -> int:
    """Tables with an owner and a document each, in one write; the revision."""

    def add(desk: Desk) -> None:
        for entity in tables:
            create(desk, entity)

    plane.write(SYSTEM, add)
    return plane.state.revision


def create(desk: Desk, entity: Entity) -> None:
    """The table with all that belongs to a new one; raises `Conflict` where it is there."""
    desk.change(
        REALM,
        EntityAdded(entity, SCHEMA),
        OwnerChanged(OwnerRow(entity, OWNER), True),
        DocumentChanged(entity, {"name": entity.name}),
    )


def try_create(plane: Plane, entity: Entity) -> bool:
    """Whether it was this call that made the table."""
    try:
        plane.write(SYSTEM, lambda desk: create(desk, entity))
    except Conflict:
        return False
    return True


def put(plane: Plane, key: Entity, *, allowed: bool) -> int:
    """Lets ana read the table, or no longer; the newest revision that the writer knows."""

    def change(desk: Desk) -> None:
        if allowed:
            grants.give(desk, REALM, ANA, {key: READ})
        else:
            grants.take(desk, REALM, ANA, key, READ)

    plane.write(SYSTEM, change)
    return plane.state.revision


def may(state: State, key: Entity, now: float, user: Principal = ANA) -> bool:
    """The decision of a state."""
    return state.realm(REALM).matrix.decide(Request(user, "table.load", key, now)).allow


def check(plane: Plane, key: Entity, at_least: int = 0) -> bool:
    """The answer that a server gives: on the newest state, without a query where that is proven."""
    now = plane.clock()
    state = None if at_least else plane.current(now)
    return may(state or plane.catch_up(at_least), key, now)


def sqlite_url(folder: Path) -> str:
    """The URL of a store in the folder."""
    return f"sqlite:///{folder / 'lakewarden.db'}"
