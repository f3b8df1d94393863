"""`denied-owner`: a DENY that shuts owners out of what they own."""

from __future__ import annotations

from collections.abc import Iterator

from lakewarden.analysis.lint.finding import Found, Rule, Severity
from lakewarden.analysis.lint.lint_context import LintContext, at, some, union
from lakewarden.analysis.lint.rules.beaten_allow import denies
from lakewarden.kernel.statement import Effect


def _find(context: LintContext) -> Iterator[Found]:
    needs = context.meaning.owner_needs
    owned_by = context.snapshot.owned_by
    for statement, (privilege, grant) in context.bears(Effect.DENY):
        types = [type for type, needed in needs.items() if privilege in needed]
        if not types:
            continue
        ids = context.stored(grant) & union(context.snapshot.of_type(type) for type in types)
        denied = frozenset[int]().union(*map(context.memberships.acting_as, grant.principals))
        for owner in sorted(denied & owned_by.keys()):
            lost = owned_by[owner] & ids
            if lost:
                name = context.principal(owner)
                yield Found(
                    at(statement),
                    f"denies {privilege} to `{name.kind}:{name.name}`, who owns"
                    f" {some(map(context.entity, lost), len(lost))} and can do nothing with it",
                    "take the owner out of the role, or give what is owned to somebody else",
                )


RULE = Rule(
    id="denied-owner",
    title="A DENY that shuts owners out of what they own",
    severity=Severity.WARNING,
    why=(
        "Owning a table does not help against a DENY on its schema: owners need the USE"
        " privileges of the containers like everybody else, and a DENY beats every ALLOW."
    ),
    mend="Take the owner out of whatever is denied, or change the owner.",
    source="Apache Gravitino 1.1.0, access control page: required conditions of the owner",
    find=_find,
    applies=denies,
)
