"""DENY: what it removes, and what it does not."""

from __future__ import annotations

from collections.abc import Iterator

from pyroaring import BitMap

from lakewarden.analysis.lint.applicability import denies
from lakewarden.analysis.lint.finding import Severity, Violation, rule
from lakewarden.analysis.lint.lint_context import (
    Bearing,
    LintContext,
    at,
    joined,
    some,
    union,
)
from lakewarden.analysis.lint.privilege_meaning import not_denied
from lakewarden.kernel.statement import Effect


@rule(
    title="ALLOW that a DENY always overrides",
    severity=Severity.WARNING,
    why="A DENY takes precedence at any level. The ALLOW appears to grant access, but has no"
    " effect.",
    mend="Delete either the ALLOW or the DENY.",
    source="Apache Gravitino 1.1.0, access control page: deny takes precedence",
    applies=denies,
    misses="Does not report an ALLOW if the DENY applies only to some of its principals.",
)
def beaten_allow(context: LintContext) -> Iterator[Violation]:
    beaten: dict[str, set[str]] = {}
    for statement, (privilege, grant) in context.bears(Effect.ALLOW):
        stored = context.stored(grant)
        if not stored or not grant.principals or not context.table.denies(privilege).every:
            continue
        if all(
            stored <= context.reach(Effect.DENY, privilege, context.acts_as(principal))
            for principal in grant.principals
        ):
            beaten.setdefault(statement.id, set()).add(privilege)
    for statement in context.in_force:
        if statement.id in beaten:
            names = joined(beaten[statement.id])
            yield Violation(
                at(statement),
                f"allows {names}, which a DENY to the same principals overrides everywhere",
                f"delete the ALLOW of {names}, or the DENY that overrides it",
            )


@rule(
    title="DENY without effect because another privilege permits the same operation",
    severity=Severity.WARNING,
    why="An operation that accepts either of two privileges is denied only if both are denied. For"
    " example, MODIFY_TABLE also permits reading a table, so a DENY of SELECT_TABLE alone does not"
    " prevent it.",
    mend="Deny the other privilege too, or revoke its ALLOW.",
    source="Apache Gravitino 1.1.0, access control page: required conditions for loading a table",
    applies=denies,
    misses="Does not find the other privilege if a denied user has it through another role.",
)
def bypassed_deny(context: LintContext) -> Iterator[Violation]:
    for statement, (privilege, grant) in context.bears(Effect.DENY):
        types = context.meaning.companions(privilege)
        ids = context.stored(grant) & union(context.snapshot.of_type(type) for type in types)
        if not ids or not grant.principals:
            continue
        for other in sorted(context.meaning.stand_ins(privilege)):
            if all(
                _is_allowed_itself(context, other, principal, ids) for principal in grant.principals
            ):
                yield Violation(
                    at(statement),
                    f"denies {privilege}, but {other} remains allowed there and permits the same",
                    f"deny {other} as well, or revoke its ALLOW",
                )


def _is_allowed_itself(context: LintContext, privilege: str, principal: int, ids: BitMap) -> bool:
    """Whether the principal itself is allowed the privilege on all of these, and denied nowhere."""
    roles = context.acts_as(principal)
    allowed = context.reach(Effect.ALLOW, privilege, roles)
    return ids <= allowed and ids.isdisjoint(context.reach(Effect.DENY, privilege, roles))


@rule(
    title="DENY that prevents owners from using what they own",
    severity=Severity.WARNING,
    why="Ownership of a table does not override a DENY on its schema. Owners need the USE"
    " privileges on the containers like any other user, and a DENY overrides every ALLOW.",
    mend="Exclude the owner from the DENY, or change the owner.",
    source="Apache Gravitino 1.1.0, access control page: required conditions of the owner",
    applies=denies,
)
def denied_owner(context: LintContext) -> Iterator[Violation]:
    needs = context.meaning.owner_needs
    owned_by = context.snapshot.owned_by
    for statement, (privilege, grant) in context.bears(Effect.DENY):
        types = [type for type, needed in needs.items() if privilege in needed]
        if not types:
            continue
        ids = context.stored(grant) & union(context.snapshot.of_type(type) for type in types)
        denied = frozenset[int]().union(*map(context.memberships.acting_as, grant.principals))
        for owner in sorted(denied & owned_by.keys()):
            lost = owned_by[owner] & ids
            if lost:
                name = context.principal(owner)
                yield Violation(
                    at(statement),
                    f"denies {privilege} to `{name.kind}:{name.name}`, who owns"
                    f" {some(map(context.entity, lost), len(lost))} and cannot use it",
                    "remove the owner from the role, or transfer the ownership",
                )


@rule(
    title="DENY that changes no user's access",
    severity=Severity.WARNING,
    why="Access that is not allowed is denied by default. The DENY gives a false impression of who"
    " would otherwise have access, and unexpectedly blocks a later grant of the privilege.",
    mend="Delete it. If it is a guard rail, apply it to a role that all affected users hold.",
    source="Apache Gravitino 1.1.0, access control page: privileges are denied by default",
    applies=denies,
    misses="Does not report a DENY of several privileges if it has an effect for one of them.",
    is_mended_by_removal=True,
)
def idle_deny(context: LintContext) -> Iterator[Violation]:
    counts_alone = not_denied(context.model)
    idle: dict[str, set[str]] = {}
    working: set[str] = set()
    for statement, bearing in context.bears(Effect.DENY):
        # Another rule reports principals without users.
        has_users = any(context.users_of(principal) for principal in bearing.grant.principals)
        if not has_users or bearing.privilege in counts_alone or _affects_anyone(context, bearing):
            working.add(statement.id)
        else:
            idle.setdefault(statement.id, set()).add(bearing.privilege)
    for statement in context.in_force:
        if statement.id in idle and statement.id not in working:
            yield Violation(
                at(statement),
                f"denies {joined(idle[statement.id])} to principals who are not allowed it anyway",
                "delete it, or apply it to principals who are allowed it",
            )


def _affects_anyone(context: LintContext, bearing: Bearing) -> bool:
    """Whether any user who is denied the privilege is allowed it on any of the same entities."""
    denied = bearing.grant.principals
    return any(
        grant.owners is not None
        or any(
            context.share_a_user(principal, other)
            for principal in denied
            for other in grant.principals
        )
        for grant in context.overlapping(
            Effect.ALLOW, bearing.privilege, context.ids(bearing.grant)
        )
    )
