"""PostgreSQL as a target: the current state, and the statements of a plan, in one transaction.

Ours are the roles whose comment is the mark of the target, row policies with its prefix (most
of the roles have it, too), and masking views. Everything else belongs to others and stays.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from typing import Any, Final

import psycopg
from psycopg.conninfo import conninfo_to_dict

from lakewarden.kernel.errors import BadInput, Unavailable
from lakewarden.pushdown.address import Address
from lakewarden.pushdown.drift import Holdings
from lakewarden.pushdown.grants import KnownRoles, Path, Roles
from lakewarden.pushdown.limited_connection import ANSWER_S, LimitedConnection
from lakewarden.pushdown.plan import Step
from lakewarden.pushdown.postgresql_account import AccountRights
from lakewarden.pushdown.postgresql_foreign import holdings
from lakewarden.pushdown.postgresql_managed_roles import ManagedRoles
from lakewarden.pushdown.postgresql_objects import found_objects, role_names
from lakewarden.pushdown.postgresql_statements import (
    Statements,
    TargetState,
    had_row_security,
    role_losing_member,
)
from lakewarden.pushdown.postgresql_views import MaskingViews
from lakewarden.pushdown.statement import Statement
from lakewarden.pushdown.target_objects import TargetObjects
from lakewarden.service.ports import ServerAccount
from lakewarden.service.push_lock import under_way

ENGINE: Final = "postgresql"

_EXPECTED: Final = (
    "expected `postgresql://USER:PASSWORD@HOST:PORT/DATABASE`, with other characters"
    " percent-encoded"
)

_OLDEST: Final = 160_000
"""The first version in which a membership can be without `SET ROLE`."""

_OPTIONS: Final = {
    "search_path": "pg_catalog",
    "standard_conforming_strings": "on",
    "transform_null_equals": "off",
    "quote_all_identifiers": "off",
    "DateStyle": "ISO",
    "TimeZone": "UTC",
    "extra_float_digits": 1,
    "tcp_keepalives_idle": 10,
    "tcp_keepalives_interval": 5,
    "tcp_keepalives_count": 3,
}
"""Settings that the server, the database or the account could have otherwise.

They determine how a condition is read, and how PostgreSQL writes it down for a later comparison.
With the last ones, a push whose host is gone does not hold its locks for hours."""

_GRANTORS: Final = """
SELECT DISTINCT of.rolname, member.rolname, grantor.rolname
FROM pg_auth_members m
JOIN pg_roles of ON of.oid = m.roleid
JOIN pg_roles member ON member.oid = m.member
JOIN pg_roles grantor ON grantor.oid = m.grantor
WHERE of.rolname = ANY(%s) ORDER BY 1, 2, 3
"""
_ALL_POLICIES: Final = """
SELECT n.nspname, c.relname, c.relrowsecurity, p.polname, obj_description(p.oid, 'pg_policy')
FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
LEFT JOIN pg_policy p ON p.polrelid = c.oid
WHERE c.relrowsecurity OR p.oid IS NOT NULL
"""
"""Tables with row security or policies, and each policy with its comment."""

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
"""Roles on which objects in another database depend, or server-wide objects that the account does
not own and thus cannot revoke from here."""

_LOCKED: Final = """
SELECT FROM pg_locks WHERE locktype = 'advisory' AND mode = 'ExclusiveLock' AND granted
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND (classid::bigint, objid::bigint, objsubid) = (%s, %s, 1)
"""
"""The lock's number is stored in two halves. An attempt to acquire it, even as a shared lock, would
block a push that begins."""

_VIEW_MARKS: Final = """
SELECT nspname, obj_description(oid, 'pg_namespace') FROM pg_namespace WHERE nspname = ANY (%s)
"""


@contextmanager
def connected(
    address: Address, *, timeout_s: int = 10, answer_s: int = ANSWER_S
) -> Iterator[Database]:
    """A connection in one transaction, which is committed unless the block raises.

    `timeout_s` limits the wait for a lock, and `answer_s` one statement. Raises `Unavailable` if
    the server cannot be reached, refuses, or does not answer, and `BadInput` for an invalid
    address.
    """
    limits = {"lock_timeout": f"{timeout_s}s", "statement_timeout": f"{answer_s}s"}
    options = " ".join(f"-c {name}={value}" for name, value in {**_OPTIONS, **limits}.items())
    try:
        with LimitedConnection.connect(
            _conninfo(address.url),
            connect_timeout=timeout_s,
            options=options,
            client_encoding="UTF8",
            prepare_threshold=None,  # otherwise the driver sends extra statements
        ) as connection:
            # The checks of statements see what others have committed.
            connection.isolation_level = psycopg.IsolationLevel.READ_COMMITTED
            connection.answer_s = answer_s + timeout_s
            if connection.info.server_version < _OLDEST:
                major = connection.info.server_version // 10_000
                needed = f"a push needs PostgreSQL {_OLDEST // 10_000} or newer"
                raise BadInput(f"the target `{address.target}` is PostgreSQL {major}: {needed}")
            if connection.info.parameter_status("server_encoding") == "SQL_ASCII":
                # The encoding is unknown: each byte is one character, so none raises an error.
                connection.execute("SET client_encoding TO 'LATIN1'")
            yield Database(connection, address)
    except (psycopg.ProgrammingError, psycopg.DataError) as error:
        raise BadInput(_server_message(error)) from None
    except psycopg.Error as error:
        raise Unavailable(f"the target `{address.target}`: {_server_message(error)}") from None
    except UnicodeError:
        message = f"the target `{address.target}`: the server has a name in another encoding"
        raise BadInput(f"{message} than the database") from None


def _conninfo(url: str) -> str:
    """The address in the form that libpq reads.

    Raises `BadInput` if the driver would raise, or would parse a part of the password as a host or
    a port: the driver's own errors repeat their input.
    """
    scheme, is_url, rest = url.partition("://")
    text = f"{scheme.partition('+')[0]}{is_url}{rest}"
    try:
        parts = conninfo_to_dict(text)
    except psycopg.ProgrammingError:
        raise BadInput(_EXPECTED, where="url") from None
    hosts, ports = str(parts.get("host", "")).split(","), str(parts.get("port", "")).split(",")
    # A host that begins with `@` is an abstract socket of Linux.
    if any("@" in host[1:] for host in hosts) or not all(map(_is_port, ports)):
        raise BadInput(_EXPECTED, where="url")
    return text


def _is_port(text: str) -> bool:
    return not text or text.isdecimal()


def _server_message(error: psycopg.Error) -> str:
    """The first line of the server's message; it contains no credentials."""
    return (str(error).strip().splitlines() or ["no answer"])[0].lower()


class Database:
    """One database of PostgreSQL, within a transaction."""

    is_transactional: Final = True
    has_expensive_members: Final = False

    def __init__(self, connection: psycopg.Connection[Any], address: Address) -> None:
        self._connection, self._given = connection, address
        self._address = self._addressed()
        self._known = KnownRoles()

    def _addressed(self) -> Address:
        """The address with the schema of masking views, by the current marks of schemas."""
        marks = self._rows(_VIEW_MARKS, [list(self._given.view_schemas)])
        return self._given.with_views(dict(marks))

    @property
    def _views(self) -> MaskingViews:
        return MaskingViews(self._connection, self._address, has_old=self._known.has_views)

    @property
    def _managed(self) -> ManagedRoles:
        return ManagedRoles(self._rows, self._address, self._known, self._views)

    @property
    def prefix(self) -> str:
        """The prefix of the names of our roles."""
        return self._address.prefix

    @property
    def process(self) -> int:
        """The id of the server process of this connection."""
        return self._connection.info.backend_pid

    def lock(self) -> None:
        """Locks out other pushes to the target until the end; raises `Busy` during another push."""
        (row,) = self._rows("SELECT pg_try_advisory_xact_lock(%s)", [self._key])
        if not row[0]:
            raise under_way(self._address.target)
        self._address = self._addressed()

    def require_free(self) -> None:
        """Raises `Busy` while a push holds the lock; does not acquire it."""
        high, low = divmod(self._key % 2**64, 2**32)
        if self._rows(_LOCKED, [high, low]):
            raise under_way(self._address.target)

    def begin_snapshot(self) -> None:
        """Reads everything from now on from one snapshot; nothing can be changed then."""
        self._connection.commit()
        self._connection.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
        self._connection.read_only = True
        self._address = self._addressed()

    @property
    def _key(self) -> int:
        """The number of the target's lock."""
        digest = sha256(self._address.old_mark.encode()).digest()
        return int.from_bytes(digest[:8], signed=True)

    @property
    def tag(self) -> str:
        """Empty: the comments of our roles mark them, whatever their names."""
        return ""

    def claim(self, known: KnownRoles) -> None:
        """Claims known roles and views that are marked as before marks had a store id."""
        self._known |= known

    def objects(self) -> TargetObjects:
        """The current objects: users, schemas, tables and views with their columns."""
        ours = {*self._managed.ids().values()}
        return found_objects(self._rows, self._address, ours, self._views.problem())

    # --- what is held ---

    def managed_roles(self) -> Roles:
        """Our roles in their current state, with all changes by others."""
        return self._managed.roles()

    def irrevocable(self, held: Roles) -> Roles:
        """The memberships and grants of our roles that the account cannot revoke."""
        return self._managed.irrevocable(held)

    def holdings(self) -> Holdings:
        """The grants of accounts and roles other than ours."""
        masking = [(self._address.view_schema, name) for name in self._views.names()]
        return holdings(self._rows, self._managed.ids(), masking)

    # --- the account ---

    @property
    def _rights(self) -> AccountRights:
        return AccountRights(self._rows, self._connection)

    def missing_rights(self, paths: Collection[Path]) -> list[str]:
        """The rights that a push to these paths needs and the account lacks, with the remedies."""
        return [*self._rights.missing(paths, self._managed.ids())]

    def warnings(self) -> list[str]:
        """The excessive rights of the account, and the grants that it cannot revoke."""
        granted = self._managed.not_plain().values()
        return [*self._rights.warnings(granted, self._managed.ids())]

    def acts_as(self, account: ServerAccount) -> bool:
        """Whether the account that pushes is this one, or may act as it, such as a superuser."""
        return self._rights.acts_as(account)

    # --- steps ---

    def statements(self, steps: Iterable[Step]) -> list[Statement]:
        """The statements for the steps in the current state; similar steps share a statement."""
        todo = list(steps)
        state = self._state({of for step in todo for of in role_losing_member(step)})
        return [*Statements(state, self._address, self._connection).of(todo)]

    def _state(self, left: Collection[str]) -> TargetState:
        """The state that the statements depend on; `left` are the roles that members leave."""
        grantors: dict[tuple[str, str], list[str]] = {}
        for of, member, grantor in self._rows(_GRANTORS, [sorted(left)]):
            grantors.setdefault((of, member), []).append(grantor)
        policies: dict[Path, dict[str, str | None]] = {}
        secured: set[Path] = set()
        for schema, table, is_secured, name, comment in self._rows(_ALL_POLICIES):
            own = policies.setdefault((schema, table), {})
            if name is not None:
                own[name] = comment
            if is_secured:
                secured.add((schema, table))
        elsewhere = self._rows(_USED_ELSEWHERE, [[*self._managed.ids()]])
        not_plain = self._managed.not_plain()
        irrevocable = {one.role for one in not_plain.values() if one.is_stuck}
        return TargetState(
            database=self._connection.info.dbname,
            roles=role_names(self._rows),
            unmarked=self._managed.to_mark(),
            grantors=grantors,
            policies={path: frozenset(own) for path, own in policies.items()},
            secured=frozenset(
                path for path in secured if had_row_security(policies[path].values())
            ),
            used_elsewhere=frozenset(name for (name,) in elsewhere) | irrevocable,
            not_plain=not_plain,
            views=self._views.found(),
        )

    def execute(self, statements: Iterable[Statement]) -> None:
        """Sends the statements."""
        for one in statements:
            self._connection.execute(one.text.encode(self._connection.info.encoding))

    def _rows(
        self, query: str, parameters: Sequence[object] | Mapping[str, object] | None = None
    ) -> list[tuple[Any, ...]]:
        return self._connection.execute(query, parameters).fetchall()
