"""Narrower statements that still allow everything that was done: a proposal for `plan`.

A statement is only ever narrowed: it loses principals, privileges, or entities outside of narrower
anchors; a DENY stays unchanged. Rules are monotonic in what is allowed, so narrowing allows nothing
new. Every used cell is kept, so everything that was done is still allowed.

A statement without any use is made inactive: it is out of force, but visible, and the change can be
undone.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from math import isinf
from typing import Final, NamedTuple

from lakewarden.kernel.entity import Entity, Spelling
from lakewarden.kernel.errors import BadInput, LimitExceeded
from lakewarden.kernel.implied import is_implied
from lakewarden.kernel.memberships import Memberships
from lakewarden.kernel.model import Model
from lakewarden.kernel.statement import (
    Condition,
    Criterion,
    Effect,
    On,
    Scope,
    Statement,
    Where,
    check_size,
)
from lakewarden.kernel.statement_file import read_statements, write_statement
from lakewarden.pipeline.unused.narrower_scopes import Narrower, anchor_limit, is_by_name, named_by
from lakewarden.pipeline.unused.statement_paths import OWNERS
from lakewarden.service.statements import MAX_ID

FIXED: Final = "fixed"
"""It cannot be changed: a built-in default statement, or an implied one."""

UNSAYABLE: Final = "not expressible"
"""A policy file cannot express the statement, or its remainder."""

Words = frozenset[str]
People = frozenset[int]
Scopes = Mapping[str, tuple[Scope, ...]]
"""The scopes of each privilege."""


class StatementPart(NamedTuple):
    """Some words of a statement, for some of its principals, with a scope of their own."""

    scope: Scope
    privileges: Words
    people: People


@dataclass(frozen=True, slots=True)
class Used:
    """The uses of a statement's word through one principal since the window began."""

    privilege: str
    principal: int
    narrower: Narrower


@dataclass(frozen=True, slots=True)
class Change:
    """The replacement of a statement: one or more narrower ones, or itself made inactive."""

    was: Statement
    now: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Proposer:
    """Makes proposals for the statements of one realm.

    `taken_ids` are the ids in use; `pieces` is how many statements may replace one; `stored` are
    the stored entities.
    """

    model: Model
    spelling: Spelling
    memberships: Memberships
    taken_ids: frozenset[str]
    stored: frozenset[Entity]
    pieces: int

    def reason_to_keep(self, statement: Statement) -> str | None:
        """The reason why the statement cannot be changed, or None."""
        if statement.id in self.model.immutable_ids or is_implied(statement):
            return FIXED
        return None if self._is_expressible(statement) else UNSAYABLE

    def change(self, statement: Statement, used: Iterable[Used]) -> Change | None:
        """The remainder of an ALLOW in force, with the uses `used`; None: nothing changes."""
        cells = list(used)
        if statement.effect is not Effect.ALLOW or self.reason_to_keep(statement) is not None:
            return None
        if not cells:
            return Change(statement, (replace(statement, active=False),))
        for groups, scopes in self._ways(statement, cells):
            replacements = tuple(self._named(statement, _parts(groups, scopes)))
            if len(replacements) <= self.pieces and all(map(self._is_expressible, replacements)):
                return None if replacements == (statement,) else Change(statement, replacements)
        return None

    def _ways(
        self, statement: Statement, cells: list[Used]
    ) -> Iterator[tuple[Mapping[Words, People], Scopes]]:
        """The possible remainders, narrower ones first: the words by principals, and scopes."""
        exact, together = _groups(cells), _together(cells)
        for most_anchors in range(self.pieces, 0, -1):
            scopes = self.scopes(statement, cells, most_anchors)
            yield exact, scopes
            yield together, scopes
        if is_by_name(statement.scope, self.model):
            (common,) = self.scopes(
                statement, [replace(cell, privilege="") for cell in cells]
            ).values()
            yield together, dict.fromkeys((cell.privilege for cell in cells), common)
        wide: Scopes = dict.fromkeys((cell.privilege for cell in cells), (statement.scope,))
        yield exact, wide
        yield together, wide

    def scopes(
        self, statement: Statement, cells: Iterable[Used], most_anchors: int | None = None
    ) -> Scopes:
        """By word, the scopes that suffice for its uses: the statement's own, or narrower ones.

        At most `most_anchors` replace one; by default as many as statements may.
        """
        limit = anchor_limit(statement.scope, self.model, self.pieces)
        narrowers: dict[str, Narrower] = {}
        for cell in cells:
            narrower_scope = narrowers.setdefault(cell.privilege, Narrower(limit))
            narrower_scope.stays = (
                narrower_scope.stays or cell.narrower.stays or not cell.narrower.levels
            )
            narrower_scope.join(cell.narrower.levels)
        if is_by_name(statement.scope, self.model):
            most_anchors = None
        return {
            privilege: tuple(self._narrowed(statement.scope, narrower.narrowest(most_anchors)))
            for privilege, narrower in narrowers.items()
        }

    def _narrowed(self, scope: Scope, anchors: frozenset[Entity] | None) -> Iterator[Scope]:
        if anchors is None:
            yield scope
        elif is_by_name(scope, self.model):
            field = named_by(self.model)
            assert field is not None  # noqa: S101 — INVARIANT: `is_by_name` requires it
            names = tuple(sorted({entity.name for entity in anchors}))
            criteria = scope.criteria if isinstance(scope, Where) else ()
            yield Where((*criteria, Criterion(field, Condition.EQUALS, names)))
        else:
            yield from map(On, sorted(anchors))

    def _named(self, statement: Statement, parts: Iterable[StatementPart]) -> Iterator[Statement]:
        """The parts as statements; the first one keeps the id."""
        number = 1
        for scope, privileges, people in parts:
            id = statement.id
            while number > 1 and (id == statement.id or id in self.taken_ids):
                id = f"{statement.id}~{number}"
                number += id in self.taken_ids
            number += 1
            principals = (self.memberships.principals[id] for id in people - {OWNERS})
            yield replace(
                statement,
                id=id,
                privileges=privileges,
                scope=scope,
                principals=frozenset(principals),
                owners=statement.owners if OWNERS in people else None,
            )

    def _may_be_named(self, entity: Entity) -> bool:
        return self.model.judged(entity.type) or entity in self.stored

    def _is_expressible(self, statement: Statement) -> bool:
        """Whether a policy file can express exactly this, and `plan` accepts it."""
        scope = statement.scope
        if isinstance(scope, On) and not self._may_be_named(scope.entity):
            return False
        moments = (statement.valid_from or 0.0, statement.valid_until or 0.0)
        if len(statement.id) > MAX_ID or any(map(isinf, moments)):
            return False
        try:
            check_size(statement)
            table = write_statement(statement)
            return read_statements([table], self.model, self.spelling, "") == (statement,)
        except (BadInput, LimitExceeded):
            return False


def _groups(cells: Iterable[Used]) -> dict[Words, People]:
    """The principals by the words that were used through them."""
    privileges: dict[int, set[str]] = {}
    for cell in cells:
        privileges.setdefault(cell.principal, set()).add(cell.privilege)
    people_by_words: dict[Words, People] = {}
    for principal, own in privileges.items():
        key = frozenset(own)
        people_by_words[key] = people_by_words.get(key, frozenset()) | {principal}
    return people_by_words


def _together(cells: Iterable[Used]) -> dict[Words, People]:
    """All used words, for all principals through whom any was used."""
    of = list(cells)
    return {frozenset(cell.privilege for cell in of): frozenset(cell.principal for cell in of)}


def _parts(
    groups: Mapping[Words, People], scopes: Mapping[str, tuple[Scope, ...]]
) -> list[StatementPart]:
    """The parts: for each scope and group of principals the words; those with most words first."""
    privileges: dict[tuple[Scope, People], set[str]] = {}
    for of_group, people in groups.items():
        for privilege in of_group:
            for scope in scopes[privilege]:
                privileges.setdefault((scope, people), set()).add(privilege)
    merged: dict[tuple[Scope, Words], People] = {}
    for (scope, people), own in privileges.items():
        key = scope, frozenset(own)
        merged[key] = merged.get(key, frozenset()) | people
    parts = [StatementPart(scope, own, people) for (scope, own), people in merged.items()]
    return sorted(parts, key=lambda p: (-len(p.privileges), str(p.scope), sorted(p.privileges)))
