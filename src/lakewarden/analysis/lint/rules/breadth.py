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
    title="Grant on a top-level container, or by a pattern of wildcards only",
    severity=Severity.WARNING,
    why="The grant also covers everything created later. A new catalog or namespace is accessible"
    " from the moment it exists, even if it contains salaries or passwords.",
    mend="Grant on the specific containers instead.",
    source="CDAP authorization reference 5.1.2: wildcards; Gravitino 1.1.0: privilege inheritance",
    misses="Does not report several narrower grants that together cover everything, or criteria"
    " that exclude almost nothing.",
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
                        f"allows {joined(deep)} on everything in `{entity}`",
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
    title="Write privilege granted to all users",
    severity=Severity.WARNING,
    why="All users, all groups and all members of a metalake include everyone who can log in:"
    " trainees, contractors and accounts registered later.",
    mend="Grant the privilege to specific groups.",
    source="DataHub documentation, Policies Guide: default policies can and should be altered",
    misses="Does not report groups that contain every user, or statements with a constraint.",
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
                f"grants all users write privileges: {some(opens)}",
                "grant it to the groups that need it, and grant all users only read privileges",
            )


def _is_all(principal: Principal) -> bool:
    is_members = principal.kind == IMPLIED and principal.name.startswith(_MEMBERS)
    return principal in (ALL_USERS, ANY_GROUP) or is_members


def _has_self(model: Model) -> bool:
    return bool(model.self_privileges)


@rule(
    title="Built-in privilege of every user to change their own user entity",
    severity=Severity.NOTE,
    why="The built-in View Self policy grants more than view access. A review of the stored"
    " policies does not show it.",
    mend="Consider it in access reviews; the policy cannot be changed.",
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
    title=f"Administrative role held by more than {MAX_ADMINS} users",
    severity=Severity.NOTE,
    why="Holders of the Admin role can view and change everything, regardless of policies.",
    mend="Assign the role to platform operators only, and grant other users what they need with a"
    " policy.",
    source="DataHub documentation, Policies Guide: roles and VBAC, reserve the Admin role",
    applies=_ships_roles,
    misses="Does not report users who have the same privileges from a policy; see `may-grant`.",
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
                f"grants administrative privileges to {len(users):,} users:"
                f" {some(context.principal(user).name for user in users)}",
                "grant it to platform operators only",
            )


def _grants(model: Model) -> bool:
    return model.granting is not None


@rule(
    title="Privilege whose holders can grant themselves any privilege",
    severity=Severity.WARNING,
    why="Anyone who can assign roles or write policies is effectively an administrator of the"
    " whole system.",
    mend="Restrict the privilege to administrators, and review its holders as administrators.",
    source="DataHub Policies Guide: Manage Policies; Gravitino 1.1.0: MANAGE_GRANTS",
    applies=_grants,
    misses="Does not check who holds the statements and roles that the system ships.",
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
