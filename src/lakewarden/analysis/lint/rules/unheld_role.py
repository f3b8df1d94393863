"""`unheld-role`: a role with privileges that nobody holds."""

from __future__ import annotations

from collections.abc import Iterator

from lakewarden.analysis.lint.finding import Found, Rule, Severity
from lakewarden.analysis.lint.lint_context import LintContext, who
from lakewarden.kernel.principal import ROLE


def _find(context: LintContext) -> Iterator[Found]:
    shipped = {str(table["name"]) for table in context.model.roles}
    counts: dict[int, int] = {}
    for statement in context.in_force:
        for principal in statement.principals:
            if principal.kind == ROLE and principal.name not in shipped:
                id = context.memberships.ids[principal]
                counts[id] = counts.get(id, 0) + 1
    for id, count in sorted(counts.items()):
        if not context.memberships.members.get(id):
            statements = "1 statement" if count == 1 else f"{count:,} statements"
            yield Found(
                who(context.principal(id)),
                f"is held by nobody, and has {statements}",
                "drop the role, or give it to whom it is for",
            )


RULE = Rule(
    id="unheld-role",
    title="A role with privileges that nobody holds",
    severity=Severity.WARNING,
    why="It waits. The first who is given it gets whatever was once thought right for others.",
    mend="Drop the role; it is quickly made again.",
    source="Apache Gravitino 1.1.0, access control page: roles; CDAP reference 5.1.2: roles",
    find=_find,
    misses="Roles without any statement; they open nothing.",
)
