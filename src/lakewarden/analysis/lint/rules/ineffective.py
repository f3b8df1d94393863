"""Statements that have no effect."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime

from pyroaring import BitMap

from lakewarden.analysis.lint.applicability import TYPE
from lakewarden.analysis.lint.finding import Severity, Violation, rule
from lakewarden.analysis.lint.lint_context import (
    Bearing,
    LintContext,
    at,
    criteria_of,
    joined,
    union,
)
from lakewarden.analysis.lint.privilege_meaning import Way
from lakewarden.analysis.lint.rules.references import missing
from lakewarden.kernel.model import Model, Reach
from lakewarden.kernel.statement import Anything, Effect, Matching, On, Statement, Where


@rule(
    title="Statement without principals or without privileges",
    severity=Severity.WARNING,
    why="The statement is stored and displayed, but has no effect. The usual cause in DataHub is"
    " an empty list of ownership types, which matches no owner rather than every owner.",
    mend="Add principals and privileges, or delete the statement.",
    source="DataHub, PolicyEngine (resourceOwnersTypes); Policies Guide, Actors",
    is_mended_by_removal=True,
)
def empty_statement(context: LintContext) -> Iterator[Violation]:
    for statement in context.in_force:
        owners = statement.owners
        if not statement.principals and (owners is None or owners.types == frozenset()):
            yield Violation(
                at(statement),
                "has no principals: no user, group or role, and no owner of any ownership type",
                "name the principals; without ownership types it applies to owners of every type",
            )
        elif not statement.privileges:
            yield Violation(at(statement), "has no privileges", "add a privilege, or delete it")


@rule(
    title="Expired statement that is still stored",
    severity=Severity.WARNING,
    why="It has no effect now, but takes effect again if its date is changed or a clock is wrong.",
    mend="Delete it.",
    source="lakewarden: validity windows",
    is_mended_by_removal=True,
)
def expired_statement(context: LintContext) -> Iterator[Violation]:
    for statement in context.statements:
        end = statement.valid_until
        if end is None or not statement.active:
            continue
        if statement.valid_from is not None and statement.valid_from >= end:
            yield Violation(
                at(statement),
                "ends before it begins, and never takes effect",
                "correct `valid_from` or `valid_until`",
            )
        elif end <= context.now:
            yield Violation(
                at(statement),
                f"expired on {_date(end)}",
                "delete it; the audit trail keeps what it did",
            )


def _date(moment: float) -> str:
    try:
        return datetime.fromtimestamp(moment, UTC).date().isoformat()
    except (OverflowError, ValueError, OSError):
        return f"second {moment:,.0f}"


@rule(
    title="Privilege that no operation requires on the granted type",
    severity=Severity.NOTE,
    why="The grant is accepted but permits no operation. In CDAP, its only effect is to make the"
    " entity visible.",
    mend="Grant the privilege on a type to which it applies.",
    source="the operations of the model",
    misses="Does not report privileges that are checked only by name, not through an operation.",
)
def idle_privilege(context: LintContext) -> Iterator[Violation]:
    for statement in context.in_force:
        type = _type_of(statement)
        if type is None:
            continue
        types = {type, *context.meaning.below(type)}
        required = frozenset().union(*map(context.meaning.asked_for, types))
        idle = {
            name
            for name in context.privileges(statement)
            if not context.model.privileges[name].asked
            and name
            not in (required if _reaches(context, name) else context.meaning.asked_for(type))
        }
        if idle:
            yield Violation(
                at(statement),
                f"allows {joined(idle)}, which no operation on a {type} requires",
                f"remove {joined(idle)}, or grant it on a type to which it applies",
            )


def _type_of(statement: Statement) -> str | None:
    match statement.scope:
        case On(entity):
            return entity.type
        case Matching(type, _):
            return type
        case _:
            return None


def _reaches(context: LintContext, privilege: str) -> bool:
    return context.model.privileges[privilege].reach is Reach.BELOW


@rule(
    title="Inactive or unfinished statement that is still stored",
    severity=Severity.WARNING,
    why="A single click or a bulk update reactivates it, possibly long after its purpose has been"
    " forgotten.",
    mend="Delete it. If it may be needed again, keep an export.",
    source="DataHub documentation, Policies Guide: troubleshooting; states INACTIVE and DRAFT",
    misses="Does not report statements that the system ships: deactivating them is how they are"
    " replaced.",
    is_mended_by_removal=True,
)
def inactive_leftover(context: LintContext) -> Iterator[Violation]:
    for statement in context.statements:
        if statement.active or statement.id in context.shipped:
            continue
        scope = statement.scope
        is_wide = isinstance(scope, (Anything, Where)) and not criteria_of(statement)
        wide = is_wide and statement.owners is None and statement.effect is Effect.ALLOW
        yield Violation(
            at(statement),
            "is not active" + (", and would apply to everything if it were active" * wide),
            "delete it, or state in its title when to activate it",
        )


def inherits_nothing(model: Model) -> bool:
    """For rules about systems with containers in which no grant reaches inside."""
    contains = any(type.parents for type in model.types.values())
    granted = [p for p in model.privileges.values() if p.grantable]
    return contains and not model.choosing and all(p.reach is Reach.EXACTLY for p in granted)


@rule(
    title="Grant on a container without access to its contents",
    severity=Severity.WARNING,
    why="CDAP privileges are not inherited. ADMIN on a namespace applies to the namespace only,"
    " not to its datasets and programs.",
    mend="Grant on the contents with a pattern, if access to them is intended.",
    source="CDAP authorization reference 5.1.2: privileges on a parent are not inherited",
    applies=inherits_nothing,
    misses="Does not report holders who have some of the intended access to the contents, but not"
    " all.",
)
def not_inherited(context: LintContext) -> Iterator[Violation]:
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
            yield Violation(
                at(statement),
                f"applies only to `{scope.entity}`: the same principals"
                f" have no access to the {len(inside):,} entities inside it",
                "grant on the contents with a pattern such as"
                f" `dataset:{scope.entity.name}.*`, or document why access is not intended",
            )


def inherits(model: Model) -> bool:
    """For rules about systems in which grants on containers reach their contents."""
    return any(p.reach is Reach.BELOW and p.grantable for p in model.privileges.values())


@rule(
    title="Privilege without effect because the USE privileges on the containers are missing",
    severity=Severity.WARNING,
    why="SELECT_TABLE has an effect only with USE_CATALOG and USE_SCHEMA on the containers of the"
    " table. Without them, the grant appears in every list but permits no reads.",
    mend="Grant the missing USE privileges, or delete the grant.",
    source="Apache Gravitino 1.1.0, access control page: required conditions",
    applies=inherits,
    misses="Combines the privileges of all holders, so it does not report users who each hold only"
    " some of the required ones. Does not check for DENYs on the containers.",
)
def unreachable_privilege(context: LintContext) -> Iterator[Violation]:
    for statement, bearing in context.bears(Effect.ALLOW):
        principals = [p for p in sorted(bearing.grant.principals) if context.users_of(p)]
        lacking = [_lacks(context, bearing, principal) for principal in principals]
        if lacking and all(lacking):
            needed = joined(frozenset[str]().union(*lacking))
            yield Violation(
                at(statement),
                f"allows {bearing.privilege} to principals without {needed} there, so it has"
                " no effect",
                f"allow {needed} on the containers as well, or delete it",
            )


def _lacks(context: LintContext, bearing: Bearing, principal: int) -> frozenset[str]:
    """What no user with the principal has there; empty if the grant opens something."""
    privilege, grant = bearing
    ids = context.stored(grant)
    lacking: frozenset[str] = frozenset()
    for type, ways in context.meaning.companions(privilege).items():
        ids_of_type = ids & context.snapshot.of_type(type)
        if not ids_of_type:
            continue
        for way in ways:
            missing = _missing(context, way, principal, ids_of_type)
            if not missing:
                return frozenset()
            lacking = missing if not lacking or len(missing) < len(lacking) else lacking
    return lacking


def _missing(context: LintContext, way: Way, principal: int, ids: BitMap) -> frozenset[str]:
    """The further privileges of the way that no such user has on any of the entities."""
    open_to = ids
    absent: set[str] = set()
    for name in sorted(way):
        reached = _reached(context, name, principal, ids)
        open_to = open_to & reached
        if not reached:
            absent.add(name)
    return frozenset(absent) if absent or open_to else way


def _reached(context: LintContext, privilege: str, principal: int, ids: BitMap) -> BitMap:
    """The entities on which any user with the principal has the privilege."""
    reached = ids & context.reach(Effect.ALLOW, privilege, context.acts_as(principal))
    if reached == ids:
        return reached
    for grant in context.overlapping(Effect.ALLOW, privilege, ids):
        if any(context.share_a_user(principal, other) for other in grant.principals):
            reached |= context.ids(grant) & ids
            if len(reached) == len(ids):
                break
    return reached


@rule(
    title="Statement whose pattern or criteria match no stored entity",
    severity=Severity.WARNING,
    why="The pattern or criteria are wrong, or the intended entities no longer exist. An entity"
    " created later that matches is accessible immediately, when the reason for the grant may be"
    " forgotten. In CDAP, the containers that the pattern names are visible already.",
    mend="Correct the pattern or criteria, or delete the statement.",
    source="CDAP authorization reference 5.1.2, wildcards; DataHub Policies Guide, Resources",
    misses="Does not report policies that select only by type. Leaves statements that name an"
    " entity that is not stored to `dangling-entity`. Also reports intentional grants on entities"
    " that do not exist yet.",
    is_mended_by_removal=True,
)
def vacuous_scope(context: LintContext) -> Iterator[Violation]:
    for statement in context.in_force if context.tree.stored else ():
        bearings = context.bearings.get(statement.id, ())
        if not bearings or not _chooses_by_more(context, statement):
            continue
        if any(context.stored(bearing.grant) for bearing in bearings):
            continue
        # Other rules report missing names and empty values.
        has_values = all(criterion.values for criterion in criteria_of(statement))
        if has_values and next(missing(context, statement), None) is None:
            yield Violation(
                at(statement),
                "matches no stored entity",
                "correct the pattern or the criteria, or delete it until an entity matches",
            )


def _chooses_by_more(context: LintContext, statement: Statement) -> bool:
    """Whether it selects by more than the type: a type may have no entities yet."""
    if statement.id in context.shipped:
        return False
    types = context.model.types
    by_more = any(
        criterion.field != TYPE or not types.keys() >= set(criterion.values)
        for criterion in criteria_of(statement)
    )
    return isinstance(statement.scope, Matching) or by_more
