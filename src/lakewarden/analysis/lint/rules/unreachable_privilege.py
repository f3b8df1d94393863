"""`unreachable-privilege`: a privilege whose holders lack what it needs beside it."""

from __future__ import annotations

from collections.abc import Iterator

from pyroaring import BitMap

from lakewarden.analysis.lint.finding import Found, Rule, Severity
from lakewarden.analysis.lint.lint_context import Bearing, LintContext, at, words
from lakewarden.analysis.lint.privilege_meaning import Way
from lakewarden.kernel.model import Model, Reach
from lakewarden.kernel.statement import Effect


def inherits(model: Model) -> bool:
    """The rule speaks about systems in which grants on containers reach what is inside."""
    return any(p.reach is Reach.BELOW and p.grantable for p in model.privileges.values())


def _find(context: LintContext) -> Iterator[Found]:
    for statement, bearing in context.bears(Effect.ALLOW):
        principals = [p for p in sorted(bearing.grant.principals) if context.users_of(p)]
        lacking = [_lacks(context, bearing, principal) for principal in principals]
        if lacking and all(lacking):
            needed = words(frozenset[str]().union(*lacking))
            yield Found(
                at(statement),
                f"allows {bearing.privilege} to whom {needed} is not allowed there, so it opens"
                " nothing",
                f"allow {needed} on the containers as well, or delete it",
            )


def _lacks(context: LintContext, bearing: Bearing, principal: int) -> frozenset[str]:
    """What nobody has there who acts as the principal; empty where something is opened."""
    privilege, grant = bearing
    ids = context.stored(grant)
    lacking: frozenset[str] = frozenset()
    for type, ways in context.meaning.companions(privilege).items():
        there = ids & context.snapshot.of_type(type)
        if not there:
            continue
        for way in ways:
            missing = _missing(context, way, principal, there)
            if not missing:
                return frozenset()
            lacking = missing if not lacking or len(missing) < len(lacking) else lacking
    return lacking


def _missing(context: LintContext, way: Way, principal: int, there: BitMap) -> frozenset[str]:
    """Of what else the way needs, what nobody concerned has on any of the entities."""
    open_to = there
    absent: set[str] = set()
    for name in sorted(way):
        reached = _reached(context, name, principal, there)
        open_to = open_to & reached
        if not reached:
            absent.add(name)
    return frozenset(absent) if absent or open_to else way


def _reached(context: LintContext, privilege: str, principal: int, there: BitMap) -> BitMap:
    """On which of the entities anybody has the privilege who acts as the principal."""
    reached = there & context.reach(Effect.ALLOW, privilege, context.acts_as(principal))
    if reached == there:
        return reached
    for grant in context.overlapping(Effect.ALLOW, privilege, there):
        if any(context.go_together(principal, other) for other in grant.principals):
            reached |= context.ids(grant) & there
            if len(reached) == len(there):
                break
    return reached


RULE = Rule(
    id="unreachable-privilege",
    title="A privilege that opens nothing, because the USE privileges above it are missing",
    severity=Severity.WARNING,
    why=(
        "SELECT_TABLE opens a table only to whom USE_CATALOG and USE_SCHEMA open the way to it."
        " Without them the grant is shown in every list, and nothing can be read through it."
    ),
    mend="Grant what the way there needs, or delete the grant.",
    source="Apache Gravitino 1.1.0, access control page: required conditions",
    find=_find,
    applies=inherits,
    misses=(
        "Users who have one part of the way each: what all holders have is taken together."
        " DENYs on the way are not looked at."
    ),
)
