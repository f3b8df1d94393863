"""`broad-grant`: one grant over everything there is."""

from __future__ import annotations

from collections.abc import Iterator

from lakewarden.analysis.lint.finding import Found, Rule, Severity
from lakewarden.analysis.lint.lint_context import LintContext, at, words
from lakewarden.kernel.model import Reach
from lakewarden.kernel.statement import Effect, Matching, On, Statement

_DEEP = 2
"""So many levels below the place of a grant a privilege could have been granted instead."""


def _find(context: LintContext) -> Iterator[Found]:
    for statement in context.in_force:
        if statement.effect is not Effect.ALLOW or not statement.principals:
            continue
        match statement.scope:
            case On(entity):
                deep = _deep(context, statement, entity.type)
                if deep:
                    yield Found(
                        at(statement),
                        f"allows {words(deep)} on everything in `{entity.type}:{entity.name}`",
                        "grant it on the containers that are meant; new ones stay closed then",
                    )
            case Matching(type, parts) if len(parts) > 1 and set("".join(parts)) == {"*"}:
                privileges = words(context.privileges(statement))
                yield Found(
                    at(statement),
                    f"allows {privileges} on every {type} of every container",
                    f"name the containers: `{type}:NAME.{'.'.join(parts[1:])}`",
                )


def _deep(context: LintContext, statement: Statement, type: str) -> frozenset[str]:
    """The privileges that could have been granted some levels lower."""
    depth = context.meaning.depth
    if depth(type) > 0:
        return frozenset()
    model = context.model
    return frozenset(
        name
        for name in context.privileges(statement)
        if model.privileges[name].reach is Reach.BELOW
        and any(t in model.types and depth(t) > _DEEP for t in model.privileges[name].on)
    )


RULE = Rule(
    id="broad-grant",
    title="A grant over everything: the whole top container, or a pattern of nothing but stars",
    severity=Severity.WARNING,
    why=(
        "It was meant for what there was, and covers what comes: every new catalog or namespace,"
        " salaries and passwords included, is open to the same from its first moment."
    ),
    mend="Grant on the containers that are meant.",
    source="CDAP authorization reference 5.1.2: wildcards; Gravitino 1.1.0: privilege inheritance",
    find=_find,
    misses="Several grants that cover it all together; criteria that leave hardly anything out.",
)
