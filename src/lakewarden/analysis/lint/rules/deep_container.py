"""`deep-container`: assets shown by a container at the top of a deep chain."""

from __future__ import annotations

from collections.abc import Iterator

from pyroaring import BitMap

from lakewarden.analysis.lint.finding import Found, Rule, Severity
from lakewarden.analysis.lint.lint_context import LintContext, at, values_of
from lakewarden.analysis.lint.rules.domain_boundary import shows
from lakewarden.kernel.entity import Entity

CONTAINER = "CONTAINER"


def _find(context: LintContext) -> Iterator[Found]:
    types = context.model.fields[CONTAINER].up if CONTAINER in context.model.fields else ()
    for statement in context.policies:
        if not context.privileges(statement) & context.meaning.seeing:
            continue
        for name in values_of(statement, CONTAINER):
            ids = (context.tree.find(Entity(type, name)) for type in types)
            inside = [context.tree.subtree(id) - BitMap([id]) for id in ids if id is not None]
            # Containers in a container: a database with schemas, not a schema with tables.
            if any(found & context.snapshot.of_type(t) for found in inside for t in types):
                yield Found(
                    at(statement),
                    f"shows assets by `{name}`, a container of containers",
                    "let owners see, or name the innermost containers",
                )


RULE = Rule(
    id="deep-container",
    title="Assets that are shown by a container with containers inside",
    severity=Severity.WARNING,
    why=(
        "The original walks from table to schema to database for every check. And a database is a"
        " technical boundary: what somebody puts into it tomorrow is shown to the same people."
    ),
    mend="Choose by owner, tag or term; else by the innermost container.",
    source="DataHub documentation, Policies Guide: container-based policies on deep chains",
    find=_find,
    applies=shows,
)
