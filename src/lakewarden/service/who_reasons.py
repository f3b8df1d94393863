"""Who may do something, by reason: users who are allowed it by the same statements."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from lakewarden.kernel.explain import explain
from lakewarden.kernel.implied import is_implied
from lakewarden.kernel.principal import IMPLIED, Principal
from lakewarden.kernel.statement import Effect
from lakewarden.service.cancellation import checked
from lakewarden.service.questions import AuthorizedQuestion, users
from lakewarden.service.role_sets import role_sets

EXPLAINED: Final = 500
"""So many role sets are explained; the users of more have no reason told."""


@dataclass(frozen=True, slots=True)
class WhoReason:
    """Users who may for one reason.

    `through` are those of the principals that the statements name who bring it to them, or the
    users themselves. No `statements`: it comes from ownership, or was not worked out.
    """

    through: tuple[Principal, ...]
    statements: tuple[str, ...]
    users: tuple[Principal, ...]


def who_reasons(question: AuthorizedQuestion) -> list[WhoReason]:
    """The allowed users by cause; the cause of most users first."""
    matrix = question.realm.matrix
    table = matrix.snapshot.table.statements
    memberships = matrix.snapshot.coded.memberships
    users_by_cause: dict[tuple[tuple[Principal, ...], tuple[str, ...]], list[Principal]] = {}
    for place, role_set in enumerate(checked(role_sets(matrix, users(question)))):
        statements: tuple[str, ...] = ()
        through: tuple[Principal, ...] = ()
        user = role_set.users[0]
        if place < EXPLAINED:
            explanation = explain(matrix, replace(question.request, principal=user))
            statements = tuple(
                id
                for id in explanation.statements
                if not is_implied(table[id]) and table[id].effect is Effect.ALLOW
            )
            acts_as = {memberships.principals[id] for id in memberships.acts_as(user)}
            named = {principal for id in statements for principal in table[id].principals & acts_as}
            through = tuple(
                sorted(
                    principal for principal in named if principal.kind != IMPLIED or len(named) == 1
                )
            )
        users_by_cause.setdefault((through, statements), []).extend(role_set.users)
    rows = [
        WhoReason(key[0], key[1], tuple(sorted(names))) for key, names in users_by_cause.items()
    ]
    return sorted(rows, key=lambda row: (-len(row.users), row.through, row.statements))
