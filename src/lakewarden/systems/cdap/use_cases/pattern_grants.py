"""Privileges of principals on an entity, or on all names of a pattern, as CDAP grants them.

An anchor is compared as text: a grant on `dataset:sales.*` and one on `dataset:sales.orders` are
independent, and each is only removed under its own name. The grants of one principal on one anchor
are stored in a statement of their own. Other statements (for several principals at once, or created
elsewhere) count as well, and a revocation also changes those, including statements for implied sets
(everybody, the master). Statements that the platform ships do not change.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from dataclasses import replace
from typing import NamedTuple

from lakewarden.kernel.change import Change, StatementAdded, StatementRemoved
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.model import Model
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.statement import Effect, Matching, On, Statement
from lakewarden.service.state import RealmState
from lakewarden.service.write_transaction import WriteTransaction

Anchor = Entity | Matching


class PatternGrant(NamedTuple):
    """One privilege of a principal on an anchor."""

    anchor: Anchor
    privilege: str


def grantable(model: Model) -> frozenset[str]:
    """Every privilege that may be granted: the meaning of ALL."""
    return frozenset(name for name, privilege in model.privileges.items() if privilege.grantable)


def grants_of(state: RealmState, holders: Collection[Principal], now: float) -> set[PatternGrant]:
    """The own grants of these principals, as far as they are in force and can be granted."""
    names, principals = grantable(state.system.model), frozenset(holders)
    grants: set[PatternGrant] = set()
    for statement in state.matrix.snapshot.table.statements.values():
        anchor = _anchor(statement)
        if anchor is None or not statement.applies(now):
            continue
        if statement.effect is Effect.ALLOW and not principals.isdisjoint(statement.principals):
            grants |= {
                PatternGrant(anchor, privilege) for privilege in statement.privileges & names
            }
    return grants


def grant(
    transaction: WriteTransaction,
    realm: str,
    to: Principal,
    anchor: Anchor,
    privileges: Iterable[str],
) -> None:
    """Grants the principal privileges, idempotently. With none, does nothing."""
    state, granted = transaction.realm(realm), frozenset(privileges)
    if not granted:
        return
    own = next((s for s in _statements_on(state, anchor) if _is_single_grant(s, to)), None)
    if own is None:
        id = _free_id(state, to, anchor)
        scope = On(anchor) if isinstance(anchor, Entity) else anchor
        new = Statement(id, Effect.ALLOW, granted, scope, frozenset({to}), title=to.name)
        transaction.change(realm, StatementAdded(new))
    elif not granted <= own.privileges:
        grown = replace(own, privileges=own.privileges | granted)
        transaction.change(realm, StatementAdded(grown))


def revoke(
    transaction: WriteTransaction,
    realm: str,
    anchor: Anchor,
    holder: Principal | None = None,
    privileges: Iterable[str] | None = None,
) -> frozenset[Principal]:
    """Revokes privileges: without `holder` from everybody, without `privileges` all of them.

    Grants that do not exist are ignored. Returns the principals who lost something.
    """
    state = transaction.realm(realm)
    shipped = state.system.model.default_ids
    removed = None if privileges is None else frozenset(privileges)
    taken: set[Principal] = set()
    for statement in _statements_on(state, anchor):
        if statement.id in shipped:
            continue
        principals = statement.principals
        for principal in sorted(principals if holder is None else principals & {holder}):
            if _remove_privileges(transaction, realm, statement.id, principal, removed):
                taken.add(principal)
    return frozenset(taken)


def remove_grants(
    transaction: WriteTransaction, realm: str, is_gone: Callable[[Entity], bool]
) -> None:
    """Removes all grants on the entities for which `is_gone` holds, stored or not."""
    state = transaction.realm(realm)
    statements, shipped = state.matrix.snapshot.table.statements, state.system.model.default_ids
    removed = (
        id
        for id, statement in statements.items()
        if isinstance(statement.scope, On) and is_gone(statement.scope.entity) and id not in shipped
    )
    transaction.change(realm, *map(StatementRemoved, sorted(removed)))


def _remove_privileges(
    transaction: WriteTransaction,
    realm: str,
    id: str,
    holder: Principal,
    removed: frozenset[str] | None,
) -> bool:
    state = transaction.realm(realm)
    statement = state.matrix.snapshot.table.statements[id]
    remaining = frozenset[str]() if removed is None else statement.privileges - removed
    if remaining == statement.privileges:
        return False
    transaction.change(realm, *_reduced(state, statement, holder, remaining))
    return True


def _reduced(
    state: RealmState, statement: Statement, holder: Principal, remaining: frozenset[str]
) -> Iterator[Change]:
    """The changes after which the statement grants `holder` only `remaining`, others still all."""
    others = statement.principals - {holder}
    if others:
        yield StatementAdded(replace(statement, principals=others))
        anchor = _anchor(statement)
        if remaining and anchor is not None:
            id = _free_id(state, holder, anchor)
            alone = replace(statement, id=id, privileges=remaining, principals=frozenset({holder}))
            yield StatementAdded(alone)
    elif remaining:
        yield StatementAdded(replace(statement, privileges=remaining))
    else:
        yield StatementRemoved(statement.id)


def _anchor(statement: Statement) -> Anchor | None:
    if statement.obliges:
        return None
    match statement.scope:
        case On(entity):
            return entity
        case Matching():
            return statement.scope
        case _:
            return None


def _statements_on(state: RealmState, anchor: Anchor) -> list[Statement]:
    """The statements on exactly this anchor, by id."""
    statements = state.matrix.snapshot.table.statements.values()
    return sorted((s for s in statements if _anchor(s) == anchor), key=lambda s: s.id)


def _is_single_grant(statement: Statement, to: Principal) -> bool:
    """Whether the statement only grants this one principal something, without a time limit."""
    plain = Statement(
        statement.id,
        Effect.ALLOW,
        statement.privileges,
        statement.scope,
        frozenset({to}),
        title=statement.title,
    )
    return statement == plain


def _free_id(state: RealmState, to: Principal, anchor: Anchor) -> str:
    name = anchor.name if isinstance(anchor, Entity) else ".".join(anchor.parts)
    statements = state.matrix.snapshot.table.statements
    id = base = f"{to.kind}:{to.name}/{anchor.type}:{name}"
    count = 1
    while id in statements:
        count += 1
        id = f"{base}~{count}"
    return id
