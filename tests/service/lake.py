"""A Gravitino realm over a real store, for tests of use cases: its contents are given as texts."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from lakewarden.kernel.change import EntityAdded, StatementAdded
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.request import Request
from lakewarden.kernel.statement_file import read_statements
from lakewarden.service import member, owner, role
from lakewarden.service.actor import SYSTEM
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.effect import RealmChanged
from lakewarden.service.realm import Realm
from lakewarden.service.state import RealmState
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.store import SqlStore

REALM = "lakes"


class Lake:
    """The realm; `do` is one write."""

    def __init__(self, store: SqlStore) -> None:
        self.store = store
        self.service = DecisionService(store)
        self.service.open()
        self.do(
            lambda transaction: transaction.change(
                REALM, RealmChanged(REALM, Realm(REALM, "gravitino"))
            )
        )

    @property
    def state(self) -> RealmState:
        return self.service.state.realm(REALM)

    def do(self, task: Callable[[WriteTransaction], None]) -> None:
        self.service.write(SYSTEM, task)

    def entity(self, text: str) -> Entity:
        return self.state.system.entity(text)

    def principal(self, text: str) -> Principal:
        return self.state.system.principal(text)

    def add(self, *texts: str) -> None:
        """Adds entities; also users, groups and roles with all their rows."""
        for text in texts:
            self.do(partial(self._add, self.entity(text)))

    def _add(self, entity: Entity, transaction: WriteTransaction) -> None:
        match entity.type:
            case "user" | "group":
                member.add(transaction, REALM, entity)
            case "role":
                role.create(transaction, REALM, entity, self.principal("user:boss"), {})
            case _:
                above = self.state.system.spelling.parent(entity)
                transaction.change(REALM, EntityAdded(entity, above))

    def hand(self, name: str, to: str) -> None:
        holder = self.principal(to)
        self.do(
            lambda transaction: role.assign_roles(transaction, REALM, [self.entity(name)], holder)
        )

    def own(self, text: str, by: str) -> None:
        self.do(
            lambda transaction: owner.set_owner(
                transaction, REALM, self.entity(text), self.principal(by)
            )
        )

    def state_also(self, **statement: object) -> None:
        """Adds a statement, as if by another user."""
        system = self.state.system
        read = read_statements([statement], system.model, system.spelling, "test")
        self.do(lambda transaction: transaction.change(REALM, *map(StatementAdded, read)))

    def may(self, user: str, operation: str, on: str) -> bool:
        asked = Request(self.principal(user), operation, self.entity(on), self.service.clock())
        return self.state.matrix.decide(asked).allow

    def reopened(self) -> RealmState:
        """The realm, as another process reads it from the store."""
        other = DecisionService(self.store)
        other.open()
        return other.state.realm(REALM)
