"""`idle-privilege`: a privilege that no operation asks for on what it was granted on."""

from __future__ import annotations

from collections.abc import Iterator

from lakewarden.analysis.lint.finding import Found, Rule, Severity
from lakewarden.analysis.lint.lint_context import LintContext, at, words
from lakewarden.kernel.model import Reach
from lakewarden.kernel.statement import Matching, On, Statement


def _find(context: LintContext) -> Iterator[Found]:
    for statement in context.in_force:
        type = _type(statement)
        if type is None:
            continue
        types = {type, *context.meaning.below(type)}
        asked = frozenset().union(*map(context.meaning.asked_for, types))
        idle = {
            name
            for name in context.privileges(statement)
            if not context.model.privileges[name].asked
            and name not in (asked if _reaches(context, name) else context.meaning.asked_for(type))
        }
        if idle:
            yield Found(
                at(statement),
                f"allows {words(idle)}, for which no operation on a {type} asks",
                f"take {words(idle)} out, or grant it on what it is for",
            )


def _type(statement: Statement) -> str | None:
    match statement.scope:
        case On(entity):
            return entity.type
        case Matching(type, _):
            return type
        case _:
            return None


def _reaches(context: LintContext, privilege: str) -> bool:
    return context.model.privileges[privilege].reach is Reach.BELOW


RULE = Rule(
    id="idle-privilege",
    title="A privilege that no operation asks for on what it was granted on",
    severity=Severity.NOTE,
    why="It can be granted there, and opens nothing but, in CDAP, the sight of the entity.",
    mend="Grant it on what it is for.",
    source="the operations of the model",
    find=_find,
    misses="Privileges that are asked for only by their bare names.",
)
