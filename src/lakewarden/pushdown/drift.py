"""What others changed in a target since the last push: in what is ours, and beside it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from lakewarden.pushdown.grants import Grant, MaskingView, Path, Roles, RowPolicy

MISSING = "missing"
"""Ours, and somebody took it away."""

ADDED = "added"
"""Somebody added it to what is ours."""

FOREIGN = "foreign"
"""Granted beside what is ours: it is reported, and never touched."""

OWNER = "OWNER"
"""The privilege of whoever owns an object in the target."""


UNLIMITED = frozenset(
    {
        *("SUPERUSER", "BYPASSRLS", "REPLICATION"),
        *("pg_read_all_data", "pg_write_all_data", "pg_maintain"),
        *("pg_read_server_files", "pg_write_server_files", "pg_execute_server_program"),
        *("SUPER", "FILE", "CREATE USER", "REPLICATION SLAVE", "BINLOG MONITOR", "BINLOG REPLAY"),
        *("SET USER", "FEDERATED ADMIN", "SET_USER_ID", "SET_ANY_DEFINER", "ROLE_ADMIN"),
        *("CLONE_ADMIN", "REPLICATION_APPLIER", "SYSTEM_VARIABLES_ADMIN"),
        *("REPLICATION SLAVE ADMIN", "REPLICATION_SLAVE_ADMIN"),
    }
)
"""What a target lets some do whatever they are granted; no realm allows it."""

TO_COME = " ON TABLES TO COME"
SCHEMAS_TO_COME = " ON SCHEMAS TO COME"
"""What a privilege ends with that is given on what somebody makes as soon as it is there."""

ON_PATTERN: Final = " ON PATTERN"
"""What a privilege ends with on a pattern of databases that is no single one."""

THROUGH: Final = " THROUGH "
"""Before what somebody holds a privilege by that they are not granted: see `owners_rights`."""

MEMBER_OF: Final = "MEMBER OF "
PROXY_OF: Final = "PROXY OF "
"""What begins the privilege of whoever may act as another account; no realm allows it.

Roles of ours have none: in which roles others nested them begins with `grants.NESTED_IN`.
"""

NOBODY_LIMITED: Final[Mapping[Path, frozenset[str]]] = {}

_NOBODY: Final[frozenset[str]] = frozenset()
_TABLE: Final = 2
"""The parts of a table's path."""


@dataclass(frozen=True, slots=True, order=True)
class Difference:
    """One thing that is not as it was pushed: a role, or a member, grant, policy or view of it."""

    kind: str
    role: str
    member: str = ""
    grant: Grant | None = None
    policy: RowPolicy | None = None
    view: MaskingView | None = None


@dataclass(frozen=True, slots=True)
class ForeignGrant:
    """A privilege that somebody holds by others than us.

    `users` are those of the realm who have it so; `denied` are those of them to whom the realm
    does not allow it, as far as it decides about privileges of that name.
    """

    grantee: str
    grant: Grant
    users: tuple[str, ...]
    denied: tuple[str, ...]


def differences(pushed: Roles, found: Roles, coming: Roles | None = None) -> Iterator[Difference]:
    """What is not as it was pushed, in order of kinds and roles.

    `coming` are the roles that a push which is not finished leads to.
    """
    before, now = {*_parts(pushed)}, {*_parts(found)}
    after = before if coming is None else {*_parts(coming)}
    missing, added = (before & after) - now, now - (before | after)
    for kind, parts in ((MISSING, missing), (ADDED, added)):
        for part in sorted(parts, key=str):
            yield Difference(kind, *part)


_Part = tuple[str, str, Grant | None, RowPolicy | None, MaskingView | None]


def _parts(roles: Roles) -> Iterator[_Part]:
    for name, role in roles.roles.items():
        yield name, "", None, None, None
        for member in role.members:
            yield name, member, None, None, None
        for grant in role.grants:
            yield name, "", grant, None, None
        for policy in role.policies:
            yield name, "", None, policy, None
        for view in role.views:
            yield name, "", None, None, view


@dataclass(frozen=True, slots=True)
class Holdings:
    """What is granted in a target beside what is ours.

    `members` has the direct members of every role that is not ours; those of them that are
    `accounts` have by themselves what they are granted, too. `everyone` is the grantee that stands
    for all. `kept` are grants that are not taken away alone, or not at all.
    """

    grants: Sequence[tuple[str, Grant]]
    members: Mapping[str, frozenset[str]]
    everyone: str
    kept: frozenset[tuple[str, Grant]] = frozenset()
    accounts: frozenset[str] = frozenset()

    def users_of(self, grantee: str, users: frozenset[str]) -> frozenset[str]:
        """Those of the users who have what is granted to somebody; all, by a role that all have."""
        reached = self.reached(grantee)
        return users if self.everyone in reached else users & reached

    def reached(self, grantee: str) -> frozenset[str]:
        """The grantee, and whoever is a member of it, directly or by others."""
        reached, todo = {grantee}, [grantee]
        while todo:
            for member in self.members.get(todo.pop(), ()):
                if member not in reached:
                    reached.add(member)
                    todo.append(member)
        return frozenset(reached)


def foreign(
    holdings: Holdings,
    users: frozenset[str],
    allowed: Mapping[Grant, frozenset[str]],
    privileges: Collection[str],
    limited: Mapping[Path, frozenset[str]] = NOBODY_LIMITED,
) -> Iterator[ForeignGrant]:
    """What users of the realm have by others, and who of them the realm would not allow it.

    `privileges` are those that the realm decides about. `limited` are the users of whom row
    policies leave rows of a table out: they do not where it is read with the rights of others.
    """
    reach: dict[str, tuple[frozenset[str], tuple[str, ...]]] = {}
    for grantee, grant in holdings.grants:
        if grantee not in reach:
            found = holdings.users_of(grantee, users)
            reach[grantee] = found, tuple(sorted(found))
        held, names = reach[grantee]
        if held:
            act, through, _ = grant.privilege.partition(THROUGH)
            allows = allowed.get(Grant(grant.path, act), _NOBODY)
            if len(grant.path) > _TABLE:  # whoever may do it to a table may to its columns
                allows |= allowed.get(Grant(grant.path[:_TABLE], act), _NOBODY)
            if through:
                allows -= limited.get(grant.path, frozenset())
            denied = tuple(one for one in names if one not in allows) if allows else names
            if not _is_decided(act, privileges):
                denied = ()
            yield ForeignGrant(grantee, grant, names, denied)


def _is_decided(privilege: str, privileges: Collection[str]) -> bool:
    """Whether the realm says who may have it."""
    if privilege.startswith((MEMBER_OF, PROXY_OF)) or privilege == OWNER:
        return True
    plain = privilege.removesuffix(TO_COME).removesuffix(SCHEMAS_TO_COME).removesuffix(ON_PATTERN)
    return privilege in UNLIMITED or plain in privileges
