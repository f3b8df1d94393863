"""Privileges of a principal on an entity: reads, grants and revokes them.

The grants to one principal on one entity are stored in up to two statements, one that allows and
one that denies, with ids such as `lake:readers/schema:lake.sales/allow`: the form of an ingested
estate. Privileges keep their spelling. Statements of other forms (several principals at once,
created elsewhere) count as well: a revocation also removes privileges from them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from typing import NamedTuple

from lakewarden.kernel.change import Change, StatementAdded, StatementRemoved
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.model import Model
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.statement import GRANTING, Effect, On, Statement
from lakewarden.service.state import RealmState
from lakewarden.service.write_transaction import WriteTransaction


class GrantedPrivilege(NamedTuple):
    """An allowed or denied privilege, in any spelling."""

    privilege: str
    effect: Effect


Grants = Mapping[Entity, frozenset[GrantedPrivilege]]
"""The grants to a principal, by entity."""


def grants_of(state: RealmState, to: Principal) -> Grants:
    """The grants in force to the principal itself, by entity, in canonical order."""
    grants: dict[Entity, set[GrantedPrivilege]] = {}
    for statement in _in_force(state, to):
        if isinstance(statement.scope, On) and statement.constraint is None:
            granted = (
                GrantedPrivilege(privilege, statement.effect) for privilege in statement.privileges
            )
            grants.setdefault(statement.scope.entity, set()).update(granted)
    return {entity: frozenset(grants[entity]) for entity in sorted(grants)}


def privileges_on(state: RealmState, to: Principal, on: Entity) -> frozenset[GrantedPrivilege]:
    """The grants to the principal itself on exactly this entity, in force or not."""
    return frozenset(
        GrantedPrivilege(privilege, statement.effect)
        for statement in _naming(state, to)
        if statement.scope == On(on)
        for privilege in statement.privileges
    )


def grantees(state: RealmState, on: Entity) -> frozenset[Principal]:
    """The principals of all statements on exactly this entity."""
    statements = state.matrix.snapshot.table.statements.values()
    named = (
        statement.principals
        for statement in statements
        if statement.scope == On(on) and not statement.obliges
    )
    return frozenset[Principal]().union(*named)


def grant_privileges(
    transaction: WriteTransaction, realm: str, to: Principal, grants: Grants
) -> None:
    """Grants the principal privileges on entities; existing grants are not duplicated.

    The caller must ensure that nothing is both allowed and denied.
    """
    transaction.change(realm, *grant_changes(transaction.realm(realm), to, grants))


def grant_changes(state: RealmState, to: Principal, grants: Grants) -> Iterator[Change]:
    """The changes that grant the principal these privileges in addition to its own."""
    for on, granted in grants.items():
        for effect in GRANTING:
            privileges = frozenset(one.privilege for one in granted if one.effect is effect)
            own = _exact_statement(state, to, on, effect)
            if own is None and privileges:
                id = _free_id(state, to, on, effect, ())
                yield StatementAdded(_is_plain_grant(id, to, on, effect, privileges))
            elif own is not None and not privileges <= own.privileges:
                yield StatementAdded(replace(own, privileges=own.privileges | privileges))


def revoke_privileges(
    transaction: WriteTransaction,
    realm: str,
    holder: Principal,
    on: Entity,
    revoked: Iterable[GrantedPrivilege],
) -> None:
    """Revokes privileges on an entity from the principal, in any spelling.

    Privileges that it does not have are ignored.
    """
    state = transaction.realm(realm)
    spelling = spelling_of(state.system.model)
    removed = {GrantedPrivilege(spelling(granted.privilege), granted.effect) for granted in revoked}
    changes: list[Change] = []
    for statement in _naming(state, holder):
        remaining = frozenset(
            privilege
            for privilege in statement.privileges
            if GrantedPrivilege(spelling(privilege), statement.effect) not in removed
        )
        if statement.scope == On(on) and remaining != statement.privileges:
            new = [change.statement.id for change in changes if isinstance(change, StatementAdded)]
            changes += _reduced(state, statement, holder, remaining, new)
    transaction.change(realm, *changes)


def removal_changes(state: RealmState, holders: frozenset[Principal]) -> Iterator[Change]:
    """The changes that remove the principals from all statements."""
    yield from changes_without(state.matrix.snapshot.table.statements.values(), holders)


def changes_without(
    statements: Iterable[Statement], gone: frozenset[Principal]
) -> Iterator[StatementAdded | StatementRemoved]:
    """The changes that remove the principals from these statements, by id."""
    naming = [one for one in statements if not gone.isdisjoint(one.named)]
    for statement in sorted(naming, key=lambda statement: statement.id):
        yield _without_principals(statement, gone)


def _without_principals(
    statement: Statement, gone: frozenset[Principal]
) -> StatementAdded | StatementRemoved:
    """The change that removes the principals from the statement, including from its exceptions.

    A statement about no other principal is removed; so is a filter or a mask, which would otherwise
    apply to everybody.
    """
    others = statement.principals - gone
    if statement.principals and not others and statement.owners is None:
        return StatementRemoved(statement.id)
    exceptions = statement.exceptions - gone
    return StatementAdded(replace(statement, principals=others, exceptions=exceptions))


def replace_grants(
    transaction: WriteTransaction, realm: str, holder: Principal, grants: Grants
) -> None:
    """Replaces all grants to the principal by `grants`; filters and masks stay as they are."""
    given = _naming(transaction.realm(realm), holder)
    transaction.change(realm, *(_without_principals(one, frozenset({holder})) for one in given))
    grant_privileges(transaction, realm, holder, grants)


def spelling_of(model: Model) -> Callable[[str], str]:
    """A function that maps any spelling of a privilege to its present name."""
    return lambda name: model.spelled.get(name, name)


def _reduced(
    state: RealmState,
    statement: Statement,
    holder: Principal,
    remaining: frozenset[str],
    used_ids: Collection[str],
) -> Iterator[Change]:
    """The changes that reduce the statement to `remaining` for `holder` alone.

    `used_ids` are additional ids in use, besides the stored ones.
    """
    others = statement.principals - {holder}
    if others or statement.owners is not None:
        yield StatementAdded(replace(statement, principals=others))
        if remaining and isinstance(statement.scope, On):
            id = _free_id(state, holder, statement.scope.entity, statement.effect, used_ids)
            own = replace(
                statement, id=id, privileges=remaining, principals=frozenset({holder}), owners=None
            )
            yield StatementAdded(own)
    elif remaining:
        yield StatementAdded(replace(statement, privileges=remaining))
    else:
        yield StatementRemoved(statement.id)


def _in_force(state: RealmState, to: Principal) -> list[Statement]:
    """The statements in force that name the principal, by id."""
    snapshot = state.matrix.snapshot
    id = snapshot.coded.memberships.ids.get(to)
    if id is None:
        return []
    table = snapshot.table
    statements = {
        grant.statement.id: grant.statement
        for side in (table.allow, table.deny)
        for grouped in side.values()
        for grant in grouped.by_principal.get(id, ())
    }
    return [statements[id] for id in sorted(statements)]


def _naming(state: RealmState, to: Principal) -> list[Statement]:
    """All statements that name the principal, in force or not, by id."""
    statements = state.matrix.snapshot.table.statements
    naming = (
        statement
        for statement in statements.values()
        if to in statement.principals and not statement.obliges
    )
    return sorted(naming, key=lambda statement: statement.id)


def _exact_statement(
    state: RealmState, to: Principal, on: Entity, effect: Effect
) -> Statement | None:
    """The statement that contains exactly the grants of the principal here."""
    for statement in _in_force(state, to):
        plain = _is_plain_grant(statement.id, to, on, effect, statement.privileges)
        if statement == replace(plain, title=statement.title):
            return statement
    return None


def _is_plain_grant(
    id: str, to: Principal, on: Entity, effect: Effect, privileges: frozenset[str]
) -> Statement:
    """A statement that only grants one principal privileges on one entity."""
    return Statement(
        id=id,
        effect=effect,
        privileges=privileges,
        scope=On(on),
        principals=frozenset({to}),
        title=_local(to.name),
    )


def _free_id(
    state: RealmState, to: Principal, on: Entity, effect: Effect, used_ids: Collection[str]
) -> str:
    """An unused id for such a statement.

    A renamed entity keeps its statements under their old ids, so a new entity with the old name
    needs another id.
    """
    statements = state.matrix.snapshot.table.statements
    id = base = f"{to.name}/{on.type}:{_local(on.name)}/{effect.value}"
    count = 1
    while id in statements or id in used_ids:
        count += 1
        id = f"{base}~{count}"
    return id


def _local(name: str) -> str:
    """The name without its container prefix."""
    return name.partition(":")[2] or name
