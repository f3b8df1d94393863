"""The rights of the account that pushes to a PostgreSQL, and the missing ones with remedies."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from typing import Final

from psycopg import sql
from psycopg.abc import AdaptContext

from lakewarden.pushdown.grants import Path
from lakewarden.pushdown.postgresql_grants import HeldGrant
from lakewarden.pushdown.postgresql_powers import Rows
from lakewarden.service.ports import ServerAccount

_ACCOUNT: Final = """
SELECT current_user, r.rolsuper, r.rolcreaterole, pg_has_role(d.datdba, 'USAGE'), d.datname
FROM pg_roles r, pg_database d
WHERE r.rolname = current_user AND d.datname = current_database()
"""
_OF_OTHERS: Final = """
SELECT pg_get_userbyid(owner), path FROM (
  SELECT nspowner AS owner, ARRAY[nspname::text] AS path FROM pg_namespace
  UNION ALL SELECT c.relowner, ARRAY[n.nspname::text, c.relname::text]
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'f', 'v', 'm')
) owned
WHERE NOT pg_has_role(owner, 'USAGE') AND owner <> 'pg_database_owner'::regrole ORDER BY 1, 2
"""
"""Schemas and tables whose owner the account cannot act as. `pg_database_owner` stands for
the owner of the database."""

_ROLES_OF_OTHERS: Final = """
SELECT r.rolname, (
  SELECT min(maker.rolname) FROM pg_auth_members m JOIN pg_roles maker ON maker.oid = m.member
  WHERE m.roleid = r.oid AND m.admin_option AND m.grantor = 10 AND maker.rolcreaterole)
FROM pg_roles r
WHERE r.oid = ANY(%s) AND NOT pg_has_role(r.oid, 'MEMBER WITH ADMIN OPTION') ORDER BY 1
"""
"""Roles that the account does not administer, each with the account that made it, if known."""

_CLOSED: Final = """
SELECT ARRAY[n.nspname::text, c.relname::text]
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
WHERE c.relrowsecurity AND NOT EXISTS (SELECT FROM pg_policy WHERE polrelid = c.oid)
  AND EXISTS (SELECT FROM aclexplode(c.relacl) acl WHERE acl.grantee = ANY(%s)) ORDER BY 1
"""
"""Tables in which our roles see no rows, whatever they are granted."""

_MAY_IDENTIFY: Final = "SELECT has_function_privilege('pg_control_system()', 'EXECUTE')"
_ACTS_AS: Final = """
SELECT 1 FROM pg_control_system() server JOIN pg_roles own ON pg_has_role(own.oid, 'MEMBER')
WHERE server.system_identifier::text = %s AND own.rolname = %s
"""


class AccountRights:
    """The account of a connection."""

    def __init__(self, rows: Rows, context: AdaptContext) -> None:
        self._rows, self._context = rows, context
        ((self._name, self._is_super, self._may_create, self._owns, self._database),) = rows(
            _ACCOUNT
        )

    def missing(self, paths: Collection[Path], ours: Collection[int]) -> Iterator[str]:
        """The missing rights for a push to these paths, with remedies; `ours` are our roles."""
        me = self._quoted(self._name)
        if not (self._is_super or self._may_create):
            yield f"it may not create roles: ALTER ROLE {me} CREATEROLE"
        if not self._owns:
            gives = f"ALTER DATABASE {self._quoted(self._database)} OWNER TO {me}"
            yield f"it does not own the database: {gives}"
        found: dict[str, list[Path]] = {}
        for owner, path in self._rows(_OF_OTHERS):
            if tuple(path) in paths:
                found.setdefault(owner, []).append(tuple(path))
        for owner, own in found.items():
            what = (
                f"it is no member of {self._quoted(owner)}, which owns {len(own)} of the catalog's"
            )
            example = self._quoted(*own[0])
            gives = f"GRANT {self._quoted(owner)} TO {me}"
            yield f"{what} schemas and tables, such as {example}: {gives}"
        yield from self._not_administered(ours)

    def _not_administered(self, ours: Collection[int]) -> Iterator[str]:
        """Roles that another account of the target made."""
        by_maker: dict[str | None, list[str]] = {}
        for role, maker in self._rows(_ROLES_OF_OTHERS, [[*ours]]):
            by_maker.setdefault(maker, []).append(role)
        me = self._quoted(self._name)
        for maker, roles in by_maker.items():
            what = f"it does not administer {len(roles)} of lakewarden's roles, such as"
            gives = f"GRANT {', '.join(map(self._quoted, roles))} TO {me} WITH ADMIN OPTION"
            if maker is not None:
                gives = f"GRANT {self._quoted(maker)} TO {me}"
            yield f"{what} {self._quoted(roles[0])}: {gives}"

    def warnings(self, granted: Iterable[HeldGrant], ours: Collection[int]) -> Iterator[str]:
        """The excessive rights of the account, and the grants in `granted` that it cannot revoke.

        Also the tables in which our roles see no rows despite their grants.
        """
        if self._is_super:
            what = "the account is a superuser, which a push does not need"
            yield f"{what}: give the target its own account"
        irrevocable: dict[str, list[HeldGrant]] = {}
        for one in granted:
            if one.is_stuck:
                irrevocable.setdefault(one.grantor, []).append(one)
        for grantor, own in sorted(irrevocable.items()):
            what = f"it cannot revoke what {self._quoted(grantor)} granted to lakewarden's roles"
            example = f"{own[0].privilege} on {own[0].kind} {own[0].object} to `{own[0].role}`"
            follows = "a push creates the role again, and the old role stays without members"
            yield f"{what}, such as {example}: {follows}"
        closed = [self._quoted(*path) for (path,) in self._rows(_CLOSED, [[*ours]])]
        if closed:
            what = (
                f"only owners see rows of {len(closed)} tables that lakewarden's roles are granted"
            )
            why = "row security is on, and there is no policy"
            gives = f"ALTER TABLE {closed[0]} DISABLE ROW LEVEL SECURITY"
            yield f"{what}, such as {closed[0]}, because {why}; if this is not intended: {gives}"

    def acts_as(self, account: ServerAccount) -> bool:
        """Whether it is this account, or may act as it, such as a superuser."""
        ((may_ask,),) = self._rows(_MAY_IDENTIFY)
        return may_ask and bool(self._rows(_ACTS_AS, [account.server, account.name]))

    def _quoted(self, *names: str) -> str:
        return sql.Identifier(*names).as_string(self._context)
