"""PostgreSQL as a target: what it holds, and the statements of a plan, in one transaction.

What is ours are roles with the mark of the target as comment, row policies with its prefix, as most
of the roles have, and masking views. Everything else is somebody else's, and stays.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from typing import Any, Final

import msgspec
import psycopg
from psycopg import sql

from lakewarden.kernel.errors import BadInput, Conflict, Unavailable
from lakewarden.pushdown.address import Address
from lakewarden.pushdown.drift import Holdings
from lakewarden.pushdown.grants import GRANTABLE, Grant, Known, Path, Role, Roles, RowPolicy
from lakewarden.pushdown.masking_views import ALTERED
from lakewarden.pushdown.owners_rights import held_through
from lakewarden.pushdown.plan import Step
from lakewarden.pushdown.postgresql_owners import ways
from lakewarden.pushdown.postgresql_powers import LENT, lent, powers
from lakewarden.pushdown.postgresql_statements import (
    MEMBER_OF,
    ODD_MEMBER,
    Found,
    Statements,
    left_by,
)
from lakewarden.pushdown.postgresql_views import MaskingViews
from lakewarden.pushdown.statement import Statement
from lakewarden.pushdown.wanted import TargetObjects
from lakewarden.service.ports import ServerAccount

ENGINE: Final = "postgresql"
EVERYONE: Final = "PUBLIC"
_OBJECTS: Final = """
SELECT n.nspname, c.relname, c.relkind IN ('v', 'm'), c.relkind = 'f',
       a.attname, format_type(a.atttypid, a.atttypmod)
FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped
WHERE c.relkind IN ('r', 'p', 'f', 'v', 'm')
  AND n.nspname !~ '^pg_' AND n.nspname <> 'information_schema'
ORDER BY n.nspname, c.relname, a.attnum
"""
_DESCENDANTS: Final = """
WITH RECURSIVE below (top, id) AS (
  SELECT inhparent, inhrelid FROM pg_inherits
  UNION SELECT below.top, i.inhrelid FROM below JOIN pg_inherits i ON i.inhparent = below.id
)
SELECT top_schema.nspname, top.relname, n.nspname, c.relname
FROM below
JOIN pg_class top ON top.oid = below.top AND top.relkind IN ('r', 'p', 'f')
JOIN pg_namespace top_schema ON top_schema.oid = top.relnamespace
JOIN pg_class c ON c.oid = below.id
JOIN pg_namespace n ON n.oid = c.relnamespace
"""
"""Tables, and those that inherit from them at any depth, as partitions do.

Rights and row policies of the first one alone say who reads and writes the others with it.
"""

_SCHEMAS: Final = """
SELECT nspname FROM pg_namespace WHERE nspname !~ '^pg_' AND nspname <> 'information_schema'
"""
_USERS: Final = """
SELECT rolname, rolsuper OR rolbypassrls FROM pg_roles WHERE rolcanlogin
"""
"""Users, and whether nothing limits them."""

_ROLES: Final = """
SELECT oid, rolname, shobj_description(oid, 'pg_authid') = %(mark)s FROM pg_roles
WHERE shobj_description(oid, 'pg_authid') = %(mark)s
   OR shobj_description(oid, 'pg_authid') = %(old)s AND rolname = ANY(%(known)s)
"""
"""Our roles, and whether each has our mark; those that are known may have an old one."""

_ALL_ROLES: Final = "SELECT rolname FROM pg_roles"
_MEMBERS: Final = """
SELECT of.rolname, member.rolname, m.roleid = ANY(%(ids)s),
       concat_ws(', ', CASE WHEN m.admin_option THEN 'ADMIN' END,
         CASE WHEN m.set_option THEN 'SET' END,
         CASE WHEN NOT m.inherit_option THEN 'NO INHERIT' END)
FROM pg_auth_members m
JOIN pg_roles of ON of.oid = m.roleid
JOIN pg_roles member ON member.oid = m.member
WHERE (m.roleid = ANY(%(ids)s) OR m.member = ANY(%(ids)s)) AND member.rolname <> current_user
"""
"""Without the account that pushes: it is made an administrator of the roles that it creates."""

_STUCK: Final = """
SELECT of.rolname, member.rolname
FROM pg_auth_members m
JOIN pg_roles of ON of.oid = m.roleid
JOIN pg_roles member ON member.oid = m.member
WHERE (m.roleid = ANY(%(ids)s) OR m.member = ANY(%(ids)s)) AND member.rolname <> current_user
  AND NOT (pg_has_role(m.roleid, 'MEMBER WITH ADMIN OPTION') AND pg_has_role(m.grantor, 'USAGE'))
"""
"""Memberships that the account cannot take away: it needs the rights of who granted them."""

_GRANTORS: Final = """
SELECT DISTINCT of.rolname, member.rolname, grantor.rolname
FROM pg_auth_members m
JOIN pg_roles of ON of.oid = m.roleid
JOIN pg_roles member ON member.oid = m.member
JOIN pg_roles grantor ON grantor.oid = m.grantor
WHERE of.rolname = ANY(%s) ORDER BY 1, 2, 3
"""
_ALL_POLICIES: Final = """
SELECT n.nspname, c.relname, p.polname FROM pg_policy p
JOIN pg_class c ON c.oid = p.polrelid JOIN pg_namespace n ON n.oid = c.relnamespace
"""
_USED_ELSEWHERE: Final = """
SELECT DISTINCT r.rolname FROM pg_shdepend d JOIN pg_roles r ON r.oid = d.refobjid,
  (SELECT oid, current_setting('is_superuser')::boolean AS is_super FROM pg_database
   WHERE datname = current_database()) me
WHERE d.refclassid = 'pg_authid'::regclass AND d.refobjid = ANY(%s)
  AND CASE WHEN d.dbid <> 0 THEN d.dbid <> me.oid ELSE
    CASE d.classid WHEN 'pg_parameter_acl'::regclass THEN NOT me.is_super
      WHEN 'pg_database'::regclass THEN
        (SELECT NOT pg_has_role(datdba, 'USAGE') FROM pg_database WHERE oid = d.objid)
      WHEN 'pg_tablespace'::regclass THEN
        (SELECT NOT pg_has_role(spcowner, 'USAGE') FROM pg_tablespace WHERE oid = d.objid)
      ELSE false END END
"""
"""Roles that something hangs on in another database, or that is of the whole server and not the
account's, where it cannot be taken away from here."""

_GRANTS: Final = """
SELECT r.rolname, path, acl.privilege_type, acl.is_grantable FROM (
  SELECT ARRAY[]::text[] AS path, datacl AS acl FROM pg_database WHERE datname = current_database()
  UNION ALL SELECT ARRAY[nspname::text], nspacl FROM pg_namespace
  UNION ALL SELECT ARRAY[n.nspname::text, c.relname::text], c.relacl
    FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  UNION ALL SELECT ARRAY[n.nspname::text, c.relname::text, a.attname::text], a.attacl
    FROM pg_attribute a
    JOIN pg_class c ON c.oid = a.attrelid JOIN pg_namespace n ON n.oid = c.relnamespace
    WHERE a.attacl IS NOT NULL AND NOT a.attisdropped
) held, aclexplode(held.acl) acl JOIN pg_roles r ON r.oid = acl.grantee
WHERE acl.grantee = ANY(%s)
"""
_FOREIGN: Final = """
SELECT CASE WHEN acl.grantee = 0 THEN %(everyone)s ELSE pg_get_userbyid(acl.grantee) END,
       path, acl.privilege_type FROM (
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
UNION ALL
SELECT pg_get_userbyid(owner), path, 'OWNER' FROM (
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
_OTHER_MEMBERS: Final = """
SELECT of.rolname, member.rolname FROM pg_auth_members m
JOIN pg_roles of ON of.oid = m.roleid
JOIN pg_roles member ON member.oid = m.member
WHERE m.roleid <> ALL(%s)
"""
_MEMBERS_OF: Final = """
SELECT of.rolname, member.rolname FROM pg_auth_members m
JOIN pg_roles of ON of.oid = m.roleid
JOIN pg_roles member ON member.oid = m.member
WHERE of.rolname = ANY(%s)
"""
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
"""Schemas and tables of whose owners the account is none. Who owns the database is one of the
owners that stand for its own."""

_MAY_IDENTIFY: Final = "SELECT has_function_privilege('pg_control_system()', 'EXECUTE')"
_ACTS_AS: Final = """
SELECT 1 FROM pg_control_system() server JOIN pg_roles own ON pg_has_role(own.oid, 'MEMBER')
WHERE server.system_identifier::text = %s AND own.rolname = %s
"""
_VIEW_MARKS: Final = """
SELECT nspname, obj_description(oid, 'pg_namespace') FROM pg_namespace WHERE nspname = ANY (%s)
"""
_POLICIES: Final = """
SELECT n.nspname, c.relname, p.polname, p.polpermissive, c.relrowsecurity, r.rolname,
       pg_get_expr(p.polqual, p.polrelid), obj_description(p.oid, 'pg_policy')
FROM pg_policy p
JOIN pg_class c ON c.oid = p.polrelid
JOIN pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN pg_roles r ON p.polroles = ARRAY[r.oid]
WHERE starts_with(p.polname, %s)
"""


@contextmanager
def connected(address: Address, *, timeout_s: int = 10) -> Iterator[Database]:
    """A connection in one transaction, which is kept unless the block raises.

    Raises `Unavailable` where the server cannot be reached or refuses.
    """
    url = address.url.replace("postgresql+psycopg://", "postgresql://", 1)
    options = f"-c search_path=pg_catalog -c lock_timeout={timeout_s}s"
    try:
        with psycopg.connect(url, connect_timeout=timeout_s, options=options) as connection:
            yield Database(connection, address)
    except psycopg.ProgrammingError as error:
        raise BadInput(_said(error)) from None
    except psycopg.Error as error:
        raise Unavailable(f"the target `{address.target}`: {_said(error)}") from None


def _said(error: psycopg.Error) -> str:
    """The first line of what the server said; it holds no credentials."""
    return (str(error).strip().splitlines() or ["no answer"])[0].lower()


class Database:
    """One database of PostgreSQL, within a transaction."""

    is_transactional: Final = True
    has_dear_members: Final = False

    def __init__(self, connection: psycopg.Connection[Any], address: Address) -> None:
        self._connection = connection
        marks = self._rows(_VIEW_MARKS, [list(address.view_schemas)])
        self._address = address.with_views(dict(marks))
        self._known = Known()

    @property
    def _views(self) -> MaskingViews:
        return MaskingViews(self._connection, self._address, has_old=self._known.has_views)

    @property
    def prefix(self) -> str:
        """How the names of our roles begin."""
        return self._address.prefix

    @property
    def process(self) -> int:
        """The number of the server's process that this connection has."""
        return self._connection.info.backend_pid

    def lock(self) -> None:
        """Keeps other pushes to the target out until the end; raises `Conflict` beside one."""
        key = int.from_bytes(sha256(self._address.old_mark.encode()).digest()[:8], signed=True)
        (row,) = self._rows("SELECT pg_try_advisory_xact_lock(%s)", [key])
        if not row[0]:
            message = f"another push to the target `{self._address.target}` is under way"
            raise Conflict(f"{message}; try again when it is over")

    @property
    def tag(self) -> str:
        """Nothing: our roles have comments that mark them, whatever their names."""
        return ""

    def claim(self, known: Known) -> None:
        """Known roles and views are ours, too, that are marked as before marks had a store."""
        self._known |= known

    def objects(self) -> TargetObjects:
        """What is there: users, schemas, tables and views with their columns."""
        columns: dict[Path, dict[str, str]] = {}
        views: set[Path] = set()
        foreign: set[Path] = set()
        descendants: dict[Path, set[Path]] = {}
        for top_schema, top, below_schema, below in self._rows(_DESCENDANTS):
            descendants.setdefault((top_schema, top), set()).add((below_schema, below))
        schemas = {name for (name,) in self._rows(_SCHEMAS)} - {self._address.view_schema}
        users = self._rows(_USERS)
        for schema, name, is_view, is_foreign, column, type in self._rows(_OBJECTS):
            if schema not in schemas:
                continue
            own = columns.setdefault((schema, name), {})
            if column is not None:
                own[column] = type
            if is_view:
                views.add((schema, name))
            if is_foreign:
                foreign.add((schema, name))
        return TargetObjects(
            users=frozenset(name for name, is_unlimited in users if not is_unlimited),
            unlimited=frozenset(name for name, is_unlimited in users if is_unlimited),
            refused_users={of: LENT for of, _ in lent(self._rows)},
            schemas=frozenset(schemas),
            columns=columns,
            views=frozenset(views),
            without_policies=frozenset(foreign),
            descendants={path: frozenset(below) for path, below in descendants.items()},
            roles=frozenset(name for (name,) in self._rows(_ALL_ROLES)) - {*self._ours().values()},
            no_views=self._views.problem(),
            mark=self._address.mark,
        )

    # --- what is held ---

    def held(self) -> Roles:
        """Our roles as they are now, with whatever others did to them."""
        ours = self._ours()
        members, grants = self._memberships(ours)
        views = self._views.held()
        for role, grant in self._granted(list(ours), views.keys()):
            grants[role].add(grant)
        policies = self._policies(frozenset(ours.values()))
        return Roles(
            {
                name: Role(
                    frozenset(members[name]),
                    frozenset(grants[name]),
                    frozenset(policies.get(name, ())),
                    frozenset(views.get(name, ())),
                )
                for name in ours.values()
            }
        )

    def _memberships(
        self, ours: Mapping[int, str]
    ) -> tuple[dict[str, set[str]], dict[str, set[Grant]]]:
        """The members of our roles, and memberships that a push makes otherwise, as grants."""
        members: dict[str, set[str]] = {name: set() for name in ours.values()}
        grants: dict[str, set[Grant]] = {name: set() for name in ours.values()}
        for of, member, is_ours, odd in self._rows(_MEMBERS, {"ids": list(ours)}):
            if member in grants:
                grants[member].add(Grant((), MEMBER_OF + of))
            if is_ours and odd:
                grants[of].add(Grant((of, member), ODD_MEMBER + odd))
            elif is_ours:
                members[of].add(member)
        for of, given in grants.items():
            # It is taken away and given anew, whoever else granted it as it should be.
            members[of] -= {one.path[-1] for one in given if one.privilege.startswith(ODD_MEMBER)}
        return members, grants

    def _granted(self, ids: list[int], readers: Collection[str]) -> Iterator[tuple[str, Grant]]:
        """What our roles are granted, but what belongs to the views of these `readers`."""
        own = self._views.names()
        for role, path, privilege, grantable in self._rows(_GRANTS, [ids]):
            if path[:1] == [self._address.view_schema]:
                # What a view is granted is part of it, and so is the way to it.
                is_way = privilege == "USAGE" and role in readers and not grantable
                if path[1] in own if path[1:] else is_way:
                    continue
            yield role, Grant(tuple(path), privilege + (GRANTABLE if grantable else ""))

    def stuck(self, held: Roles) -> Roles:
        """The memberships of our roles that the account cannot take away."""
        members: dict[str, set[str]] = {name: set() for name in held.roles}
        grants: dict[str, set[Grant]] = {name: set() for name in held.roles}
        for of, member in self._rows(_STUCK, {"ids": list(self._ours())}):
            if of in members:
                members[of].add(member)
                grants[of] |= {one for one in held.roles[of].grants if one.path == (of, member)}
            if member in grants:
                grants[member].add(Grant((), MEMBER_OF + of))
        return Roles(
            {
                name: Role(frozenset(members[name]), frozenset(grants[name]))
                for name in held.roles
                if members[name] or grants[name]
            }
        )

    def holdings(self) -> Holdings:
        """What is granted to others than our roles."""
        ids = list(self._ours())
        members: dict[str, set[str]] = {}
        for of, member in self._rows(_OTHER_MEMBERS, [ids]):
            members.setdefault(of, set()).add(member)
        rows = self._rows(_FOREIGN, {"ids": ids, "everyone": EVERYONE})
        granted = [(grantee, Grant(tuple(path), what)) for grantee, path, what in rows]
        masking = [(self._address.view_schema, name) for name in self._views.names()]
        beyond = list(powers(self._rows, EVERYONE))
        beyond += held_through(ways(self._rows, EVERYONE, masking), granted)
        ours = {*self._ours().values()} & {grantee for grantee, _ in beyond}
        for of, member in self._rows(_MEMBERS_OF, [sorted(ours)]):
            members.setdefault(of, set()).add(member)
        return Holdings(
            grants=granted + beyond,
            members={of: frozenset(names) for of, names in members.items()},
            everyone=EVERYONE,
        )

    def _ours(self) -> Mapping[int, str]:
        """Our roles by their ids: those that have our mark."""
        return {id: name for id, name, _ in self._marked()}

    def _marked(self) -> list[tuple[int, str, bool]]:
        """Our roles with their ids, and whether each has our mark as it is now."""
        about = {"mark": self._address.mark, "old": self._address.old_mark}
        known = sorted(self._known.roles) if self._address.store else []
        return self._rows(_ROLES, {**about, "known": known})

    def _policies(self, roles: frozenset[str]) -> Mapping[str, set[RowPolicy]]:
        """The row policies of our roles; one that somebody altered has another condition."""
        found: dict[tuple[str, Path, str], list[tuple[bool, bool, str | None, str | None]]] = {}
        for schema, table, name, permissive, secured, role, using, comment in self._rows(
            _POLICIES, [self._address.prefix]
        ):
            if role in roles:
                key = role, (schema, table), name.rpartition("_")[0]
                found.setdefault(key, []).append((permissive, secured, using, comment))
        policies: dict[str, set[RowPolicy]] = {}
        for (role, path, _), rows in found.items():
            condition = _condition_of(rows)
            if condition is not None:
                policies.setdefault(role, set()).add(RowPolicy(path, condition))
        return policies

    def missing_rights(self, paths: Collection[Path]) -> list[str]:
        """What the account lacks to push what lies there, each with what gives it."""
        ((name, is_super, may_create, owns, database),) = self._rows(_ACCOUNT)
        me = self._quoted(name)
        missing = []
        if not (is_super or may_create):
            missing.append(f"it may not create roles: ALTER ROLE {me} CREATEROLE")
        if not owns:
            gives = f"ALTER DATABASE {self._quoted(database)} OWNER TO {me}"
            missing.append(f"it does not own the database: {gives}")
        found: dict[str, list[Path]] = {}
        for owner, path in self._rows(_OF_OTHERS):
            if tuple(path) in paths:
                found.setdefault(owner, []).append(tuple(path))
        for owner, own in found.items():
            what = f"it is no member of {self._quoted(owner)}, who owns {len(own)} of the catalog's"
            example = self._quoted(*own[0])
            gives = f"GRANT {self._quoted(owner)} TO {me}"
            missing.append(f"{what} schemas and tables, such as {example}: {gives}")
        return missing

    def warnings(self) -> list[str]:
        """What the account may beyond that."""
        ((_, is_super, *_),) = self._rows(_ACCOUNT)
        if not is_super:
            return []
        return ["the account is a superuser, and a push needs none: give the target its own one"]

    def acts_as(self, account: ServerAccount) -> bool:
        """Whether the account that pushes is that one, or may act as it, such as a superuser."""
        ((may_ask,),) = self._rows(_MAY_IDENTIFY)
        return may_ask and bool(self._rows(_ACTS_AS, [account.server, account.name]))

    def _quoted(self, *names: str) -> str:
        return sql.Identifier(*names).as_string(self._connection)

    # --- steps ---

    def statements(self, steps: Iterable[Step]) -> list[Statement]:
        """What does the steps as things are now, alike ones in one statement."""
        todo = list(steps)
        found = self._found({of for step in todo for of in left_by(step)})
        return [*Statements(found, self._address, self._connection).of(todo)]

    def _found(self, left: Collection[str]) -> Found:
        """What statements depend on by which somebody leaves these roles, and others."""
        grantors: dict[tuple[str, str], list[str]] = {}
        for of, member, grantor in self._rows(_GRANTORS, [sorted(left)]):
            grantors.setdefault((of, member), []).append(grantor)
        policies: dict[Path, set[str]] = {}
        for schema, table, name in self._rows(_ALL_POLICIES):
            policies.setdefault((schema, table), set()).add(name)
        elsewhere = self._rows(_USED_ELSEWHERE, [[*self._ours()]])
        return Found(
            database=self._connection.info.dbname,
            roles=frozenset(name for (name,) in self._rows(_ALL_ROLES)),
            unmarked=self._to_mark(),
            grantors=grantors,
            policies={path: frozenset(own) for path, own in policies.items()},
            used_elsewhere=frozenset(name for (name,) in elsewhere),
            views=self._views.found(),
        )

    def _to_mark(self) -> list[str]:
        """Our roles that are marked as before marks had a store."""
        if not (self._address.store and self._known.roles):
            return []
        return sorted(name for _, name, is_marked in self._marked() if not is_marked)

    def execute(self, statements: Iterable[Statement]) -> None:
        """Sends the statements."""
        for one in statements:
            self._connection.execute(one.text.encode(self._connection.info.encoding))

    def _rows(
        self, query: str, parameters: Sequence[object] | Mapping[str, object] | None = None
    ) -> list[tuple[Any, ...]]:
        return self._connection.execute(query, parameters).fetchall()


def _condition_of(rows: Sequence[tuple[bool, bool, str | None, str | None]]) -> str | None:
    """The condition that the policies of a role make; None where they do not limit it."""
    if len(rows) != 2 or {permissive for permissive, *_ in rows} != {True, False}:
        return None
    conditions = set()
    for _, secured, using, comment in rows:
        try:
            note = msgspec.json.decode(comment or "")
            said, was = str(note["condition"]), note["is"]
        except (msgspec.DecodeError, TypeError, KeyError):
            return None
        if not secured or using != was:
            return ALTERED + str(using)
        conditions.add(said)
    return conditions.pop() if len(conditions) == 1 else None
