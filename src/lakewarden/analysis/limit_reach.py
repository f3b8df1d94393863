"""Whom row filters and column masks bind, and on what; and who is affected when they change."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Literal, NamedTuple

import numpy as np
from pyroaring import BitMap

from lakewarden.analysis.lint.lint_context import LintContext, union
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.grants import Grant
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.statement import Effect, Statement

Way = Literal["less", "more", "other"]
"""Whether a user sees less of rows and values, more, or different ones."""


class LimitChange(NamedTuple):
    """The effect of a change of one filter or mask for some users on some entities.

    The entities are tables; for a mask, its columns if they are stored. `owners`: owners are
    bound or exempted separately, and are not distinguished here.
    """

    statement: Statement
    way: Way
    users: tuple[Principal, ...]
    entities: int
    sample: Entity
    owners: bool


def in_force(context: LintContext) -> Iterator[Grant]:
    """The filters and masks in force now."""
    for effect in (Effect.FILTER, Effect.MASK):
        yield from context.table.obligations(effect)


def bound_users(context: LintContext, grant: Grant) -> BitMap:
    """The stored users whom a filter or a mask binds, ignoring owners."""
    named = users_of(context, grant.principals) if grant.statement.principals else context.users
    return named - users_of(context, grant.exceptions)


def users_of(context: LintContext, principals: Iterable[int]) -> BitMap:
    """The users who act as any of the principals."""
    return union(context.users_of(id) for id in principals)


def with_rows(context: LintContext) -> BitMap:
    """The stored entities that have rows, or are columns."""
    return _of_types(context, is_column=False) | _of_types(context, is_column=True)


def limited_entities(context: LintContext, grant: Grant) -> BitMap:
    """The stored tables that a filter limits; for a mask its columns, or the tables without any."""
    stored = context.stored(grant)
    tables = stored & _of_types(context, is_column=False)
    if grant.statement.effect is Effect.FILTER:
        return tables
    return (stored & _of_types(context, is_column=True)) or tables


def reach_of(context: LintContext, statement: Statement) -> tuple[BitMap, BitMap]:
    """The users whom a filter or a mask binds now, and what it limits; empty if not in force."""
    grants = context.table.obligations(statement.effect)
    grant = next((one for one in grants if one.statement.id == statement.id), None)
    if grant is None:
        return BitMap(), BitMap()
    return bound_users(context, grant), limited_entities(context, grant)


def limit_changes(
    was: Statement | None, now: Statement | None, before: LintContext, after: LintContext
) -> Iterator[LimitChange]:
    """Who sees less, more or different rows and values after `now` replaces `was`.

    At least one of them must be a filter or a mask. `before` and `after` are the realm before and
    after the change.
    """
    old_users, old = _translated(was, before, after)
    new_users, new = (BitMap(), BitMap()) if now is None else reach_of(after, now)
    both = old_users & new_users
    statement = now or was
    if statement is None:
        return
    is_other = was is not None and now is not None and was.expression != now.expression
    lines: list[tuple[Way, BitMap, BitMap]] = [
        ("less", new_users - old_users, new),
        ("less", both, new - old),
        ("more", old_users - new_users, old),
        ("more", both, old - new),
        ("other", both if is_other else BitMap(), old & new),
    ]
    owners = any(one and (one.owners or one.except_owners) for one in (was, now))
    for way, users, entities in lines:
        if users and entities:
            people = tuple(sorted(map(after.principal, users)))
            sample = after.tree.entity(entities.min())
            yield LimitChange(statement, way, people, len(entities), sample, owners)


def _translated(
    statement: Statement | None, before: LintContext, after: LintContext
) -> tuple[BitMap, BitMap]:
    """The reach of a statement in `before`, in the numbers of `after`."""
    if statement is None:
        return BitMap(), BitMap()
    users, entities = reach_of(before, statement)
    if before.memberships is not after.memberships:
        ids = after.memberships.ids
        principals = map(before.principal, users)
        users = BitMap([ids[principal] for principal in principals if principal in ids])
    if before.tree is not after.tree:
        found = (after.tree.find(before.tree.entity(id)) for id in entities)
        entities = BitMap([id for id in found if id is not None])
    return users, entities


def _of_types(context: LintContext, *, is_column: bool) -> BitMap:
    types, tree = context.model.types, context.tree
    codes = [
        code
        for kind, code in tree.codes.items()
        if kind in types and (types[kind].masked if is_column else types[kind].filtered)
    ]
    return BitMap(np.flatnonzero(np.isin(tree.types, codes)).astype(np.uint32)) & tree.stored
