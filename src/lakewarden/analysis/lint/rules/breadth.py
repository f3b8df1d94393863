"""Grants with a wider reach than needed."""

from __future__ import annotations

from collections.abc import Iterator

from lakewarden.analysis.lint.finding import Severity, Violation, rule
from lakewarden.analysis.lint.lint_context import LintContext, at, joined, principal_place, some
from lakewarden.analysis.lint.place import Place
from lakewarden.kernel.model import Model, Reach
from lakewarden.kernel.principal import ALL_USERS, ANY_GROUP, IMPLIED, ROLE, Principal
from lakewarden.kernel.statement import Effect, Matching, On, Statement

_BROAD_LEVELS = 2
"""A grant is broad if its privilege could have been granted this many levels lower."""
_MEMBERS = "members:"
MAX_ADMINS = 10
"""More users than this with one such role are too many."""


@rule(
    title="A grant on everything: on a top-level container, or a pattern of wildcards only",
    severity=Severity.WARNING,
    why="It was meant for what there was, and covers what comes: every new catalog or namespace,"
    " salaries and passwords included, is open to the same from its first moment.",
    mend="Grant on the containers that are meant.",
    source="CDAP authorization reference 5.1.2: wildcards; Gravitino 1.1.0: privilege inheritance",
    misses="Several grants that cover it all together; criteria that leave hardly anything out.",
)
def broad_grant(context: LintContext) -> Iterator[Violation]:
    for statement in context.in_force:
        if statement.effect is not Effect.ALLOW or not statement.principals:
            continue
        match statement.scope:
            case On(entity):
                deep = _deep(context, statement, entity.type)
                if deep:
                    yield Violation(
                        at(statement),
                        f"allows {joined(deep)} on everything in `{entity.type}:{entity.name}`",
                        "grant it on the intended containers, so that new ones stay closed",
                    )
            case Matching(type, parts) if len(parts) > 1 and set("".join(parts)) == {"*"}:
                privileges = joined(context.privileges(statement))
                yield Violation(
                    at(statement),
                    f"allows {privileges} on every {type} of every container",
                    f"name the containers: `{type}:NAME.{'.'.join(parts[1:])}`",
                )


def _deep(context: LintContext, statement: Statement, type: str) -> frozenset[str]:
    """The privileges that could have been granted several levels lower."""
    depth = context.meaning.depth
    if depth(type) > 0:
        return frozenset()
    model = context.model
    return frozenset(
        name
        for name in context.privileges(statement)
        if model.privileges[name].reach is Reach.BELOW
        and any(t in model.types and depth(t) > _BROAD_LEVELS for t in model.privileges[name].on)
    )


@rule(
    title="A privilege to change something that all users have",
    severity=Severity.WARNING,
    why="All users, all groups and all members of a metalake are everybody who logs in: trainees,"
    " contractors, whoever registers next.",
    mend="Give it to groups.",
    source="DataHub documentation, Policies Guide: default policies can and should be altered",
    misses="Groups that everybody is in. Statements with a constraint.",
)
def everyone_may_write(context: LintContext) -> Iterator[Violation]:
    changing = context.meaning.changing
    for statement in context.in_force:
        if statement.effect is not Effect.ALLOW or not any(map(_is_all, statement.principals)):
            continue
        opens = sorted(context.privileges(statement) & changing)
        if opens and statement.constraint is None:
            yield Violation(
                at(statement),
                f"lets all users change things: {some(opens)}",
                "grant it to the groups that need it; leave all users read privileges only",
            )


def _is_all(principal: Principal) -> bool:
    is_members = principal.kind == IMPLIED and principal.name.startswith(_MEMBERS)
    return principal in (ALL_USERS, ANY_GROUP) or is_members


def _has_self(model: Model) -> bool:
    return bool(model.self_privileges)


@rule(
    title="What every user may do on their own user entity",
    severity=Severity.NOTE,
    why="A built-in policy named View Self holds more than viewing. Reviews that read the stored"
    " policies do not show it.",
    mend="Nothing; it cannot be changed.",
    source="DataHub, PoliciesConfig.getDefaultPolicies",
    applies=_has_self,
)
def implicit_self(context: LintContext) -> Iterator[Violation]:
    implicit = context.model.self_privileges & context.meaning.changing
    if implicit:
        yield Violation(
            Place("realm", context.model.name),
            f"every user has {joined(implicit)} on their own user entity, which no policy grants or"
            " revokes",
            "consider this where policies select by attributes of user entities",
        )


def _ships_roles(model: Model) -> bool:
    return bool(model.roles)


@rule(
    title=f"A role that administers, held by more than {MAX_ADMINS} users",
    severity=Severity.NOTE,
    why="Whoever holds Admin sees and changes everything, whatever the policies say.",
    mend="Reserve it for platform operators; a policy can give the others what they need.",
    source="DataHub documentation, Policies Guide: roles and VBAC, reserve the Admin role",
    applies=_ships_roles,
    misses="Whoever was given the same by a policy; see `may-grant`.",
)
def many_admins(context: LintContext) -> Iterator[Violation]:
    for id in sorted(context.memberships.members):
        role = context.principal(id)
        alone = frozenset({id})
        granting = sorted(context.meaning.granting)
        if role.kind != ROLE or not any(
            context.reach(Effect.ALLOW, name, alone) for name in granting
        ):
            continue
        users = context.users_of(id)
        if len(users) > MAX_ADMINS:
            yield Violation(
                principal_place(role),
                f"administers, and {len(users):,} users hold it:"
                f" {some(context.principal(user).name for user in users)}",
                "grant it to platform operators only",
            )


def _grants(model: Model) -> bool:
    return model.granting is not None


@rule(
    title="A privilege whose holders can grant themselves everything",
    severity=Severity.WARNING,
    why="Whoever hands out roles or writes policies is, in effect, an administrator of it all.",
    mend="Leave it to the few who administer, and review them as such.",
    source="DataHub Policies Guide: Manage Policies; Gravitino 1.1.0: MANAGE_GRANTS",
    applies=_grants,
    misses="Statements and roles that the system ships; who holds those is not looked at.",
)
def may_grant(context: LintContext) -> Iterator[Violation]:
    granting = context.meaning.granting
    for statement in context.in_force:
        named = context.privileges(statement) & granting
        if statement.effect is not Effect.ALLOW or not named or not statement.principals:
            continue
        ids = {context.memberships.ids[principal] for principal in statement.principals}
        users = frozenset[int]().union(*map(context.users_of, ids))
        if users:
            people = (context.principal(user).name for user in sorted(users))
            yield Violation(
                at(statement),
                f"allows {joined(named)}: {some(people)} may grant anything to any principal,"
                " including themselves",
                "grant it to owners and administrators only",
            )
