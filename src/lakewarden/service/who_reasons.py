"""Who may do something, by reason: users who are allowed by the same statements."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Final

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.explain import Explanation, Step, explain
from lakewarden.kernel.implied import is_implied
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.principal import IMPLIED, Principal
from lakewarden.kernel.statement import Effect
from lakewarden.service.cancellation import checked
from lakewarden.service.questions import AuthorizedQuestion, users
from lakewarden.service.role_sets import role_sets

EXPLAINED: Final = 500
"""The most groups of users that are explained; further groups have no reason."""


@dataclass(frozen=True, slots=True)
class WhoReason:
    """Users who are allowed for the same reason.

    `through` are the principals named by the statements through which the users are allowed, or the
    users themselves. No `statements`: ownership allows it, or the reason was not computed.
    """

    through: tuple[Principal, ...]
    statements: tuple[str, ...]
    users: tuple[Principal, ...]


def who_reasons(question: AuthorizedQuestion) -> list[WhoReason]:
    """The allowed users by cause; the cause of most users first."""
    matrix = question.realm.matrix
    users_by_cause: dict[_Cause, list[Principal]] = {}
    explained = 0
    for role_set in checked(role_sets(matrix, users(question))):
        groups: Iterable[Sequence[Principal]] = (role_set.users,)
        first: Explanation | None = None
        if explained < EXPLAINED:
            first = explain(matrix, replace(question.request, principal=role_set.users[0]))
            groups = _by_ownership(matrix, role_set.users, first.rule)
        for place, members in enumerate(groups):
            cause: _Cause = ((), ())
            if first is not None and explained < EXPLAINED:
                explained += 1
                request = replace(question.request, principal=members[0])
                explanation = explain(matrix, request) if place else first
                cause = _cause(matrix, members[0], explanation)
            users_by_cause.setdefault(cause, []).extend(members)
    rows = [
        WhoReason(key[0], key[1], tuple(sorted(names))) for key, names in users_by_cause.items()
    ]
    return sorted(rows, key=lambda row: (-len(row.users), row.through, row.statements))


_Cause = tuple[tuple[Principal, ...], tuple[str, ...]]
"""The principals named by the allowing statements, and these statements."""


def _cause(matrix: Matrix, user: Principal, explanation: Explanation) -> _Cause:
    table = matrix.snapshot.table.statements
    memberships = matrix.snapshot.coded.memberships
    statements = tuple(
        id
        for id in explanation.statements
        if not is_implied(table[id]) and table[id].effect is Effect.ALLOW
    )
    acts_as = {memberships.principals[id] for id in memberships.acts_as(user)}
    named = {principal for id in statements for principal in table[id].principals & acts_as}
    through = sorted(
        principal for principal in named if principal.kind != IMPLIED or len(named) == 1
    )
    return tuple(through), statements


def _by_ownership(
    matrix: Matrix, users: Sequence[Principal], rule: Step | None
) -> Iterable[Sequence[Principal]]:
    """Groups users with equal memberships by what they own of the rule's entities, and how."""
    coded = matrix.snapshot.coded
    ids = {coded.tree.find(entity) for entity in _entities(rule)} - {None}
    owners = [(id, *pair) for id in ids if id is not None for pair in coded.owners.of(id)]
    if not owners:
        return (users,)
    groups: dict[frozenset[tuple[int, int, int]], list[Principal]] = {}
    for user in checked(users):
        acts_as = coded.memberships.acts_as(user)
        groups.setdefault(frozenset(one for one in owners if one[1] in acts_as), []).append(user)
    return groups.values()


def _entities(step: Step | None) -> Iterator[Entity]:
    if step is not None:
        yield from () if step.entity is None else (step.entity,)
        for inner in step.steps:
            yield from _entities(inner)
