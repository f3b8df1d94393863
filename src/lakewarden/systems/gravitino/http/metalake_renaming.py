"""Renames a metalake: everything in it, its users and its roles follow.

Roles are named within their metalake, so their memberships and their grants are written again
under the new name.
SOURCE: gravitino reference 4.3 and 6.1 (a rename keeps grants and owners).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from lakewarden.http.catalog_effects import renamed_scope
from lakewarden.http.exchange import Exchange
from lakewarden.kernel.change import (
    EntityRenamed,
    MembershipChanged,
    PrincipalChanged,
    StatementAdded,
)
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.implied import is_implied
from lakewarden.kernel.principal import ROLE, Principal, members_of
from lakewarden.kernel.relations import MembershipRow
from lakewarden.kernel.statement import On, Statement, Where
from lakewarden.service.effect import Effect
from lakewarden.service.state import RealmState
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.gravitino import names as gravitino
from lakewarden.systems.gravitino.http.authorization import is_stored
from lakewarden.systems.gravitino.http.errors import exists
from lakewarden.systems.gravitino.http.object_store import refuse_limited


def rename(
    exchange: Exchange, transaction: WriteTransaction, metalake: Entity, name: str
) -> Entity:
    """Renames the metalake.

    Raises `BadInput`, or `Failure`: 409 if the name is taken, 403 as `refuse_limited` does.
    """
    refuse_limited(exchange, transaction, metalake)
    gravitino.check_new_name("metalake", name)
    renamed = gravitino.parse("metalake", name)
    state = transaction.realm(exchange.realm)
    if is_stored(state, renamed):
        raise exists("metalake", name)
    transaction.change(exchange.realm, *_entities(state, metalake, name))
    transaction.change(exchange.realm, *_people(state, metalake.name, name))
    transaction.change(exchange.realm, *_statements(state, metalake, name))
    return renamed


def _entities(state: RealmState, metalake: Entity, name: str) -> Iterator[Effect]:
    tree = state.matrix.snapshot.coded.tree
    id = tree.find(metalake)
    assert id is not None  # noqa: S101 — INVARIANT: the metalake is stored
    for other in tree.subtree(id) & tree.stored:
        below = tree.entity(other)
        yield EntityRenamed(below, name + below.name[len(metalake.name) :])


def _people(state: RealmState, old: str, new: str) -> Iterator[Effect]:
    for row in sorted(state.own.memberships):
        after = MembershipRow(_principal(row.member, old, new), _principal(row.of, old, new))
        if after != row:
            yield MembershipChanged(row, False)
            yield PrincipalChanged(after.member, True)
            yield MembershipChanged(after, True)
    for principal in sorted(state.own.principals):
        after_principal = _principal(principal, old, new)
        if after_principal != principal:
            yield PrincipalChanged(principal, False)
            yield PrincipalChanged(after_principal, True)


def _statements(state: RealmState, metalake: Entity, new: str) -> Iterator[Effect]:
    for _, statement in sorted(state.matrix.snapshot.table.statements.items()):
        after = _statement(state, statement, metalake, new)
        if after != statement and not is_implied(statement):
            yield StatementAdded(after)


def _statement(state: RealmState, statement: Statement, metalake: Entity, new: str) -> Statement:
    old, scope = metalake.name, statement.scope
    if isinstance(scope, On):
        scope = On(Entity(scope.entity.type, _name(scope.entity.name, old, new)))
    elif isinstance(scope, Where):
        scope = renamed_scope(state, scope, metalake, lambda name: _name(name, old, new))
    principals = frozenset(_principal(principal, old, new) for principal in statement.principals)
    exceptions = frozenset(_principal(principal, old, new) for principal in statement.exceptions)
    return replace(statement, scope=scope, principals=principals, exceptions=exceptions)


def _principal(principal: Principal, old: str, new: str) -> Principal:
    if principal == members_of(old):
        return members_of(new)
    if principal.kind == ROLE:
        return Principal(ROLE, _name(principal.name, old, new))
    return principal


def _name(name: str, old: str, new: str) -> str:
    return new + name[len(old) :] if name == old or name.startswith(f"{old}:") else name
