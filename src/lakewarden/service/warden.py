"""The embedded engine: a system, its facts, and the questions, in one object.

>>> from lakewarden import Warden
>>> w = Warden("gravitino")
>>> w.add_entities("metalake:lake", "catalog:lake:sales", "schema:lake:sales.raw")
>>> w.add_entities("table:lake:sales.raw.orders")
>>> w.add_members("members:lake", "user:ana", "user:ben")
>>> w.add_members("role:lake:readers", "user:ana")
>>> w.state(id="use", to="role:lake:readers", privileges=["USE_CATALOG"], on="catalog:lake:sales")
>>> w.state(id="see", to="role:lake:readers", privileges=["USE_SCHEMA", "SELECT_TABLE"],
...         on="schema:lake:sales.raw")
>>> w.check("ana", "table.load", "table:lake:sales.raw.orders").allow
True
>>> w.check("ben", "table.load", "table:lake:sales.raw.orders").allow
False
>>> w.list("ana", "table.load")
('table:lake:sales.raw.orders',)
>>> w.who("table.load", "table:lake:sales.raw.orders")
('ana',)
>>> why_not = w.explain("ben", "table.load", "table:lake:sales.raw.orders")
>>> [role.name for role in why_not.ways[0].joins]
['lake:readers']
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping

from lakewarden.kernel.batch import decide_many
from lakewarden.kernel.change import (
    Change,
    EntityAdded,
    EntityDropped,
    MembershipChanged,
    OwnerChanged,
    PrincipalChanged,
    StatementAdded,
    StatementRemoved,
)
from lakewarden.kernel.explain import Explanation, explain
from lakewarden.kernel.incremental_compile import apply
from lakewarden.kernel.listing import filtered, listing
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.principal import IMPLIED, USER, Principal
from lakewarden.kernel.privileges import privileges_of
from lakewarden.kernel.relations import Facts, MembershipRow, OwnerRow
from lakewarden.kernel.request import Decision, Request
from lakewarden.kernel.snapshot import compile
from lakewarden.kernel.statement_file import read_statements
from lakewarden.kernel.who import who
from lakewarden.service.defaults import built_in
from lakewarden.service.system import System, load_system

Clock = Callable[[], float]


class Warden:
    """One realm in memory: facts go in, decisions come out, and each write is visible at once.

    Entities are written `type:name`, principals `kind:name`; a bare name is a user. Every write is
    atomic, and raises `BadInput`, `Unknown` or `Conflict`. The system's built-in statements exist
    from the start; the caller adds its other default statements (`lakewarden.service.defaults`).
    """

    def __init__(
        self,
        system: str | System,
        facts: Facts | None = None,
        *,
        settings: Mapping[str, str] | None = None,
        clock: Clock = time.time,
    ) -> None:
        self.system = load_system(system, settings) if isinstance(system, str) else system
        self._clock = clock
        model, spelling = self.system.model, self.system.spelling
        rows = facts if facts is not None else Facts(statements=built_in(self.system))
        self._matrix = Matrix(compile(rows, model, spelling, now=clock()))

    @property
    def matrix(self) -> Matrix:
        """The compiled state, moved to the present interval."""
        now = self._clock()
        table = self._matrix.snapshot.table
        if not table.start <= now < table.end:
            self._matrix = apply(self._matrix, (), now=now, revision=self.revision)
        return self._matrix

    @property
    def revision(self) -> int:
        """The number of accepted writes."""
        return self._matrix.revision

    def apply(self, changes: Iterable[Change]) -> int:
        """Applies all the changes or none, and returns the new revision."""
        later = apply(self.matrix, changes, now=self._clock(), revision=self.revision + 1)
        self._matrix = later
        return later.revision

    def add_entities(self, *texts: str) -> None:
        """Stores entities under the parents in their names, in the given order."""
        entities = [self.system.entity(text) for text in texts]
        self.apply(EntityAdded(e, self.system.spelling.parent(e)) for e in entities)

    def place(self, text: str, parent: str | None) -> None:
        """Stores an entity under a parent that is not in its name."""
        above = None if parent is None else self.system.entity(parent)
        self.apply([EntityAdded(self.system.entity(text), above)])

    def drop(self, text: str) -> None:
        """Drops an entity with its dependents."""
        self.apply([EntityDropped(self.system.entity(text))])

    def add_members(self, of: str, *members: str) -> None:
        """Adds members to a group, a role, a membership container or an implied set."""
        group = self.system.principal(of)
        rows = [MembershipRow(self.system.principal(member), group) for member in members]
        stored = {p for row in rows for p in (row.member, group) if p.kind != IMPLIED}
        self.apply(
            [
                *(PrincipalChanged(principal, True) for principal in sorted(stored)),
                *(MembershipChanged(row, True) for row in rows),
            ]
        )

    def remove_member(self, of: str, member: str) -> None:
        """Removes one member."""
        row = MembershipRow(self.system.principal(member), self.system.principal(of))
        self.apply([MembershipChanged(row, False)])

    def set_owner(self, text: str, owner: str, ownership: str = "") -> None:
        """Makes the principal the entity's only owner."""
        entity, coded = self.system.entity(text), self.matrix.snapshot.coded
        new = OwnerRow(entity, self.system.principal(owner), ownership)
        id = coded.tree.find(entity)
        old = [] if id is None else coded.owners.of(id)
        rows = [
            OwnerRow(entity, coded.memberships.principals[o], coded.ownerships[n]) for o, n in old
        ]
        removed: list[Change] = [OwnerChanged(row, False) for row in rows if row != new]
        self.apply([*removed, OwnerChanged(new, True)])

    def state(self, **statement: object) -> None:
        """Stores a statement in the form of a statement file; replaces the one with its id."""
        model, spelling = self.system.model, self.system.spelling
        read = read_statements([statement], model, spelling, "statement")
        self.apply(StatementAdded(statement) for statement in read)

    def retract(self, id: str) -> None:
        """Removes the statement with this id."""
        self.apply([StatementRemoved(id)])

    def request(self, user: str, operation: str, on: str | None = None) -> Request:
        """The request, as of now."""
        return Request(
            self.system.principal(user), operation, self.system.entity(on), self._clock()
        )

    def check(self, user: str, operation: str, on: str | None = None) -> Decision:
        """Decides whether the user may do the operation (or has the privilege) on the entity."""
        request = self.request(user, operation, on)
        return self.matrix.decide(request)

    def check_many(self, questions: Iterable[tuple[str, str, str | None]]) -> tuple[bool, ...]:
        """The verdicts on triples of user, operation and entity, in order, all as of one moment.

        Faster than single checks if many are about the same operation. Raises the error of `check`
        for the first invalid triple.
        """
        now, principal, entity = self._clock(), self.system.principal, self.system.entity
        requests = [
            Request(principal(u), operation, entity(on), now) for u, operation, on in questions
        ]
        return tuple(decide_many(self.matrix, requests))

    def list(self, user: str, operation: str, within: str | None = None) -> tuple[str, ...]:
        """All entities on which the user may do the operation, in canonical order."""
        below = None if within is None else self.system.entity(within)
        ids = listing(self.matrix, self.request(user, operation), below)
        tree = self._matrix.snapshot.coded.tree
        return tuple(str(tree.entity(id)) for id in tree.ordered(ids))

    def filter(self, user: str, operation: str, entities: Iterable[str]) -> tuple[str, ...]:
        """The given entities on which the user may do the operation, in order."""
        texts = tuple(entities)
        targets = [self.system.entity(text) for text in texts]
        indexes = filtered(self.matrix, self.request(user, operation), targets)
        return tuple(texts[index] for index in indexes)

    def who(self, operation: str, on: str | None = None) -> tuple[str, ...]:
        """The names of the stored users who may do the operation on the entity."""
        request = Request(Principal(USER, ""), operation, self.system.entity(on), self._clock())
        return tuple(sorted(principal.name for principal in who(self.matrix, request)))

    def explain(self, user: str, operation: str, on: str | None = None) -> Explanation:
        """The decision with its reasons, and for a denial the changes that would allow it."""
        return explain(self.matrix, self.request(user, operation, on))

    def privileges(self, user: str, on: str | None = None) -> tuple[str, ...]:
        """All privileges that the user holds on the entity."""
        return privileges_of(self.matrix, self.request(user, "", on))
