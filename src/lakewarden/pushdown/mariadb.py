"""MariaDB and MySQL as targets: the current state, and the statements of a plan, one after another.

An account has one default role, so each user gets a role of their own, which is granted the
roles that the user shares with others. A role is ours if its name is one of ours and the account
of the target administers it, as the creator of a role does: MariaDB records both in one statement.
Roles of a style have names of their own, so the store records which of these it made. All other
roles belong to others and stay.

Statements are not rolled back here. All statements that revoke come first, so that a push that
stops anywhere leaves no more than the old or the new state; see `mariadb_statements`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final

import pymysql
from pymysql.cursors import DictCursor

from lakewarden.kernel.errors import BadInput, Unavailable
from lakewarden.names.mysql_account import EVERY_HOST, Account, user_name
from lakewarden.pushdown import mariadb_catalog, mysql_catalog
from lakewarden.pushdown.address import Address
from lakewarden.pushdown.drift import Holdings
from lakewarden.pushdown.foreign_keys import ForeignKey, effects, held_through_keys
from lakewarden.pushdown.grants import Grant, KnownRoles, Path, Roles
from lakewarden.pushdown.mariadb_account import AccountRights
from lakewarden.pushdown.mariadb_address import connection_options
from lakewarden.pushdown.mariadb_catalog import EVERYONE, Catalog
from lakewarden.pushdown.mariadb_engines import UnderlyingTables, merging, underlying_tables
from lakewarden.pushdown.mariadb_managed_roles import ManagedRoles
from lakewarden.pushdown.mariadb_names import MAX_PATTERN, RoleNames, object_sql, pattern
from lakewarden.pushdown.mariadb_owners import expanded, ways
from lakewarden.pushdown.mariadb_powers import CREATES, server_ways
from lakewarden.pushdown.mariadb_statements import Statements
from lakewarden.pushdown.mariadb_views import MaskingViews, view_marks
from lakewarden.pushdown.mysql_session import FOR_PUSH
from lakewarden.pushdown.owners_rights import held_through
from lakewarden.pushdown.plan import Step
from lakewarden.pushdown.statement import Statement
from lakewarden.pushdown.target_objects import TargetObjects
from lakewarden.service.ports import ServerAccount
from lakewarden.service.push_lock import under_way

ENGINE: Final = "mysql"
_SYSTEM: Final = ("information_schema", "mysql", "performance_schema", "sys")
_TABLES: Final = """
SELECT TABLE_SCHEMA AS s, TABLE_NAME AS t, TABLE_TYPE AS kind, ENGINE AS engine
FROM information_schema.TABLES
WHERE TABLE_SCHEMA NOT IN %s AND TABLE_TYPE <> 'SEQUENCE'
"""
_COLUMNS: Final = """
SELECT TABLE_SCHEMA AS s, TABLE_NAME AS t, COLUMN_NAME AS c, COLUMN_TYPE AS type
FROM information_schema.COLUMNS WHERE TABLE_SCHEMA NOT IN %s ORDER BY ORDINAL_POSITION
"""
_FOREIGN_KEYS: Final = """
SELECT CONSTRAINT_NAME AS name, CONSTRAINT_SCHEMA AS s, TABLE_NAME AS t,
       UNIQUE_CONSTRAINT_SCHEMA AS parent_schema, REFERENCED_TABLE_NAME AS parent,
       CASE DELETE_RULE WHEN 'CASCADE' THEN 'DELETE' WHEN 'SET NULL' THEN 'UPDATE'
            WHEN 'SET DEFAULT' THEN 'UPDATE' ELSE '' END AS on_delete,
       CASE WHEN UPDATE_RULE IN ('CASCADE', 'SET NULL', 'SET DEFAULT') THEN 'UPDATE' ELSE '' END
         AS on_update
FROM information_schema.REFERENTIAL_CONSTRAINTS WHERE CONSTRAINT_SCHEMA NOT IN %s
"""
_SCHEMAS: Final = """
SELECT SCHEMA_NAME AS s FROM information_schema.SCHEMATA WHERE SCHEMA_NAME NOT IN %s
"""
_TOO_LONG: Final = "its name is too long for a grant on a database"
_HAS_BACKSLASH: Final = "with this name, a MySQL role would get a grant on another database"
_VIEW: Final = "VIEW"
_LONGEST_LOCK: Final = 64
_LONGEST_ROLE: Final = 128
_LONGEST_ROLE_OF_MYSQL: Final = 32
"""The maximum length of a role's name."""

_TAKING: Final = ("REVOKE ", "DROP ", "DELETE ", "ALTER USER ", "SET DEFAULT ROLE NONE ")
"""The beginnings of the statements that revoke something."""

_DENIED: Final = frozenset({1044, 1045, 1142, 1143, 1227, 1370, 1698})
"""The error numbers by which a server says that the account lacks a permission."""

_LISTED, _SHOWN = 5, 200
"""How many refused statements are listed, and how many characters of each."""

_SHOWS: Final = "SHOW DATABASES"
_ROLES_SINCE: Final = 8
"""The first MySQL with roles."""

ANSWER_SECONDS: Final = 300.0
"""The time limit of one statement. A role of many users, or an altered table, takes its time;
a server that hangs or is cut off sends nothing at all."""


@contextmanager
def connected(
    address: Address, *, timeout_s: int = 10, answer_s: float = ANSWER_SECONDS
) -> Iterator[Database]:
    """A connection that is established within `timeout_s`.

    Raises `Unavailable` if the server cannot be reached, refuses, or does not answer a statement
    within `answer_s`.
    """
    server = connection_options(address.url)
    own = {
        "autocommit": True,
        "charset": "utf8mb4",
        "connect_timeout": timeout_s,
        "read_timeout": timeout_s,
        "write_timeout": timeout_s,
        "cursorclass": DictCursor,
        "init_command": f"SET SESSION {FOR_PUSH},"
        f" lock_wait_timeout = {timeout_s}, innodb_lock_wait_timeout = {timeout_s}",
    }
    try:
        connection = pymysql.connect(**server, **own)
        # Up to here its limits are those for the handshake, which takes no time.
        connection._read_timeout = connection._write_timeout = answer_s
        try:
            database = Database(connection, address)
            yield database
            database.unlock()
        finally:
            if connection.open:
                connection.close()
    except pymysql.MySQLError as error:
        raise Unavailable(f"the target `{address.target}`: {_server_message(error)}") from None


def _server_message(error: pymysql.MySQLError) -> str:
    """The first line of the server's message; it contains no credentials."""
    said = str(error.args[-1]) if error.args else ""
    return (said.strip().splitlines() or ["no answer"])[0].lower()


class Database:
    """One MariaDB or MySQL server: its databases are the schemas of a catalog."""

    is_transactional: Final = False
    has_expensive_members: Final = True

    def __init__(self, connection: pymysql.Connection[Any], address: Address) -> None:
        self._connection = connection
        self._address = address.with_views(view_marks(self._rows, address.view_schemas))
        self._marks = RoleNames(address.target, address.store)
        self._known = KnownRoles()
        self._read: Catalog | None = None
        (row,) = self._rows("SELECT VERSION() AS version")
        self._is_mysql = "MariaDB" not in row["version"]
        if self._is_mysql:
            self._check_mysql(row["version"])

    def _check_mysql(self, version: str) -> None:
        """Raises `BadInput` for a MySQL without roles or with `partial_revokes`."""
        major = version.partition(".")[0]
        if not major.isdecimal() or int(major) < _ROLES_SINCE:
            raise BadInput(f"expected a MariaDB or a MySQL 8, got `{version}`", where="url")
        beyond = len(self._marks.personal("")) - _LONGEST_ROLE_OF_MYSQL
        if beyond > 0:
            longest = len(self._marks.target) - beyond
            message = f"the name of a MySQL target has at most {longest} characters"
            raise BadInput(f"{message}; add the target again with a shorter name", where="name")
        for row in self._rows("SHOW GLOBAL VARIABLES LIKE 'partial_revokes'"):
            if row["Value"].upper() in ("ON", "1"):
                message = "with `partial_revokes` = ON, MySQL reads database names in grants"
                raise BadInput(f"{message} differently; switch it off", where="url")

    @property
    def prefix(self) -> str:
        """The prefix of the names of our roles."""
        return self._address.prefix

    @property
    def tag(self) -> str:
        """The tag behind the prefix in the names of new roles."""
        return self._marks.tag

    def claim(self, known: KnownRoles) -> None:
        """Claims roles of a style, and those from before names had a tag: none has a comment."""
        self._known |= known
        self._read = None

    @property
    def process(self) -> int:
        """The server's id of this connection."""
        number: int = self._connection.thread_id()
        return number

    def lock(self) -> None:
        """Locks out other pushes to the target until the end; raises `Busy` during another push."""
        (row,) = self._rows("SELECT GET_LOCK(%s, 0) AS is_ours", [self._lock])
        self._read = None
        if row["is_ours"] != 1:
            self.require_free()
            raise under_way(self._address.target)

    def require_free(self) -> None:
        """Raises `Busy` while a push holds the lock; does not acquire it."""
        (row,) = self._rows("SELECT IS_USED_LOCK(%s) AS number", [self._lock])
        if row["number"] is not None:
            where = f"in the connection {row['number']} of the server"
            raise under_way(self._address.target, where)

    def begin_snapshot(self) -> None:
        """Discards the cached tables of the server: MariaDB has no snapshot of them."""
        self._read = None

    def unlock(self) -> None:
        """Releases the lock; the server itself does so some time after the connection ends."""
        if self._connection.open:
            self._rows("SELECT RELEASE_LOCK(%s)", [self._lock])

    @property
    def _lock(self) -> str:
        return self._address.old_mark[:_LONGEST_LOCK]

    def objects(self) -> TargetObjects:
        """The current objects: users, databases, tables and views with their columns."""
        catalog, beside = self._catalog(), [self._excluded_databases]
        ours = self._managed(catalog)
        tables = self._tables(self._excluded_databases)
        views = frozenset(path for path, row in tables.items() if row["kind"] == _VIEW)
        engines = self._underlying_tables(tables)
        columns: dict[Path, dict[str, str]] = {path: {} for path in tables}
        for row in self._rows(_COLUMNS, beside):
            # A table that was created in between belongs to the next push.
            columns.get((row["s"], row["t"]), {})[row["c"]] = row["type"]
        schemas = self._databases()
        return TargetObjects(
            users=frozenset(user_name(one) for one in catalog.accounts if one.user),
            schemas=schemas,
            columns=columns,
            views=views,
            roles=catalog.roles.union(self._unavailable_names(catalog)) - ours.all,
            longest_role=_LONGEST_ROLE_OF_MYSQL if self._is_mysql else _LONGEST_ROLE,
            row_policies=False,
            no_views=self._views(catalog).problem(),
            refused_users=ours.refused_users(),
            refused={
                **{(name,): why for name in schemas if (why := self._no_grant(name))},
                **engines.unknown,
            },
            descendants=engines.below,
            effects=effects(self._foreign_keys(), engines.below),
        )

    def _foreign_keys(self) -> list[ForeignKey]:
        """The foreign keys, with the privileges that their changes would take."""
        return [
            ForeignKey(
                row["name"],
                (row["s"], row["t"]),
                (row["parent_schema"], row["parent"]),
                row["on_delete"],
                row["on_update"],
            )
            for row in self._rows(_FOREIGN_KEYS, [_SYSTEM])
        ]

    def _unavailable_names(self, catalog: Catalog) -> Iterator[str]:
        """Names that no role can have because accounts have them: in MySQL a role is an account."""
        if self._is_mysql:
            yield from (one.user for one in catalog.accounts if one.host == EVERY_HOST)

    def _no_grant(self, schema: str) -> str:
        """The reason why nothing can be granted on a database itself; "" if it can."""
        if len(pattern(schema)) > MAX_PATTERN:
            return _TOO_LONG
        return _HAS_BACKSLASH if self._is_mysql and "\\" in schema else ""

    def _tables(self, but: Sequence[str]) -> Mapping[Path, Mapping[str, Any]]:
        """Tables and views with their engines, outside the databases `but`."""
        return {(row["s"], row["t"]): row for row in self._rows(_TABLES, [but])}

    def _underlying_tables(self, tables: Mapping[Path, Mapping[str, Any]]) -> UnderlyingTables:
        """The tables that tables, not views, reach through their engines."""
        held = (one for one in tables.items() if one[1]["kind"] != _VIEW)
        return underlying_tables(self._rows, ((path, row["engine"]) for path, row in held))

    # --- what is held ---

    def managed_roles(self) -> Roles:
        """Our roles in their current state, with all changes by others; see `ManagedRoles`."""
        catalog = self._catalog()
        found = self._managed(catalog).roles()
        views = self._views(catalog)
        for name, own in views.current_views(found).items():
            # The grant of a role on its own view is part of the view.
            grants = found[name].grants.difference(map(views.right, own))
            found[name] = replace(found[name], grants=grants, views=frozenset(own.values()))
        return Roles(found)

    def _managed(self, catalog: Catalog) -> ManagedRoles:
        return ManagedRoles(catalog, self._marks, self._known)

    def irrevocable(self, held: Roles) -> Roles:
        """The grants of our roles that the account cannot revoke; it can remove all members."""
        return self._managed(self._catalog()).irrevocable(held)

    def holdings(self) -> Holdings:
        """The grants of accounts and roles other than ours."""
        catalog = self._catalog()
        ours = self._managed(catalog)
        by_host = ours.granted_by_host()
        granted = [*ours.granted_to_others()]
        granted += sorted({(name, grant) for name, grant, _ in by_host})
        return Holdings(
            grants=[*granted, *self._held_through(catalog, granted)],
            members=ours.members_of_others(),
            everyone=EVERYONE.user,
            # These stay: it is not checked which accounts would lose the grant.
            kept=frozenset((one, grant) for name, grant, to in by_host for one in (name, to)),
        )

    def _held_through(
        self, catalog: Catalog, granted: Sequence[tuple[str, Grant]]
    ) -> Iterator[tuple[str, Grant]]:
        """The privileges held through the rights of others."""
        own = {(self._address.view_schema, name) for name in self._views(catalog).names()}
        found = ways(self._rows, _SYSTEM, own, self._view_text, is_mysql=self._is_mysql)
        below = self._underlying_tables(self._tables(_SYSTEM)).below
        databases = [row["s"] for row in self._rows(_SCHEMAS, [_SYSTEM])]
        holders = self.managed_roles().holders().items()
        creators = [
            name for grant, names in holders if grant.privilege == CREATES for name in names
        ]
        servers = server_ways(self._rows, creators, databases)
        held = list(expanded(granted, databases))
        through = list(held_through([*found, *merging(below), *servers], held))
        yield from through
        yield from held_through_keys(self._foreign_keys(), below, [*held, *through])

    def _view_text(self, path: Path) -> str:
        try:
            (row,) = self._rows(f"SHOW CREATE VIEW {object_sql(path)}")
        except pymysql.MySQLError:
            if not self._connection.open:
                raise
            return ""  # the account may not see it, or what it reads is gone
        return str(row["Create View"])

    def missing_rights(self, paths: Collection[Path]) -> list[str]:
        """The rights that a push to these paths needs and the account lacks, with the remedies."""
        try:
            rights = self._rights()
        except pymysql.MySQLError as error:
            if error.args[0] not in _DENIED:
                raise
            return [
                AccountRights(self._me(), frozenset(), frozenset(), self._is_mysql).unreadable()
            ]
        stored = {path[0] for path in paths if path}
        # Without SHOW DATABASES the account does not see databases on which it has no rights yet.
        there = stored & self._databases() if _SHOWS in rights.global_privileges else stored
        lacking = self._views(self._catalog()).missing_rights()
        return [
            *rights.missing(),
            *rights.missing_in(there),
            *rights.missing_for_views(lacking, self._address.view_schema),
        ]

    def warnings(self) -> list[str]:
        """The excessive rights of the account, and what drift does not see with it."""
        return [*self._rights().warnings()]

    def acts_as(self, _account: ServerAccount) -> bool:
        """Always false: lakewarden keeps no store in such a server."""
        return False

    def _rights(self) -> AccountRights:
        me, catalog = self._me(), self._catalog()
        dynamic = self._dynamic(*me) if self._is_mysql else set()
        return AccountRights(
            me, catalog.direct_privileges(catalog.me), frozenset(dynamic), self._is_mysql
        )

    def _me(self) -> Account:
        (row,) = self._rows("SELECT CURRENT_USER() AS me")
        user, _, host = row["me"].rpartition("@")
        return Account(user, host)

    def _databases(self) -> frozenset[str]:
        """The databases that the account sees and that may be schemas of the catalog."""
        return frozenset(row["s"] for row in self._rows(_SCHEMAS, [self._excluded_databases]))

    def _dynamic(self, user: str, host: str) -> set[str]:
        """The privileges in MySQL that have no column of their own."""
        query = "SELECT PRIV AS name FROM mysql.global_grants WHERE USER = %s AND HOST = %s"
        return {row["name"] for row in self._rows(query, [user, host])}

    # --- steps ---

    def statements(self, steps: Iterable[Step]) -> list[Statement]:
        """The statements for the steps in the current state; similar steps share a statement."""
        catalog = self._catalog()
        names = {name: account for account, name in self._managed(catalog).grantees.items()}
        views = self._views(catalog)
        statements = Statements(catalog, self._marks, names, views, marks_itself=not self._is_mysql)
        return [*statements.of(steps)]

    def execute(self, statements: Iterable[Statement]) -> None:
        """Sends the statements, each of which takes effect permanently.

        If the account may not execute one, the others are still executed, except that nothing is
        granted once a revocation was refused. Raises `Unavailable` with the refused statements.
        """
        refused, is_open = [], False
        self._read = None
        with self._connection.cursor() as cursor:
            for text in (one.text for one in statements):
                takes = text.startswith(_TAKING)
                if is_open and not takes:
                    refused.append(text)
                    continue
                try:
                    cursor.execute(text)
                except pymysql.MySQLError as error:
                    if error.args[0] not in _DENIED:
                        raise
                    refused.append(text)
                    is_open = is_open or takes
        if refused:
            raise self._incomplete_push(refused, is_open=is_open)

    def _incomplete_push(self, refused: Sequence[str], *, is_open: bool) -> Unavailable:
        listed = "; ".join(
            one if len(one) <= _SHOWN else f"{one[:_SHOWN]}…" for one in refused[:_LISTED]
        )
        more = f", and {len(refused) - _LISTED} more" if len(refused) > _LISTED else ""
        why = (
            "the account may not revoke everything, so nothing was granted"
            if is_open
            else ("the account may not execute some statements; the others were executed")
        )
        see = "the journal is kept; check the rights of the target's account"
        return Unavailable(f"the target `{self._address.target}`: {why}; {see}: {listed}{more}")

    def _views(self, catalog: Catalog) -> MaskingViews:
        ours, has_views = self._managed(catalog).all, self._known.has_views
        return MaskingViews(
            self._rows, catalog, self._address, ours, has_views=has_views, is_mysql=self._is_mysql
        )

    @property
    def _excluded_databases(self) -> tuple[str, ...]:
        """The databases that are no schemas of the catalog."""
        return *_SYSTEM, self._address.view_schema

    def _catalog(self) -> Catalog:
        """The server's own tables, cached until something is sent."""
        if self._read is None:
            self._keep_untagged()
            self._read = (
                mysql_catalog.read(self._rows, self._marks, self._known.roles)
                if self._is_mysql
                else mariadb_catalog.read(self._rows)
            )
        return self._read

    def _keep_untagged(self) -> None:
        """Keeps the roles of known users that still have names from before tags."""
        if self._marks.tag and self._known.members:
            there = {row["name"] for row in self._rows("SELECT User AS name FROM mysql.user")}
            old = map(self._marks.untagged, self._known.members)
            self._marks = replace(self._marks, kept=self._marks.kept.union(there.intersection(old)))

    def _rows(self, query: str, parameters: Sequence[object] | None = None) -> list[dict[str, Any]]:
        with self._connection.cursor() as cursor:
            cursor.execute(query, parameters)
            return list(cursor.fetchall())
