"""`unfollowed-cycle`: containers or memberships that go in a circle, or too deep."""

from __future__ import annotations

from collections.abc import Iterator

from lakewarden.analysis.lint.finding import Found, Rule, Severity
from lakewarden.analysis.lint.lint_context import LintContext, some
from lakewarden.analysis.lint.place import Place


def _find(context: LintContext) -> Iterator[Found]:
    tree, memberships = context.tree, context.memberships
    circles = [
        (tree.looped & tree.stored, "lie on a circle of containers, and reach only themselves"),
        (tree.deep & tree.stored, "lie too deep, and everything about them is denied"),
    ]
    for ids, says in circles:
        if ids:
            names = some(map(context.entity, ids), len(ids))
            yield Found(
                Place(*tree.entity(ids.min())), f"{names} {says}", "correct their containers"
            )
    looped = sorted({member for member, _ in memberships.inert})
    for members, says in (
        (looped, "are members of themselves, and those memberships are not followed"),
        (sorted(memberships.beyond), "act as something only after too many memberships: denied"),
    ):
        if members:
            found = [context.principal(id) for id in members]
            yield Found(
                Place(found[0].kind, found[0].name),
                f"{some(one.name for one in found)} {says}",
                "take one of the memberships away",
            )


RULE = Rule(
    id="unfollowed-cycle",
    title="Containers or memberships that go in a circle, or too deep",
    severity=Severity.ERROR,
    why="What goes in a circle is stored and not followed: nobody gets through it what was meant.",
    mend="Break the circle.",
    source="lakewarden: cycles and levels; DataHub, ContainerFieldResolverProvider",
    find=_find,
)
