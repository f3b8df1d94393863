"""`role-overrides-views`: a role that shows everything, where views are restricted."""

from __future__ import annotations

from collections.abc import Iterator

from lakewarden.analysis.lint.finding import Found, Rule, Severity
from lakewarden.analysis.lint.lint_context import LintContext, some, union, who
from lakewarden.analysis.lint.rules.domain_boundary import shows
from lakewarden.analysis.lint.rules.view_by_type import is_restricted
from lakewarden.kernel.principal import ROLE
from lakewarden.kernel.statement import Effect


def _find(context: LintContext) -> Iterator[Found]:
    if not is_restricted(context):
        return
    meaning, memberships = context.meaning, context.memberships
    assets = union(context.snapshot.of_type(type) for type in meaning.assets)
    for id in sorted(memberships.members):
        role = context.principal(id)
        if role.kind != ROLE or not assets:
            continue
        alone = frozenset({id})
        seen = union(context.reach(Effect.ALLOW, name, alone) for name in meaning.seeing)
        # Who may write policies administers; such a role is for that.
        administers = any(context.reach(Effect.ALLOW, name, alone) for name in meaning.granting)
        if assets <= seen and not administers:
            yield from _held(context, id)


def _held(context: LintContext, id: int) -> Iterator[Found]:
    members = [context.principal(one) for one in sorted(context.memberships.members[id])]
    if members:
        yield Found(
            who(context.principal(id)),
            f"shows everything, whatever policies by domain or owner say, to"
            f" {some(one.name for one in members)}",
            "take the role away where less is to be seen; a policy can give the rest of it",
        )


RULE = Rule(
    id="role-overrides-views",
    title="Reader or Editor for somebody, where policies restrict what is seen",
    severity=Severity.WARNING,
    why=(
        "The policies of these roles have no resource filter: who holds one sees every entity, and"
        " all the policies by domain and by owner are for nothing."
    ),
    mend="Do not assign Reader or Editor to those whose view is to be restricted.",
    source="DataHub documentation, Policies Guide: roles and VBAC; anti-patterns",
    find=_find,
    applies=shows,
    misses="Roles that may write policies: Admin is for platform operators.",
)
