"""`not-inherited`: a grant on a container in a system where nothing inside inherits it."""

from __future__ import annotations

from collections.abc import Iterator

from pyroaring import BitMap

from lakewarden.analysis.lint.finding import Found, Rule, Severity
from lakewarden.analysis.lint.lint_context import LintContext, at, union
from lakewarden.kernel.model import Model, Reach
from lakewarden.kernel.statement import Effect, On


def inherits_nothing(model: Model) -> bool:
    """The rule speaks about systems that contain, and in which no grant reaches inside."""
    contains = any(type.parents for type in model.types.values())
    granted = [p for p in model.privileges.values() if p.grantable]
    return contains and not model.fields and all(p.reach is Reach.EXACTLY for p in granted)


def _find(context: LintContext) -> Iterator[Found]:
    for statement in context.in_force:
        scope = statement.scope
        if statement.effect is not Effect.ALLOW or not isinstance(scope, On):
            continue
        id = context.tree.find(scope.entity)
        if id is None or not context.bearings.get(statement.id):
            continue
        inside = (context.tree.subtree(id) & context.tree.stored) - BitMap([id])
        holders = frozenset(context.bearings[statement.id][0].grant.principals)
        if not inside or not holders:
            continue
        reached = union(
            context.reach(Effect.ALLOW, name, holders)
            for name, privilege in context.model.privileges.items()
            if privilege.grantable
        )
        if inside.isdisjoint(reached):
            yield Found(
                at(statement),
                f"reaches `{scope.entity.type}:{scope.entity.name}` alone: nothing of the"
                f" {len(inside):,} inside it is open to the same",
                "grant on what is inside, with a pattern such as"
                f" `dataset:{scope.entity.name}.*`, or leave a note why not",
            )


RULE = Rule(
    id="not-inherited",
    title="A grant on a container whose holder has nothing inside it",
    severity=Severity.WARNING,
    why=(
        "In CDAP nothing is inherited: ADMIN on a namespace is ADMIN on the namespace, and on no"
        " dataset or program in it."
    ),
    mend="Grant what is inside by pattern, or do not expect it.",
    source="CDAP authorization reference 5.1.2: privileges on a parent are not inherited",
    find=_find,
    applies=inherits_nothing,
    misses="Holders who have something, but not all that was meant, inside.",
)
