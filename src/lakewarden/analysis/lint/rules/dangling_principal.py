"""`dangling-principal`: somebody who is named and not stored."""

from __future__ import annotations

from collections.abc import Iterator

from lakewarden.analysis.lint.estate import Estate, some, who
from lakewarden.analysis.lint.finding import Found, Rule, Severity
from lakewarden.kernel.principal import IMPLIED


def _find(estate: Estate) -> Iterator[Found]:
    acting = estate.acting
    kinds = {estate.principal(id).kind for id in acting.stored}
    named: dict[int, list[str]] = {}
    for statement in estate.in_force:
        for principal in statement.principals:
            named.setdefault(acting.ids[principal], []).append(f"statement {statement.id}")
    for member, groups in acting.of.items():
        if groups:
            named.setdefault(member, []).append("a membership")
    for owner in estate.snapshot.owned_by:
        named.setdefault(owner, []).append("an owner")
    for id in sorted(named):
        principal = estate.principal(id)
        if id in acting.stored or principal.kind == IMPLIED or principal.kind not in kinds:
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
