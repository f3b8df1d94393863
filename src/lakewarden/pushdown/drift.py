"""Drift: what others changed in a target since the last push, in our roles and beside them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from lakewarden.pushdown.grants import TABLE_DEPTH, Grant, MaskingView, Path, Roles, RowPolicy

MISSING = "missing"
"""It is ours, and somebody removed it."""

ADDED = "added"
"""Somebody added it to our roles."""

FOREIGN = "foreign"
"""Granted outside our roles: it is reported and never changed."""

OWNER = "OWNER"
"""The privilege that the owner of an object in the target has."""


UNLIMITED = frozenset(
    {
        *("SUPERUSER", "BYPASSRLS", "REPLICATION", "ALTER SYSTEM"),
        *("SUPER", "FILE", "CREATE USER", "REPLICATION SLAVE", "BINLOG MONITOR", "BINLOG REPLAY"),
        *("SET USER", "FEDERATED ADMIN", "CONNECTION ADMIN"),
        *("SET_USER_ID", "SET_ANY_DEFINER", "ROLE_ADMIN"),
        *("CLONE_ADMIN", "REPLICATION_APPLIER", "SYSTEM_VARIABLES_ADMIN"),
        *("REPLICATION SLAVE ADMIN", "REPLICATION_SLAVE_ADMIN"),
    }
)
"""Powers in a target that are independent of grants on objects; no realm allows them.

Beside these, the predefined roles of PostgreSQL are such powers.
"""

PREDEFINED: Final = "pg_"
"""The prefix that PostgreSQL reserves for its predefined roles."""

PREDEFINED_WITHOUT_DATA: Final = frozenset(
    {
        *("pg_checkpoint", "pg_signal_backend", "pg_signal_autovacuum_worker"),
        "pg_use_reserved_connections",
        "pg_stat_scan_tables",  # shows sizes and locks
        "pg_create_subscription",  # a subscription writes only what its owner may write
        "pg_monitor",  # its members are also members of the roles that it consists of
        "pg_database_owner",  # its only member is the owner of the database
    }
)
"""Predefined roles that by themselves show or change no data, no queries and no passwords.

All others do, and one of a later version is assumed to. Those that only seem not to:
`pg_read_all_stats` shows the queries of others with their values, and `pg_read_all_settings` shows
the password by which a standby reads everything (`primary_conninfo`).
"""

TO_COME = " ON TABLES TO COME"
SCHEMAS_TO_COME = " ON SCHEMAS TO COME"
"""The suffix of a privilege on the objects that a user will create, from their creation on."""

ON_PARAMETER: Final = " ON PARAMETER "
"""Precedes a setting of the server that a user may change for everybody, such as a command that it
executes."""

EXECUTE_FUNCTION: Final = "EXECUTE ON SERVER FUNCTION "
"""The prefix of the privilege to execute a function of the server that not everybody may execute,
such as one that reads its files."""

ON_PATTERN: Final = " ON PATTERN"
"""The suffix of a privilege on a pattern of databases that matches more than one."""

THROUGH: Final = " THROUGH "
"""Precedes the object through which a user has a privilege without a grant: see `owners_rights`."""

MEMBER_OF: Final = "MEMBER OF "
PROXY_OF: Final = "PROXY OF "
"""The prefix of the privilege to act as another account; no realm allows it.

Our roles have none. If others nested one of our roles in a role, that begins with
`grants.NESTED_IN`.
"""

NOBODY_LIMITED: Final[Mapping[Path, frozenset[str]]] = {}

_NOBODY: Final[frozenset[str]] = frozenset()


@dataclass(frozen=True, slots=True, order=True)
class Difference:
    """One deviation from the last push: a role, or a member, grant, policy or view of it."""

    kind: str
    role: str
    member: str = ""
    grant: Grant | None = None
    policy: RowPolicy | None = None
    view: MaskingView | None = None


@dataclass(frozen=True, slots=True)
class ForeignGrant:
    """A privilege that somebody holds through others than us.

    `users` are the users of the realm who hold it; `denied` are those of them to whom the realm
    does not allow it, if the realm decides about privileges of that name.
    """

    grantee: str
    grant: Grant
    users: tuple[str, ...]
    denied: tuple[str, ...]


def differences(pushed: Roles, found: Roles, coming: Roles | None = None) -> Iterator[Difference]:
    """The deviations from the last push, in order of kinds and roles.

    `coming` are the roles that result from an unfinished push.
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
    """The grants in a target outside our roles.

    `members` has the direct members of every role that is not ours. A member in `accounts` also
    has grants of its own. `everyone` is the grantee that stands for all users. `kept` are grants
    that cannot be revoked alone, or not at all.
    """

    grants: Sequence[tuple[str, Grant]]
    members: Mapping[str, frozenset[str]]
    everyone: str
    kept: frozenset[tuple[str, Grant]] = frozenset()
    accounts: frozenset[str] = frozenset()

    def users_of(self, grantee: str, users: frozenset[str]) -> frozenset[str]:
        """The users who have the grants of a grantee; all users, if everyone is a member of it."""
        reached = self.reached(grantee)
        return users if self.everyone in reached else users & reached

    def reached(self, grantee: str) -> frozenset[str]:
        """The grantee and its direct and indirect members."""
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
    """The privileges that users of the realm hold through others, and the users denied them.

    `privileges` are those that the realm decides about. `limited` are the users from whom row
    policies hide rows of a table: the policies do not apply when it is read with others' rights.
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
            if len(grant.path) > TABLE_DEPTH:  # a right on a table covers its columns
                allows |= allowed.get(Grant(grant.path[:TABLE_DEPTH], act), _NOBODY)
            if through:
                allows -= limited.get(grant.path, frozenset())
            denied = tuple(one for one in names if one not in allows) if allows else names
            if not _is_decided(act, privileges):
                denied = ()
            yield ForeignGrant(grantee, grant, names, denied)


def _is_decided(privilege: str, privileges: Collection[str]) -> bool:
    """Whether the realm decides about the privilege."""
    if privilege.startswith((MEMBER_OF, PROXY_OF, EXECUTE_FUNCTION, PREDEFINED)):
        return True
    if privilege == OWNER:
        return True
    plain = privilege.removesuffix(TO_COME).removesuffix(SCHEMAS_TO_COME).removesuffix(ON_PATTERN)
    return privilege.partition(ON_PARAMETER)[0] in UNLIMITED or plain in privileges
