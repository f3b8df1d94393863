"""Reach of statements: the number of users and entities, and the statements on an entity.

A statement's own reach is counted, regardless of what else allows or denies. Owners count if they
own something in its scope.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from pyroaring import BitMap

from lakewarden.analysis.limit_reach import reach_of
from lakewarden.analysis.lint.lint_context import LintContext, union
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import Unknown
from lakewarden.kernel.implied import is_implied
from lakewarden.kernel.statement import Effect, On, Statement
from lakewarden.kernel.subject import Subject
from lakewarden.service import control
from lakewarden.service.actor import Actor
from lakewarden.service.control import Denied
from lakewarden.service.entities import parse_entity
from lakewarden.service.questions import is_plain
from lakewarden.service.state import State
from lakewarden.service.visible import visible_ids


@dataclass(frozen=True, slots=True)
class Audience:
    """The number of stored users, and of stored entities, in a statement's reach."""

    users: int
    entities: int


@dataclass(frozen=True, slots=True)
class ApplicableStatement:
    """A statement that applies to an entity, with its source and the DENYs that override it there.

    `source` is the entity that the statement is on, None if it selects by a pattern or by criteria.
    `beaten_by` are DENYs on the same entity about one of its privileges and about a principal that
    it names too. `is_own`: it is shown to a caller who may not list statements, and names no other
    user.
    """

    statement: Statement
    source: Entity | None
    is_direct: bool
    beaten_by: tuple[str, ...]
    is_own: bool = False


class StatementReach:
    """The reach of the statements of one realm; inactive ones reach no users."""

    def __init__(self, context: LintContext) -> None:
        self._context = context
        self._owned_by = context.snapshot.owned_by

    def of(self, statement: Statement) -> Audience:
        """The reach of the statement; for a filter or mask, the users and entities it affects."""
        if statement.obliges:
            bound, limited = reach_of(self._context, statement)
            return Audience(len(bound), len(limited))
        entities = self._entities(statement)
        return Audience(len(self._users(statement, entities)), len(entities))

    def _entities(self, statement: Statement) -> BitMap:
        bearings = self._context.bearings.get(statement.id, ())
        return union(self._context.stored(bearing.grant) for bearing in bearings)

    def _users(self, statement: Statement, entities: BitMap) -> BitMap:
        if statement.id not in self._context.bearings:
            return BitMap()
        ids = self._context.memberships.ids
        named = (ids[principal] for principal in statement.principals if principal in ids)
        users = union(self._context.users_of(id) for id in named)
        if statement.owners is not None:
            for owner, owned in self._owned_by.items():
                if owned.intersect(entities):
                    users |= self._context.users_of(owner)
        return users

    def reaching(self, entity: Entity, id: int) -> Iterator[ApplicableStatement]:
        """The active stored statements that apply to the entity with this number, by id."""
        applicable = {
            key: [bearing for bearing in bearings if id in self._context.ids(bearing.grant)]
            for key, bearings in self._context.bearings.items()
            if not is_implied(bearings[0].grant.statement)
        }
        near = {key: bearings for key, bearings in applicable.items() if bearings}
        denied = [
            (bearing.grant.statement, bearing.privilege)
            for bearings in near.values()
            for bearing in bearings
            if bearing.grant.statement.effect is Effect.DENY
        ]
        for _, bearings in sorted(near.items()):
            statement = bearings[0].grant.statement
            privileges = {bearing.privilege for bearing in bearings}
            source = statement.scope.entity if isinstance(statement.scope, On) else None
            beaten: set[str] = set()
            if statement.effect is Effect.ALLOW:
                beaten = {
                    deny.id
                    for deny, privilege in denied
                    if privilege in privileges and self._share_principals(statement, deny)
                }
            yield ApplicableStatement(statement, source, source == entity, tuple(sorted(beaten)))

    def _share_principals(self, allow: Statement, deny: Statement) -> bool:
        if allow.owners is not None or deny.owners is not None:
            return True
        ids = self._context.memberships.ids
        pairs = ((a, b) for a in allow.principals for b in deny.principals if a in ids and b in ids)
        return any(self._context.share_a_user(ids[a], ids[b]) for a, b in pairs)


def reaching(
    state: State, actor: Actor, realm: str, text: str, now: float
) -> list[ApplicableStatement] | Denied:
    """The statements that apply to an entity, or only those that also apply to the caller.

    Callers without the right see the same as in an explanation: statements without criteria that
    apply to them, reduced to the principals that they act as. Raises `Unknown` for an entity that
    does not exist or that the caller may not know of.
    """
    refused = control.denied_in(state, actor, "statement.list", realm, now)
    if refused is not None:
        refused_own = control.denied_in(state, actor, "explain.ask_own", realm, now)
        if refused_own is not None or not actor.is_valid_in(state.realm(realm).realm):
            return refused
    realm_state = state.realm(realm)
    entity = parse_entity(realm_state, text)
    id = realm_state.matrix.snapshot.coded.tree.find(entity)
    if id is None or id not in visible_ids(state, actor, realm, now):
        raise Unknown("entity", text)
    rows = StatementReach(LintContext(realm_state.matrix.snapshot)).reaching(entity, id)
    if refused is None:
        return list(rows)
    asking = actor.request(realm_state.realm, realm_state.system, "", now=now)
    return _own(list(rows), realm_state.matrix.subject(asking), id)


def _own(
    rows: Sequence[ApplicableStatement], subject: Subject, id: int
) -> list[ApplicableStatement]:
    """The rows that apply to the subject, without other principals."""
    narrowed = {
        row.statement.id: replace(
            row.statement,
            principals=row.statement.principals & subject.named,
            owners=row.statement.owners if id in subject.owned_subtree else None,
        )
        for row in rows
        if is_plain(row.statement)
    }
    visible = {
        key
        for key, statement in narrowed.items()
        if statement.principals or statement.owners is not None
    }
    return [
        replace(
            row,
            statement=narrowed[row.statement.id],
            beaten_by=tuple(deny for deny in row.beaten_by if deny in visible),
            is_own=True,
        )
        for row in rows
        if row.statement.id in visible
    ]
