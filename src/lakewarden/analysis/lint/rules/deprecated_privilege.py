"""`deprecated-privilege`: a privilege by an older name, or one that is on its way out."""

from __future__ import annotations

from collections.abc import Iterator

from lakewarden.analysis.lint.finding import Found, Rule, Severity
from lakewarden.analysis.lint.lint_context import LintContext, some
from lakewarden.analysis.lint.place import Place

_FLAG = "deprecated"


def _find(context: LintContext) -> Iterator[Found]:
    model = context.model
    named: dict[str, list[str]] = {}
    for statement in context.in_force:
        for word in () if statement.id in context.shipped else statement.privileges:
            named.setdefault(word, []).append(statement.id)
    for word in sorted(named):
        privilege = model.privilege(word)
        stands = f"stands in {some(named[word])}"
        if privilege.name != word:
            yield Found(
                Place("privilege", word),
                f"is an older name of {privilege.name}, and {stands}",
                f"write {privilege.name}",
            )
        elif _FLAG in privilege.flags:
            yield Found(
                Place("privilege", word),
                f"is deprecated, and {stands}",
                "leave it out of new statements, and take it out of these in time",
            )


RULE = Rule(
    id="deprecated-privilege",
    title="A privilege by its older name, or one that is deprecated",
    severity=Severity.NOTE,
    why="It counts today. Another release of the system may not know it any more.",
    mend="Use the present name.",
    source="Gravitino 1.1.0: CREATE_MODEL; DataHub Policies Guide: footnotes of the tables",
    find=_find,
)
