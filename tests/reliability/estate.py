"""The small realm of these tests: one schema, its tables, and users who may or may not read them.

A *key* is a table; its *register* is whether ana may load it. Grants and revocations use the use
cases of the service, checks use the compiled state.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from lakewarden.app.shared_revision import shared_revision_of
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
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.effect import DocumentChanged, RealmChanged
from lakewarden.service.grant import GrantedPrivilege
from lakewarden.service.realm import Realm
from lakewarden.service.state import State
from lakewarden.service.system import load_system
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.store import open_store

REALM = "lake"
GRAVITINO = load_system("gravitino")
"""The system of the realm; loaded once for all processes that are forked later."""
LAKE = Entity("metalake", "lk")
CATALOG = Entity("catalog", "lk:c")
SCHEMA = Entity("schema", "lk:c.s")
ANA = Principal(USER, "ana")
"""The user whose grants change."""
OWNER = Principal(USER, "olga")
"""The owner of everything."""

READ = frozenset({GrantedPrivilege("SELECT_TABLE", Effect.ALLOW)})
"""The privilege of a register."""


class Stale(DecisionService):
    """A decision service without its protection: it answers from its current state, however old."""

    def current(self, now: float) -> State | None:
        return self.state

    def catch_up(self, at_least: int = 0) -> State:
        return self.state


@contextmanager
def plane_of(url: str, kind: type[DecisionService] = DecisionService) -> Iterator[DecisionService]:
    """A decision service on the store, with the shared revision if a server would have one."""
    shared_revision = shared_revision_of(url)
    try:
        with open_store(url) as store:
            service = kind(store, shared_revision=shared_revision)
            service.open()
            yield service
    finally:
        if shared_revision is not None:
            shared_revision.close()


def build(service: DecisionService) -> None:
    """Creates the realm with its empty schema, unless it exists."""

    def declare(transaction: WriteTransaction) -> None:
        if REALM in transaction.state.realms:
            return
        transaction.change(REALM, RealmChanged(REALM, Realm(REALM, "gravitino")))
        for entity, parent in ((LAKE, None), (CATALOG, LAKE), (SCHEMA, CATALOG)):
            transaction.change(
                REALM, EntityAdded(entity, parent), OwnerChanged(OwnerRow(entity, OWNER), True)
            )
        for user in (ANA, OWNER):
            transaction.change("@main", PrincipalChanged(user, True))
            transaction.change(
                REALM, MembershipChanged(MembershipRow(user, members_of("lk")), True)
            )
        uses = frozenset({"USE_CATALOG", "USE_SCHEMA"})
        transaction.change(
            REALM, StatementAdded(Statement("u", Effect.ALLOW, uses, On(LAKE), frozenset({ANA})))
        )

    service.write(SYSTEM, declare)


def table(name: int | str) -> Entity:
    """The table of that name or number in the one schema."""
    return Entity("table", f"{SCHEMA.name}.t{name}")


def add_tables(service: DecisionService, *tables: Entity) -> int:
    """Adds tables with an owner and a document each, in one write; returns the revision."""

    def add(transaction: WriteTransaction) -> None:
        for entity in tables:
            create(transaction, entity)

    service.write(SYSTEM, add)
    return service.state.revision


def create(transaction: WriteTransaction, entity: Entity) -> None:
    """Creates the table with all its rows; raises `Conflict` if it exists."""
    transaction.change(
        REALM,
        EntityAdded(entity, SCHEMA),
        OwnerChanged(OwnerRow(entity, OWNER), True),
        DocumentChanged(entity, {"name": entity.name}),
    )


def try_create(service: DecisionService, entity: Entity) -> bool:
    """Whether this call created the table."""
    try:
        service.write(SYSTEM, lambda transaction: create(transaction, entity))
    except Conflict:
        return False
    return True


def put(service: DecisionService, key: Entity, *, allowed: bool) -> int:
    """Grants or revokes ana's access to the table; returns the newest revision of the writer."""

    def change(transaction: WriteTransaction) -> None:
        if allowed:
            grants.grant_privileges(transaction, REALM, ANA, {key: READ})
        else:
            grants.revoke_privileges(transaction, REALM, ANA, key, READ)

    service.write(SYSTEM, change)
    return service.state.revision


def may(state: State, key: Entity, now: float, user: Principal = ANA) -> bool:
    """The decision of a state."""
    return state.realm(REALM).matrix.decide(Request(user, "table.load", key, now)).allow


def check(service: DecisionService, key: Entity, at_least: int = 0) -> bool:
    """A server's answer: on the newest state, without a query if that is proven."""
    now = service.clock()
    state = None if at_least else service.current(now)
    return may(state or service.catch_up(at_least), key, now)


def sqlite_url(folder: Path) -> str:
    """The URL of a store in the folder."""
    return f"sqlite:///{folder / 'lakewarden.db'}"
