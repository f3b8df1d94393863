"""Users, groups and roles that policies name."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from pyroaring import BitMap

from lakewarden.analysis.lint.finding import Severity, Violation, rule
from lakewarden.analysis.lint.lint_context import LintContext, at, principal_place, some
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.model import Model
from lakewarden.kernel.principal import GROUP, ROLE, USER, Principal, members_of

MAX_STATEMENTS_OF_GROUP = 20
"""More statements than this about one group are too many."""
MAX_GROUPS_OF_USER = 15
"""More groups than this for one user are too many."""
MAX_GROUPS_OF_STATEMENT = 5
"""More groups than this in one statement are too many."""


@rule(
    title=f"Group in more than {MAX_STATEMENTS_OF_GROUP} statements",
    severity=Severity.NOTE,
    why="It is no longer clear which access membership in the group provides.",
    mend="Consolidate the statements, or split the group.",
    source="DataHub documentation, Policies Guide: groups listed in many policies",
)
def busy_group(context: LintContext) -> Iterator[Violation]:
    counts: Counter[Principal] = Counter()
    for statement in context.in_force:
        counts.update(p for p in statement.principals if p.kind == GROUP)
    for principal, count in sorted(counts.items()):
        if count > MAX_STATEMENTS_OF_GROUP:
            yield Violation(
                principal_place(principal),
                f"is in {count:,} statements",
                "consolidate them, or split the group by task",
            )


@rule(
    title=f"User in more than {MAX_GROUPS_OF_USER} groups with privileges",
    severity=Severity.NOTE,
    why="Users accumulate groups when they change jobs, and each group makes every check in the"
    " original system slower.",
    mend="Reduce overlapping groups, and let the identity provider remove outdated memberships.",
    source="DataHub documentation, Policies Guide: review group membership",
)
def crowded_user(context: LintContext) -> Iterator[Violation]:
    memberships = context.memberships
    is_named = {
        id
        for side in (context.table.allow, context.table.deny)
        for grouped in side.values()
        for id in grouped.by_principal
        if context.principal(id).kind == GROUP
    }
    users = [id for id in memberships.of if context.principal(id).kind == USER]
    for user in sorted(users):
        groups = sorted(is_named & context.acts_as(user))
        if len(groups) > MAX_GROUPS_OF_USER:
            names = (context.principal(group).name for group in groups)
            yield Violation(
                principal_place(context.principal(user)),
                f"is in {len(groups)} groups that have privileges: {some(names)}",
                "remove the user from groups of earlier jobs",
            )


@rule(
    title="Group without members that has privileges, or role that only such groups hold",
    severity=Severity.WARNING,
    why="The first user added to the group, often by a remote identity provider, receives all its"
    " privileges without a review.",
    mend="Remove the statements or the group, or synchronize memberships from the identity"
    " provider.",
    source="DataHub documentation, Policies Guide: groups, sync from your IdP when possible",
    misses="Also reports groups whose members only the identity provider knows.",
)
def empty_group(context: LintContext) -> Iterator[Violation]:
    memberships = context.memberships
    named: dict[int, list[str]] = {}
    for statement in context.in_force:
        for principal in statement.principals:
            if principal.kind in (GROUP, ROLE):
                named.setdefault(memberships.ids[principal], []).append(statement.id)
    for id in sorted(named):
        principal = context.principal(id)
        members = memberships.members.get(id, ())
        if context.users_of(id) or (principal.kind == ROLE and not members):
            continue
        if principal.kind == ROLE:
            groups = (context.principal(id).name for id in members)
            says = f"is held only by {some(groups)}, which have no members"
        else:
            says = f"has no members, and is named by {some(named[id])}"
        yield Violation(
            principal_place(principal),
            says,
            "revoke its privileges, or add the missing members",
        )


@rule(
    title=f"Statement that lists more than {MAX_GROUPS_OF_STATEMENT} groups",
    severity=Severity.WARNING,
    why="For each new team, someone must remember to decide whether to add it to the list, and"
    " this is often forgotten.",
    mend="Create one group for each access boundary.",
    source="DataHub documentation, Policies Guide: groups, one group per policy boundary",
)
def many_groups(context: LintContext) -> Iterator[Violation]:
    for statement in context.in_force:
        groups = sorted(p.name for p in statement.principals if p.kind == GROUP)
        if len(groups) > MAX_GROUPS_OF_STATEMENT:
            yield Violation(
                at(statement),
                f"lists {len(groups)} groups: {some(groups)}",
                "create one group for this boundary, with the members of these groups",
            )


def _has_members(model: Model) -> bool:
    return bool(model.membership_types)


@rule(
    title="Principal that holds a role without being a user of its metalake",
    severity=Severity.WARNING,
    why="Every operation requires membership in the metalake. Without it, no privilege has an"
    " effect.",
    mend="Add the user to the metalake, or revoke the role.",
    source="Apache Gravitino 1.1.0, access control page: users are added to a metalake",
    applies=_has_members,
    misses="Reports a group as a note if some of its members are users of the metalake.",
)
def outsider(context: LintContext) -> Iterator[Violation]:
    memberships = context.memberships
    roles = (id for id in memberships.members if context.principal(id).kind == ROLE)
    for id in sorted(roles):
        principal = context.principal(id)
        container = principal.name.partition(":")[0]
        container_members = memberships.ids.get(members_of(container))
        known = any(context.is_stored(Entity(t, container)) for t in context.model.membership_types)
        if container_members is None or not known:
            continue
        holders = context.users_of(id)
        outside = holders - context.users_of(container_members)
        if outside:
            names = (context.principal(user).name for user in sorted(outside))
            # A group may hold a role for those few of its members who are users there.
            direct = outside & BitMap(memberships.members[id])
            yield Violation(
                principal_place(principal),
                f"is held by {some(names)}, who {'is' if len(outside) == 1 else 'are'} not in"
                f" `{container}`, and therefore denied everything",
                f"add them to `{container}`, or revoke the role",
                Severity.WARNING if direct or outside == holders else Severity.NOTE,
            )


@rule(
    title="Statement for individual users instead of a group",
    severity=Severity.WARNING,
    why="It remains when the users change jobs, their successors do not get it, and each new user"
    " requires another one. In systems without criteria, the severity is note.",
    mend="Use groups, synchronized from the identity provider.",
    source="DataHub documentation, Policies Guide: groups; anti-patterns, one policy per user",
)
def per_user_policy(context: LintContext) -> Iterator[Violation]:
    severity = Severity.WARNING if context.model.choosing else Severity.NOTE
    for statement in context.in_force:
        principals = statement.principals
        if principals and statement.owners is None and all(p.kind == USER for p in principals):
            yield Violation(
                at(statement),
                f"applies to individual users: {some(sorted(p.name for p in principals))}",
                "create a group for their task, and grant to that group",
                severity,
            )


@rule(
    title="Role with privileges but without holders",
    severity=Severity.WARNING,
    why="The first principal to receive the role gets all its privileges, which were chosen for"
    " other users and may be outdated.",
    mend="Drop the role; it is easy to recreate.",
    source="Apache Gravitino 1.1.0, access control page: roles; CDAP reference 5.1.2: roles",
    misses="Does not report roles without statements, which grant nothing.",
)
def unheld_role(context: LintContext) -> Iterator[Violation]:
    shipped = context.model.role_names
    counts: dict[int, int] = {}
    for statement in context.in_force:
        for principal in statement.principals:
            if principal.kind == ROLE and principal.name not in shipped:
                id = context.memberships.ids[principal]
                counts[id] = counts.get(id, 0) + 1
    for id, count in sorted(counts.items()):
        if not context.memberships.members.get(id):
            statements = "1 statement" if count == 1 else f"{count:,} statements"
            yield Violation(
                principal_place(context.principal(id)),
                f"has {statements}, but no holders",
                "drop the role, or assign it",
            )
