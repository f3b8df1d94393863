"""`dangling-principal`: somebody who is named and not stored."""

from __future__ import annotations

from collections.abc import Iterator

from lakewarden.analysis.lint.finding import Found, Rule, Severity
from lakewarden.analysis.lint.lint_context import LintContext, some, who
from lakewarden.kernel.principal import IMPLIED


def _find(context: LintContext) -> Iterator[Found]:
    memberships = context.memberships
    kinds = {context.principal(id).kind for id in memberships.stored}
    named: dict[int, list[str]] = {}
    for statement in context.in_force:
        for principal in statement.principals:
            named.setdefault(memberships.ids[principal], []).append(f"statement {statement.id}")
    for member, groups in memberships.of.items():
        if groups:
            named.setdefault(member, []).append("a membership")
    for owner in context.snapshot.owned_by:
        named.setdefault(owner, []).append("an owner")
    for id in sorted(named):
        principal = context.principal(id)
        if id in memberships.stored or principal.kind == IMPLIED or principal.kind not in kinds:
            continue
        yield Found(
            who(principal),
            f"is named by {some(named[id])}, and is not stored",
            f"correct the name, or add the {principal.kind}",
        )


RULE = Rule(
    id="dangling-principal",
    title="A user, group or role that is named and not stored",
    severity=Severity.WARNING,
    why=(
        "Misspelt, or gone and still named. Whoever is given that name next finds privileges and"
        " possessions waiting."
    ),
    mend="Correct the name, or remove what names it.",
    source="DataHub, PolicyEngine: actors that were never ingested match; design of the kernel",
    find=_find,
    misses="Kinds of which nobody at all is stored: there the people were not read.",
)
