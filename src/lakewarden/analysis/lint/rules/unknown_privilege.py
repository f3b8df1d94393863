"""`unknown-privilege`: a privilege that the system does not have."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from lakewarden.analysis.lint.finding import Found, Rule, Severity
from lakewarden.analysis.lint.lint_context import LintContext, at, some


def _find(context: LintContext) -> Iterator[Found]:
    known = list(context.model.privileges)
    for statement, strange in context.unknown:
        near = get_close_matches(strange[0].upper(), known, n=1)
        yield Found(
            at(statement),
            f"names {some(strange)}, which {context.model.title} does not have",
            f"did you mean {near[0]}?"
            if near
            else "`lakewarden operations --privileges` lists them",
        )


RULE = Rule(
    id="unknown-privilege",
    title="A privilege that the system does not have",
    severity=Severity.ERROR,
    why="It allows nothing, and what was meant is not allowed either.",
    mend="Correct the name.",
    source="DataHub documentation, Policies Guide: list of privileges",
    find=_find,
    misses=(
        "Stored statements cannot hold such a word; rows on their way in can. What an ingestion"
        " left out stands in its report."
    ),
)
