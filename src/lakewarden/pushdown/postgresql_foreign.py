"""The rights of accounts and roles other than ours in a PostgreSQL."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Final

from lakewarden.pushdown.drift import Holdings
from lakewarden.pushdown.foreign_keys import held_through_keys
from lakewarden.pushdown.grants import Grant, Path
from lakewarden.pushdown.owners_rights import held_through
from lakewarden.pushdown.postgresql_objects import descendants, foreign_keys, role_names
from lakewarden.pushdown.postgresql_owners import ways
from lakewarden.pushdown.postgresql_powers import Rows, powers

EVERYONE: Final = "PUBLIC"
_FOREIGN: Final = """
SELECT CASE WHEN acl.grantee = 0 THEN %(everyone)s ELSE pg_get_userbyid(acl.grantee) END,
       path, acl.privilege_type,
       bool_or(acl.is_grantable OR acl.grantor <> owner OR NOT pg_has_role(owner, 'USAGE'))
FROM (
  SELECT ARRAY[]::text[] AS path, coalesce(datacl, acldefault('d', datdba)) AS acl, datdba AS owner
    FROM pg_database WHERE datname = current_database()
  UNION ALL SELECT ARRAY[nspname::text], nspacl, nspowner
    FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema'
  UNION ALL SELECT ARRAY[n.nspname::text, c.relname::text], c.relacl, c.relowner
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'f', 'v', 'm')
      AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
  UNION ALL SELECT ARRAY[n.nspname::text, c.relname::text, a.attname::text], a.attacl, c.relowner
    FROM pg_attribute a
    JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE a.attacl IS NOT NULL AND NOT a.attisdropped
      AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
) held, aclexplode(held.acl) acl
WHERE acl.grantee <> held.owner AND acl.grantee <> ALL(%(ids)s)
GROUP BY acl.grantee, path, acl.privilege_type
UNION ALL
SELECT pg_get_userbyid(owner), path, 'OWNER', true FROM (
  SELECT datdba AS owner, ARRAY[]::text[] AS path
    FROM pg_database WHERE datname = current_database()
  UNION ALL SELECT nspowner, ARRAY[nspname::text]
    FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema'
  UNION ALL SELECT c.relowner, ARRAY[n.nspname::text, c.relname::text]
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE c.relkind IN ('r', 'p', 'f', 'v', 'm')
      AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
) owned
"""
"""The holders of grants, and whether a plain REVOKE of the account leaves some, or revokes more."""

_OTHER_MEMBERS: Final = """
SELECT of.rolname, member.rolname, of.rolcanlogin FROM pg_auth_members m
JOIN pg_roles of ON of.oid = m.roleid
JOIN pg_roles member ON member.oid = m.member
WHERE m.roleid <> ALL(%s)
UNION ALL
SELECT 'pg_database_owner', pg_get_userbyid(datdba), false
FROM pg_database WHERE datname = current_database()
"""
"""With the one member that `pg_database_owner` has without a grant."""

_MEMBERS_OF: Final = """
SELECT of.rolname, member.rolname FROM pg_auth_members m
JOIN pg_roles of ON of.oid = m.roleid
JOIN pg_roles member ON member.oid = m.member
WHERE of.rolname = ANY(%s)
"""


def holdings(rows: Rows, ours: Mapping[int, str], masking: Collection[Path]) -> Holdings:
    """The grants of others than our roles, and their reach by other ways than our masking views."""
    ids, names = list(ours), {*ours.values()}
    members: dict[str, set[str]] = {}
    accounts: set[str] = set()
    for of, member, is_account in rows(_OTHER_MEMBERS, [ids]):
        members.setdefault(of, set()).add(member)
        accounts |= {of} if is_account else set()
    # No role has the name in lower case.
    everyone = EVERYONE.lower() if EVERYONE in role_names(rows) else EVERYONE
    found = rows(_FOREIGN, {"ids": ids, "everyone": everyone})
    granted = [(grantee, Grant(tuple(path), what)) for grantee, path, what, _ in found]
    beyond = list(powers(rows, everyone, names))
    through = list(held_through(ways(rows, everyone, masking), granted))
    held = [*granted, *through]
    beyond += [*through, *held_through_keys(foreign_keys(rows), descendants(rows), held)]
    own = names & {grantee for grantee, _ in beyond}
    for of, member in rows(_MEMBERS_OF, [sorted(own)]):
        members.setdefault(of, set()).add(member)
    return Holdings(
        grants=granted + beyond,
        members={of: frozenset(names) for of, names in members.items()},
        everyone=everyone,
        accounts=frozenset(accounts),
        kept=frozenset(one for one, (*_, is_kept) in zip(granted, found, strict=True) if is_kept),
    )
