"""The findings: statements, privileges and memberships without use, and broad ones."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, Final, NamedTuple

import pyarrow as pa
from pyroaring import BitMap, BitMap64

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.grants import Table, affected_privileges
from lakewarden.kernel.hierarchy import reached
from lakewarden.kernel.implied import is_implied
from lakewarden.kernel.memberships import Memberships
from lakewarden.kernel.principal import ANY_GROUP, GROUP
from lakewarden.kernel.scopes import normal
from lakewarden.kernel.statement import Effect, Statement, Where
from lakewarden.kernel.statement_file import principal_text
from lakewarden.kernel.who import StoredUsers
from lakewarden.pipeline.unused.formula import Cell, Cost, cheapest, weights
from lakewarden.pipeline.unused.narrower_scopes import Narrower, anchor_limit
from lakewarden.pipeline.unused.policy import actor_texts, scope_text, texts_of_scopes
from lakewarden.pipeline.unused.proposal import Change, Proposer, Used
from lakewarden.pipeline.unused.statement_paths import ACTED, OWNERS, USED, Use

_TEXT: Final = pa.string()
_COUNT: Final = pa.int64()
_TEXTS: Final = pa.list_(pa.string())

USES: Final = pa.schema(
    [
        *((name, _TEXT) for name in ("statement", "privilege", "principal")),
        *((name, _COUNT) for name in ("n", "users", "entities")),
        ("last_used", _TEXT),
    ]
)
"""The uses: of a privilege of a statement through a principal."""

UNUSED_STATEMENTS: Final = pa.schema(
    [
        *(("statement", _TEXT), ("title", _TEXT), ("privileges", _TEXTS), ("principals", _TEXTS)),
        *(("scope", _TEXT), ("entities", _COUNT), ("users", _COUNT), ("spare", pa.bool_())),
        *(("last_used", _TEXT), ("kept", _TEXT)),
    ]
)
"""ALLOWs in force without any use. `entities` and `users`: how many they apply to.

`spare`: accesses could use it, but all of them could use another way that needs less. `last_used`
is the last day on which any could. `kept` is the reason why nothing is proposed.
"""

UNUSED_PRIVILEGES: Final = pa.schema(
    [
        *((name, _TEXT) for name in ("statement", "privilege", "principal")),
        *(("spare", pa.bool_()), ("last_used", _TEXT), ("kept", _TEXT)),
    ]
)
"""For statements with other uses: a privilege without use, by principal."""

OVER_BROAD: Final = pa.schema(
    [
        *(("statement", _TEXT), ("privilege", _TEXT), ("scope", _TEXT), ("entities", _COUNT)),
        *(("touched", _COUNT), ("users", _COUNT), ("active", _COUNT), ("narrower", _TEXT)),
        ("kept", _TEXT),
    ]
)
"""Privileges that reach far more entities than were touched, or far more users than used them.

`entities` lie in the scope, and accesses needed `touched` of them; `users` have it, `active` used
it.
"""

UNUSED_MEMBERSHIPS: Final = pa.schema([("member", _TEXT), ("of", _TEXT), ("may_widen", pa.bool_())])
"""Memberships that no access needed. `may_widen`: removing one could also allow more."""

SCHEMAS: Final[Mapping[str, pa.Schema]] = {
    "uses": USES,
    "unused_statements": UNUSED_STATEMENTS,
    "unused_privileges": UNUSED_PRIVILEGES,
    "over_broad": OVER_BROAD,
    "unused_memberships": UNUSED_MEMBERSHIPS,
}

FEW: Final = 10
"""A privilege that reaches fewer entities, or users, is not broad."""

Rows = list[tuple[object, ...]]


Uses = dict[str, dict[tuple[str, int], Use]]
"""Uses by statement, then by privilege and principal."""


class UsageTotals(NamedTuple):
    """The totals over all blocks.

    `uses` are those of the chosen ways, `spare` those of all ways; `acted` are pairs of a user and
    a principal that the user acted as.
    """

    uses: Uses
    spare: Uses
    acted: frozenset[tuple[int, int]]

    def anchors(self) -> set[Entity]:
        """The stored entities that could be narrower anchors of statements."""
        uses = (use for of in self.uses.values() for use in of.values())
        levels = (level for use in uses for level in use.narrower.levels)
        return {entity for level in levels for entity in level or ()}


Sizes = Callable[[Statement, str], int]
"""The number of entities that a privilege of a statement applies to."""


def sizes_of(grants: Table, by_scope: Mapping[int, int]) -> Sizes:
    """The sizes, from the number of entities in each scope."""

    def size(statement: Statement, privilege: str) -> int:
        reach = grants.model.privilege(privilege).reach
        return by_scope.get(grants.numbers.get(normal(statement.scope, reach), -1), 0)

    return size


def together(
    rows: Sequence[Mapping[str, Any]], grants: Table, pieces: int, sizes: Sizes
) -> UsageTotals:
    """Merges the rows of `lakewarden.pipeline.unused.statement_paths.SAID` of all blocks."""
    used = [row for row in rows if row["what"] == USED]
    acted = ((row["access"], row["principal"]) for row in rows if row["what"] == ACTED)
    counts: Counter[Cell] = Counter()
    for row in used:
        counts[_cell(row)] += row["n"]
    known = weights(grants.model)

    def cost(cell: Cell) -> Cost:
        statement = grants.statements[cell[0]]
        alone = replace(statement, privileges=frozenset({cell[1]}))
        weight = sum(known[name] for name in affected_privileges(alone, grants.model))
        return weight, sizes(statement, cell[1]), -counts[cell]

    cost = cache(cost)
    chosen = {way: cheapest(json.loads(way), cost) for way in {row["way"] for row in used}}
    total = UsageTotals({}, {}, frozenset(acted))
    for row in used:
        cell = _cell(row)
        limit = anchor_limit(grants.statements[cell[0]].scope, grants.model, pieces)
        for uses in (total.uses, total.spare) if cell in chosen[row["way"]] else (total.spare,):
            of = uses.setdefault(cell[0], {})
            if cell[1:] not in of:
                of[cell[1:]] = Use(Narrower(limit))
            of[cell[1:]].join(row)
    return total


def _cell(row: Mapping[str, Any]) -> Cell:
    return row["statement"], row["word"], row["principal"]


@dataclass(frozen=True, slots=True)
class Findings:
    """Rows by table, and the proposed changes."""

    tables: Mapping[str, Rows]
    changes: tuple[Change, ...]


class Finder:
    """Compares statements with their uses.

    `sizes` are the numbers of entities that a privilege of a statement applies to. A privilege is
    broad if at most `share` of them was used.
    """

    def __init__(
        self,
        grants: Table,
        memberships: Memberships,
        proposer: Proposer,
        sizes: Sizes,
        share: float,
    ) -> None:
        self._model = grants.model
        self._grants = grants
        self._acting = memberships
        self._crowd = StoredUsers(memberships)
        self._proposer = proposer
        self._entities = sizes
        self._share = share

    def find(self, totals: UsageTotals) -> Findings:
        """All findings, in the order of the statements' ids."""
        tables: dict[str, Rows] = {name: [] for name in SCHEMAS}
        changes = []
        for statement in self._stated():
            id = statement.id
            used = {key: use for key, use in totals.uses.get(id, {}).items() if use.n}
            spare = totals.spare.get(id, {})
            reason = self._proposer.reason_to_keep(statement)
            tables["uses"] += self._uses(statement, used)
            if not used:
                tables["unused_statements"].append(self._idle(statement, spare, reason))
            else:
                tables["unused_privileges"] += self._partly(statement, used, spare, reason)
                tables["over_broad"] += self._broad(statement, used, reason)
            change = self._proposer.change(statement, _of(used))
            changes += [] if change is None else [change]
        tables["unused_memberships"] += self._memberships(totals.acted)
        return Findings(tables, tuple(changes))

    def _stated(self) -> Iterator[Statement]:
        """The ALLOWs in force, except those that memberships imply."""
        for id, statement in sorted(self._grants.statements.items()):
            is_stated = statement.effect is Effect.ALLOW and not is_implied(statement)
            if is_stated and self._grants.in_force(id):
                yield statement

    def _users(self, statement: Statement) -> int:
        return len(self._crowd.of(self._acting.ids[p] for p in statement.principals))

    def _name(self, principal: int) -> str:
        return (
            "owners" if principal == OWNERS else principal_text(self._acting.principals[principal])
        )

    def _uses(self, statement: Statement, used: Mapping[tuple[str, int], Use]) -> Rows:
        return [
            (
                *(statement.id, privilege, self._name(principal), use.n),
                *(len(use.users), len(use.places), use.last),
            )
            for (privilege, principal), use in sorted(used.items())
        ]

    def _idle(
        self, statement: Statement, spare: Mapping[tuple[str, int], Use], reason: str | None
    ) -> tuple[object, ...]:
        privileges = sorted(statement.privileges)
        size = max((self._entities(statement, privilege) for privilege in privileges), default=0)
        last = max((use.last for use in spare.values()), default="")
        is_spare = any(use.n for use in spare.values())
        return (
            *(statement.id, statement.title, privileges, actor_texts(statement)),
            *(scope_text(statement), size, self._users(statement), is_spare, last or None, reason),
        )

    def _partly(
        self,
        statement: Statement,
        used: Mapping[tuple[str, int], Use],
        spare: Mapping[tuple[str, int], Use],
        reason: str | None,
    ) -> Rows:
        people = sorted(self._acting.ids[p] for p in statement.principals)
        people += [OWNERS] if statement.owners is not None else []
        rows: Rows = []
        for key in (
            (privilege, person) for privilege in sorted(statement.privileges) for person in people
        ):
            if key not in used:
                use = spare.get(key)
                use_cells = (False, None) if use is None else (use.n > 0, use.last)
                rows.append((statement.id, key[0], self._name(key[1]), *use_cells, reason))
        return rows

    def _broad(
        self, statement: Statement, used: Mapping[tuple[str, int], Use], reason: str | None
    ) -> Rows:
        rows: Rows = []
        scopes = self._proposer.scopes(statement, _of(used))
        users = self._users(statement)
        for privilege, narrower in sorted(scopes.items()):
            cells = [cell for (of, _), cell in used.items() if of == privilege]
            touched = len(BitMap64.union(BitMap64(), *(cell.places for cell in cells)))
            active = len(BitMap.union(BitMap(), *(cell.users for cell in cells)))
            size = self._entities(statement, privilege)
            if self._is_broad(size, touched) or self._is_broad(users, active):
                less = (
                    ""
                    if narrower == (statement.scope,)
                    else texts_of_scopes(statement, list(narrower))
                )
                cells_of = (statement.id, privilege, scope_text(statement), size, touched, users)
                rows.append((*cells_of, active, less or None, reason))
        return rows

    def _is_broad(self, all: int, some: int) -> bool:
        return all >= FEW and some <= all * self._share

    def _memberships(self, acted: frozenset[tuple[int, int]]) -> Rows:
        """The memberships that are on no path from a user to a principal that the user acted as."""
        memberships = self._acting
        users: dict[int, set[int]] = {}
        for user, principal in acted:
            users.setdefault(principal, set()).add(user)
        needed: set[tuple[int, int]] = set()
        groups = [
            id for id, principal in enumerate(memberships.principals) if principal.kind == GROUP
        ]
        in_some_group = reached(groups, memberships.members)
        for principal, of in users.items():
            to = set(memberships.acting_as(principal))
            if memberships.ids[ANY_GROUP] in to:  # through membership in any group
                to |= in_some_group
            for user in of:
                needed.update(self._ways_to(user, to))
        edges = {(m, g) for m, of in memberships.of.items() for g in of}
        if self._scopes_look_at_groups():
            needed |= {(m, g) for m, g in edges if memberships.principals[g].kind == GROUP}
        left = sorted(edges - needed | memberships.inert)
        widening = self._widening({g for _, g in left})
        # If a removal breaks a cycle or shortens a path that is too long, ignored memberships take
        # effect.
        unsettled = memberships.inert if not memberships.too_nested else set(left)
        return [
            (self._name(m), self._name(g), g in widening or (m, g) in unsettled) for m, g in left
        ]

    def _ways_to(self, user: int, to: set[int]) -> Iterator[tuple[int, int]]:
        """The memberships on paths from a user to any of `to`."""
        memberships = self._acting
        for m in memberships.acts_as(memberships.principals[user]):
            for g in memberships.of.get(m, ()):
                if g in to:
                    yield m, g

    def _scopes_look_at_groups(self) -> bool:
        """Whether the scope of any statement depends on group memberships."""
        fields = {f.name for f in self._model.fields.values() if f.origin == ("groups",)}
        return any(_looks_at(statement, fields) for statement in self._grants.statements.values())

    def _above(self, id: int) -> set[int]:
        """The principal, and all principals that it acts as."""
        memberships = self._acting
        ancestors: set[int] = set(reached([id], memberships.of))
        if any(memberships.principals[ancestor].kind == GROUP for ancestor in ancestors):
            ancestors |= reached([memberships.ids[ANY_GROUP]], memberships.of)
        return ancestors

    def _widening(self, groups: set[int]) -> set[int]:
        """The groups for which a DENY names a principal that they act as."""
        statements = self._grants.statements.values()
        denied = {
            self._acting.ids[p]
            for statement in statements
            if statement.effect is Effect.DENY
            for p in statement.principals
        }
        return {g for g in groups if not denied.isdisjoint(self._above(g))}


def _looks_at(statement: Statement, fields: set[str]) -> bool:
    criteria = statement.scope.criteria if isinstance(statement.scope, Where) else ()
    return any(c.field in fields for c in (*criteria, *(statement.constraint or ())))


def _of(used: Mapping[tuple[str, int], Use]) -> list[Used]:
    return [
        Used(privilege, principal, cell.narrower) for (privilege, principal), cell in used.items()
    ]
