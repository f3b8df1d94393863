"""`dangling-entity`: a statement that names an entity which is not stored."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches

from lakewarden.analysis.lint.finding import Found, Rule, Severity
from lakewarden.analysis.lint.lint_context import LintContext, at, criteria_of, some
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.statement import Condition, On, Statement

_LOOKED_AT = 5_000
"""Neighbours among which a name that was meant is looked for."""


def _find(context: LintContext) -> Iterator[Found]:
    for statement in context.in_force:
        names = list(dict.fromkeys(missing(context, statement)))
        if names:
            near = _near(context, statement)
            yield Found(
                at(statement),
                f"names {some(names)}, which {'is' if len(names) == 1 else 'are'} not stored",
                f"did you mean `{near}`?" if near else "name what is there now, or delete it",
            )


def missing(context: LintContext, statement: Statement) -> Iterator[str]:
    """What the statement names and nobody stored, as it is written."""
    scope = statement.scope
    if isinstance(scope, On):
        if not context.is_stored(scope.entity):
            yield f"{scope.entity.type}:{scope.entity.name}"
        return
    for criterion in criteria_of(statement):
        if criterion.condition is not Condition.STARTS_WITH:
            types = _types(context, criterion.field)
            for value in criterion.values if types else ():
                if not any(context.is_stored(Entity(type, value)) for type in types):
                    yield value


def _types(context: LintContext, field: str) -> frozenset[str]:
    """The types of what a field's values name; none where they name no entity for sure."""
    declared = context.model.fields[field]
    found = set(declared.itself | declared.up)
    for origin in declared.origin:
        if origin in context.model.relations:
            found |= context.model.relations[origin].targets
    # Where nothing of a type is stored, that type was not read at all.
    return frozenset(found) if any(context.snapshot.of_type(t) for t in found) else frozenset()


def _near(context: LintContext, statement: Statement) -> str:
    """A stored entity beside the missing one that is spelt almost like it."""
    if not isinstance(statement.scope, On):
        return ""
    entity = statement.scope.entity
    parent = context.coded.spelling.parent(entity)
    above = None if parent is None else context.tree.find(parent)
    if above is None:
        return ""
    beside = context.tree.subtree(above) & context.snapshot.of_type(entity.type)
    names = [context.tree.names[id] for id in beside[:_LOOKED_AT]]
    near = get_close_matches(entity.name, names, n=1, cutoff=0.85)
    return f"{entity.type}:{near[0]}" if near else ""


RULE = Rule(
    id="dangling-entity",
    title="A statement that names an entity which is not stored",
    severity=Severity.WARNING,
    why=(
        "A name that was misspelt, renamed or dropped. Where names are judged before they are"
        " stored (CDAP, DataHub) the statement counts: whoever makes that name opens it."
    ),
    mend="Name what is there now, or delete the statement.",
    source="CDAP authorization reference 5.1.2: privileges are granted beforehand",
    find=_find,
    misses=(
        "Values of STARTS_WITH, of URN and of TYPE; fields whose entities were not read at all."
        " A grant made on purpose before its entity is created is found, too."
    ),
)
