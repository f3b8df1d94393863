"""The expected answers of a realm: the literal oracle over the rows that the soak wrote.

The oracle reads all statements for every question. Here it gets only the statements that can apply
to the user. This changes no verdict: a statement that names none of the user's principals grants
the user nothing.
"""

from __future__ import annotations

import copy
import time
from collections import defaultdict
from functools import cache

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.relations import Facts, MembershipRow, OwnerRow, RelationRow
from lakewarden.kernel.request import Request
from lakewarden.kernel.statement import Statement
from lakewarden.service.system import System
from tests.oracle.oracle import Oracle


class Truth:
    """The expected rows of one realm, and the oracle over them."""

    def __init__(self, facts: Facts, system: System) -> None:
        self._oracle = Oracle(facts, system.model, system.spelling)
        self._statements = {statement.id: statement for statement in self._oracle.statements}
        for number, implied in enumerate(self._oracle._implied()):
            self._statements[f"implied {number}"] = implied
        self._statements.pop("", None)
        self._relations: dict[Entity, list[RelationRow]] = defaultdict(list)
        for row in facts.relations:
            self._relations[row.source].append(row)
        self._owners: dict[Entity, list[OwnerRow]] = defaultdict(list)
        for owner in facts.owners:
            self._owners[owner.entity].append(owner)
        self._naming: dict[Principal, dict[str, Statement]] = defaultdict(dict)
        self._others: dict[str, Statement] = {}
        for id, statement in self._statements.items():
            self._note(id, statement)
        self._views: dict[Principal, Oracle] = {}

    def may(self, who: Principal, operation: str, on: Entity) -> bool:
        """Whether the request must be allowed."""
        view = self._views.get(who)
        if view is None:
            view = self._views[who] = self._view(who)
        view.relations, view.owners = self._relations[on], self._rows_above(on)
        return view.check(Request(who, operation, on, now=time.time()))

    def put(self, id: str, statement: Statement) -> None:
        """Stores a statement, replacing the one with the id."""
        self.drop(id)
        self._statements[id] = statement
        self._note(id, statement)
        self._views.clear()

    def drop(self, id: str) -> None:
        """Removes a statement, if it exists."""
        gone = self._statements.pop(id, None)
        if gone is not None:
            for principal in gone.principals:
                self._naming[principal].pop(id, None)
            self._others.pop(id, None)
            self._views.clear()

    def holds(self, id: str) -> bool:
        """Whether a statement with the id exists."""
        return id in self._statements

    def join(self, row: MembershipRow, *, is_in: bool) -> None:
        """Stores a membership, or removes it."""
        rows = self._oracle.memberships
        if row in rows:
            rows.remove(row)
        if is_in:
            rows.append(row)
        self._views.clear()

    def joined(self, row: MembershipRow) -> bool:
        """Whether the membership exists."""
        return row in self._oracle.memberships

    def _note(self, id: str, statement: Statement) -> None:
        for principal in statement.principals:
            self._naming[principal][id] = statement
        if statement.owners is not None:
            self._others[id] = statement

    def _view(self, who: Principal) -> Oracle:
        view = copy.copy(self._oracle)
        acts = view.acts_as(who)
        found = dict(self._others)
        for principal in acts:
            found.update(self._naming.get(principal, {}))
        view.statements = tuple(found.values())
        view.speaking = cache(view._speaking)
        return view

    def _rows_above(self, on: Entity) -> list[OwnerRow]:
        return [row for entity in (on, *self._oracle.ancestors(on)) for row in self._owners[entity]]
