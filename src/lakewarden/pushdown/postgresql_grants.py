"""The grants of our roles in PostgreSQL, on any kind of object, and who can revoke them.

A REVOKE removes the grants of one grantor: the owner, with whose rights superusers and members act,
or an account with a grant option. So grants by others than the owner are listed separately, and
are revoked in the name of their grantor.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from psycopg import sql

from lakewarden.pushdown.grants import GRANTABLE, TABLE_DEPTH, Grant, Path
from lakewarden.pushdown.postgresql_powers import Rows

GRANTED_BY: Final = " GRANTED BY "
"""Precedes the name of the grantor in a grant that is not by the owner."""


_GRANTS: Final = """
SELECT r.rolname, held.path, held.kind, held.object, acl.privilege_type, acl.is_grantable,
       grantor.rolname, acl.grantor = held.owner,
       acl.grantor = held.owner AND pg_has_role(held.owner, 'USAGE'),
       NOT grantor.rolsuper AND pg_has_role(acl.grantor, 'SET')
         AND (acl.grantor = held.owner OR NOT pg_has_role(acl.grantor, held.owner, 'USAGE'))
         AND (held.lies_in IS NULL OR has_schema_privilege(acl.grantor, held.lies_in, 'USAGE'))
FROM (
  SELECT CASE WHEN datname = current_database() THEN ARRAY[]::text[] END AS path,
         'DATABASE' AS kind, quote_ident(datname) AS object,
         datdba AS owner, NULL::oid AS lies_in, datacl AS acl FROM pg_database
  UNION ALL SELECT ARRAY[nspname::text], 'SCHEMA', quote_ident(nspname), nspowner, NULL, nspacl
    FROM pg_namespace
  UNION ALL SELECT ARRAY[n.nspname::text, c.relname::text], 'TABLE',
      concat_ws('.', quote_ident(n.nspname), quote_ident(c.relname)), c.relowner, n.oid, c.relacl
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  UNION ALL SELECT ARRAY[n.nspname::text, c.relname::text, a.attname::text], 'TABLE',
      concat_ws('.', quote_ident(n.nspname), quote_ident(c.relname)), c.relowner, n.oid, a.attacl
    FROM pg_attribute a
    JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE a.attacl IS NOT NULL AND NOT a.attisdropped
  UNION ALL SELECT NULL, 'ROUTINE', oid::regprocedure::text, proowner, pronamespace, proacl
    FROM pg_proc WHERE proacl IS NOT NULL
  UNION ALL SELECT NULL, 'TYPE', format_type(oid, NULL), typowner, typnamespace, typacl
    FROM pg_type WHERE typacl IS NOT NULL
  UNION ALL SELECT NULL, 'LANGUAGE', quote_ident(lanname), lanowner, NULL, lanacl FROM pg_language
  UNION ALL SELECT NULL, 'FOREIGN DATA WRAPPER', quote_ident(fdwname), fdwowner, NULL, fdwacl
    FROM pg_foreign_data_wrapper
  UNION ALL SELECT NULL, 'FOREIGN SERVER', quote_ident(srvname), srvowner, NULL, srvacl
    FROM pg_foreign_server
  UNION ALL SELECT NULL, 'LARGE OBJECT', oid::text, lomowner, NULL, lomacl
    FROM pg_largeobject_metadata WHERE lomacl IS NOT NULL
  UNION ALL SELECT NULL, 'TABLESPACE', quote_ident(spcname), spcowner, NULL, spcacl
    FROM pg_tablespace
  UNION ALL SELECT NULL, 'PARAMETER', (SELECT string_agg(quote_ident(part), '.' ORDER BY place)
      FROM unnest(string_to_array(parname, '.')) WITH ORDINALITY parts (part, place)),
      10, NULL, paracl
    FROM pg_parameter_acl
) held, aclexplode(held.acl) acl
JOIN pg_roles r ON r.oid = acl.grantee
JOIN pg_roles grantor ON grantor.oid = acl.grantor
WHERE acl.grantee = ANY(%(ids)s)
  AND (acl.grantee <> held.owner OR held.kind IN ('DATABASE', 'TABLESPACE'))
  AND (%(is_whole)s OR held.path IS NULL OR acl.grantor <> held.owner
    OR NOT pg_has_role(held.owner, 'USAGE'))
"""
"""Each grant with its object's name in SQL, whether it is by the owner, whether the account has the
owner's rights, and whether a REVOKE by the account in the name of the grantor works: a grantor who
is also an owner does not revoke earlier grants. The rights of ownership are not grants. 10 is
the bootstrap superuser, who stands for the owner of parameters."""


@dataclass(frozen=True, slots=True)
class HeldGrant:
    """A privilege of our role on an object with a `path`, or on another `object`.

    `is_direct`: the account revokes it with rights of its own. `may_act`: it does so as the
    grantor.
    """

    role: str
    path: Path | None
    kind: str
    object: str
    privilege: str
    is_grantable: bool
    grantor: str
    is_by_owner: bool
    is_direct: bool
    may_act: bool

    @property
    def grant(self) -> Grant:
        """The grant as plans and drift name it.

        >>> HeldGrant("lw_a", ("s", "t"), "TABLE", "s.t", "SELECT", True, "bo", False, False, True
        ...           ).grant.privilege
        'SELECT WITH GRANT OPTION GRANTED BY bo'
        """
        what = self.privilege if self.path is not None else f"{self.privilege} ON {self._at}"
        option = GRANTABLE if self.is_grantable else ""
        by = "" if self.is_by_owner else f"{GRANTED_BY}{self.grantor}"
        return Grant(self.path or (), f"{what}{option}{by}")

    @property
    def is_plain(self) -> bool:
        """Whether the grant's name determines the statement that revokes it."""
        return self.is_direct and self.path is not None

    @property
    def is_stuck(self) -> bool:
        """Whether the account cannot revoke it."""
        return not (self.is_direct or self.may_act)

    @property
    def _at(self) -> str:
        return f"{self.kind} {self.object}"

    def revoking(self) -> Iterator[sql.Composed]:
        """The statements that revoke it, and the grants that the role's members made from it."""
        columns = self.path[TABLE_DEPTH:] if self.path else ()
        column = sql.SQL("").join(sql.SQL(" ({})").format(sql.Identifier(one)) for one in columns)
        if not self.is_direct:
            yield sql.SQL("SET LOCAL ROLE {}").format(sql.Identifier(self.grantor))
        yield sql.SQL("REVOKE {}{} ON {} FROM {} CASCADE").format(
            sql.SQL(self.privilege), column, sql.SQL(self._at), sql.Identifier(self.role)
        )
        if not self.is_direct:
            yield sql.SQL("RESET ROLE").format()


def held_grants(rows: Rows, ids: Sequence[int], *, is_whole: bool) -> list[HeldGrant]:
    """The grants of the roles with these ids in the database, and on the whole server.

    With `is_whole` all of them, otherwise only those that are not plain.
    """
    return [
        HeldGrant(role, None if path is None else tuple(path), *rest)
        for role, path, *rest in rows(_GRANTS, {"ids": ids, "is_whole": is_whole})
    ]
