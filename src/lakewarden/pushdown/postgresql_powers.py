"""Powers of users in PostgreSQL beyond grants on objects: attributes, built-in roles, accounts.

Our grants do not show them, and they open more than any grant.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator
from typing import Any, Final

from lakewarden.pushdown.drift import (
    EXECUTE_FUNCTION,
    MEMBER_OF,
    ON_PARAMETER,
    PREDEFINED,
    PREDEFINED_WITHOUT_DATA,
    SCHEMAS_TO_COME,
    TO_COME,
)
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
  (rolname, starts_with(rolname, %(predefined)s) AND rolname <> ALL(%(harmless)s))
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
UNION ALL
SELECT CASE WHEN acl.grantee = 0 THEN %(everyone)s ELSE pg_get_userbyid(acl.grantee) END,
       ARRAY[]::text[], %(function)s || p.oid::regprocedure::text
FROM pg_init_privs first
JOIN pg_proc p ON p.oid = first.objoid,
  aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) acl
WHERE first.classoid = 'pg_proc'::regclass
  AND acl.grantee <> p.proowner AND pg_get_userbyid(acl.grantee) <> ALL(%(ours)s)
  AND NOT EXISTS (SELECT FROM aclexplode(first.initprivs) own WHERE own.grantee IN (0, acl.grantee))
UNION ALL
SELECT CASE WHEN acl.grantee = 0 THEN %(everyone)s ELSE pg_get_userbyid(acl.grantee) END,
       acl.path, acl.privilege_type
FROM (
  SELECT c.oid, 0 AS number, ARRAY[n.nspname::text, c.relname::text] AS path, each.*
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace, aclexplode(c.relacl) each
  WHERE n.nspname IN ('pg_catalog', 'pg_toast') AND each.grantee <> c.relowner
  UNION ALL
  SELECT c.oid, a.attnum, ARRAY[n.nspname::text, c.relname::text, a.attname::text], each.*
  FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid
  JOIN pg_namespace n ON n.oid = c.relnamespace, aclexplode(a.attacl) each
  WHERE n.nspname IN ('pg_catalog', 'pg_toast') AND each.grantee <> c.relowner
) acl
WHERE pg_get_userbyid(acl.grantee) <> ALL(%(ours)s) AND NOT EXISTS (
  SELECT FROM pg_init_privs first, aclexplode(first.initprivs) own
  WHERE first.classoid = 'pg_class'::regclass AND first.objoid = acl.oid
    AND first.objsubid IN (0, acl.number)
    AND own.grantee IN (0, acl.grantee) AND own.privilege_type = acl.privilege_type)
"""
"""The last three are settings of the server, some of which are commands that it executes, and
grants on functions and tables of the server that a new database does not have. Among these are
functions that read its files, and tables with passwords or with values of every table."""


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
        "predefined": PREDEFINED,
        "harmless": sorted(PREDEFINED_WITHOUT_DATA),
        "everyone": everyone,
        "tables": TO_COME,
        "schemas": SCHEMAS_TO_COME,
        "parameter": ON_PARAMETER,
        "function": EXECUTE_FUNCTION,
        "ours": sorted(ours),
    }
    for grantee, path, power in rows(_POWERS, about):
        yield grantee, Grant(tuple(path), power)
    for of, member in accounts_granted_as_roles(rows):
        if of not in ours:
            yield member, Grant((), MEMBER_OF + of)
