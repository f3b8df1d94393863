"""Powers of users in PostgreSQL beyond grants on objects: attributes, built-in roles, accounts.

Our grants do not show them, and they open more than any grant.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any, Final

from lakewarden.pushdown.drift import MEMBER_OF, ON_PARAMETER, SCHEMAS_TO_COME, TO_COME, UNLIMITED
from lakewarden.pushdown.grants import Grant

Rows = Callable[..., list[tuple[Any, ...]]]
"""The rows of a query with its parameters."""

LENT: Final = "the account was granted to others, who would get its rights too"

_LENT: Final = """
SELECT of.rolname, member.rolname
FROM pg_auth_members m
JOIN pg_roles of ON of.oid = m.roleid
JOIN pg_roles member ON member.oid = m.member
WHERE of.rolcanlogin AND (m.inherit_option OR m.set_option)
  AND NOT member.rolsuper AND member.rolname <> current_user
"""
_POWERS: Final = """
SELECT rolname, ARRAY[]::text[], power
FROM pg_roles, LATERAL (VALUES
  ('SUPERUSER', rolsuper), ('BYPASSRLS', rolbypassrls), ('REPLICATION', rolreplication),
  (rolname, rolname = ANY(%(powers)s))
) each (power, is_held) WHERE is_held
UNION ALL
SELECT CASE WHEN acl.grantee = 0 THEN %(everyone)s ELSE pg_get_userbyid(acl.grantee) END,
       CASE WHEN n.oid IS NULL THEN ARRAY[]::text[] ELSE ARRAY[n.nspname::text] END,
       acl.privilege_type || CASE d.defaclobjtype WHEN 'r' THEN %(tables)s ELSE %(schemas)s END
FROM pg_default_acl d
LEFT JOIN pg_namespace n ON n.oid = d.defaclnamespace, aclexplode(d.defaclacl) acl
WHERE d.defaclobjtype IN ('r', 'n') AND acl.grantee <> d.defaclrole
UNION ALL
SELECT CASE WHEN acl.grantee = 0 THEN %(everyone)s ELSE pg_get_userbyid(acl.grantee) END,
       ARRAY[]::text[], acl.privilege_type || %(parameter)s || parname
FROM pg_parameter_acl, aclexplode(paracl) acl
WHERE acl.privilege_type = 'ALTER SYSTEM' AND acl.grantee <> acl.grantor
  AND pg_get_userbyid(acl.grantee) <> ALL(%(ours)s)
"""
"""The last ones are settings of the server, some of which are commands that it executes."""


def accounts_granted_as_roles(rows: Rows) -> Iterator[tuple[str, str]]:
    """Accounts that were granted to others as if they were roles, each with such a grantee.

    The creator of an account may grant it, but is not a grantee until then.
    """
    yield from rows(_LENT)


def powers(rows: Rows, everyone: str, ours: Collection[str]) -> Iterator[tuple[str, Grant]]:
    """The powers that open more than a grant on an object, as grants on the database or a schema.

    Membership in roles of `ours` is not included, even if such a role can log in.
    """
    about = {
        "powers": sorted(UNLIMITED),
        "everyone": everyone,
        "tables": TO_COME,
        "schemas": SCHEMAS_TO_COME,
        "parameter": ON_PARAMETER,
        "ours": sorted(ours),
    }
    for grantee, path, power in rows(_POWERS, about):
        yield grantee, Grant(tuple(path), power)
    for of, member in accounts_granted_as_roles(rows):
        if of not in ours:
            yield member, Grant((), MEMBER_OF + of)
