"""Masking views of MariaDB and MySQL: in a database of their own, for one role each.

A view reads its table with the rights of the account that pushes. One with row filters is
materialized first: otherwise the server would evaluate the reader's conditions on rows that the
view filters out, and reveal their values in warnings. `TEMPTABLE` alone is no barrier, because
conditions are pushed down into it; with a `LIMIT` they are not.

Views have no comments there. The notes on them are rows of a table of ours beside them, whose
comment marks the database. A view counts as unchanged if its role may read it, which is granted
last, and if it is in the state that its note records: its text, its options, and the other readers.

The current state is read once: the statements keep track of the effects of those before them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Final

from pymysql.converters import escape_string

from lakewarden.names.mysql_account import Account, user_name
from lakewarden.pushdown.address import Address
from lakewarden.pushdown.grants import EVERY_ROW, READ, Grant, MaskingView
from lakewarden.pushdown.mariadb_catalog import GRANT_OPTION, Catalog, privilege_sql
from lakewarden.pushdown.mariadb_names import grantee, quoted
from lakewarden.pushdown.masking_views import (
    NAME_DIGITS,
    Note,
    note_on,
    read_note,
    view_names,
    view_query,
)

Query = Callable[..., list[dict[str, Any]]]
"""The rows of a query, by the names of its columns; parameters may follow."""

RIGHTS: Final = (
    *("SELECT", "INSERT", "DELETE", "CREATE", "DROP", "CREATE VIEW", "SHOW VIEW"),
    GRANT_OPTION,
)
"""The rights that the account needs on the database of the views."""

_TABLE: Final = "lakewarden"
_LONGEST: Final = 64
_LONGEST_FILE: Final = 200
"""The most characters of a name, and of the name of its file."""

_SIGN: Final = 5
"""The length in a file name of a character other than ASCII letters and digits."""

_NOTES_AT_ONCE: Final = 100
"""The most notes of one statement."""

_BARRIER: Final = " LIMIT 18446744073709551615"

_MARKS: Final = """
SELECT TABLE_SCHEMA AS s, TABLE_COMMENT AS mark FROM information_schema.TABLES
WHERE TABLE_SCHEMA IN %s AND TABLE_NAME = %s
"""
_NAMES: Final = "SELECT TABLE_NAME AS name FROM information_schema.TABLES WHERE TABLE_SCHEMA = %s"
_DATABASE: Final = "SELECT 1 AS one FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = %s"
_PROGRAMS: Final = """
SELECT ROUTINE_NAME AS name FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = %s
UNION ALL SELECT EVENT_NAME FROM information_schema.EVENTS WHERE EVENT_SCHEMA = %s
"""
_STATE: Final = (
    *("VIEW_DEFINITION", "CHECK_OPTION", "DEFINER", "SECURITY_TYPE", "ALGORITHM"),
    *("CHARACTER_SET_CLIENT", "COLLATION_CONNECTION"),
)
"""The properties that reveal an altered view; MySQL does not show the algorithm."""

_STATE_OF: Final = "CONCAT_WS('\\n', {})"
_VIEWS: Final = """
SELECT TABLE_NAME AS name, DEFINER AS definer, {} AS state
FROM information_schema.VIEWS WHERE TABLE_SCHEMA = %s
"""
_NOTED: Final = """
REPLACE INTO {at} (name, note) SELECT noted.name, JSON_SET(noted.note, '$.state', {state})
FROM {at} AS noted JOIN information_schema.VIEWS AS made
ON CONVERT(made.TABLE_NAME USING utf8mb4) COLLATE utf8mb4_bin = noted.name
WHERE made.TABLE_SCHEMA = {schema} AND noted.name IN ({names})
"""


@dataclass(frozen=True, slots=True)
class _ManagedView:
    """A view of ours: its note, and its state, which is None if the view does not exist.

    A view that is not `by_us` reads with the rights of another account than the one that pushes.
    """

    note: Note
    state: str | None
    by_us: bool

    def is_for(self, role: str, view: MaskingView) -> bool:
        return (self.note.role, self.note.path) == (role, view.path)


class MaskingViews:
    """The masking views of one target in one server, and what others than `ours` may do with them.

    `ours` are the names of all our roles, whose grants are managed with them. If the store knows
    that it `has_views`, views with a mark from before marks had a store id are ours, too.
    """

    def __init__(
        self,
        rows: Query,
        catalog: Catalog,
        address: Address,
        ours: Collection[str],
        *,
        has_views: bool = False,
        is_mysql: bool = False,
    ) -> None:
        self._rows, self._catalog, self._managed_roles = rows, catalog, ours
        self._schema, self._mark = address.view_schema, address.mark
        self._marks = {address.mark, address.old_mark} if has_views else {address.mark}
        columns = (one for one in _STATE if not (is_mysql and one == "ALGORITHM"))
        named = {one: f"COALESCE({one}, 'None')" for one in columns}
        self._state_of = _STATE_OF.format(", ".join(named.get(one, "''") for one in _STATE))
        self._dropped: set[str] = set()
        self._added: set[str] = set()
        self._makes_database = False

    # --- what there is ---

    def problem(self) -> str:
        """The reason why there can be no views; "" if there can."""
        if self._is_foreign:
            message = f"the database `{self._schema}` was not created by lakewarden"
            return f"{message}: drop or rename it, or give the target another name"
        if self.missing_rights():
            return "the target's account may not create masking views; check its rights"
        return ""

    def missing_rights(self) -> list[str]:
        """The rights that the account that pushes lacks on the database of the views."""
        given = self._catalog.direct_privileges(self._catalog.me)
        own = {one.privilege for one in given if one.path in ((), (self._schema,))}
        return [one for one in RIGHTS if one not in own]

    def current_views(self, roles: Iterable[str]) -> Mapping[str, Mapping[str, MaskingView]]:
        """The views of these roles by name; one that differs from its note is marked as altered."""
        found: dict[str, dict[str, MaskingView]] = {one: {} for one in roles}
        for name, own in self._managed_views.items():
            role = own.note.role
            if role in found and own.state is not None and self._may_read(role, name):
                found[role][name] = own.note.found(own.state, is_usable=own.by_us)
        return found

    def names(self) -> frozenset[str]:
        """The names of the views that have notes."""
        return frozenset(self._notes)

    def right(self, name: str) -> Grant:
        """The grant that the role of a view has on it."""
        return Grant((self._schema, name), READ)

    def _may_read(self, role: str, name: str) -> bool:
        return self.right(name) in self._catalog.direct_privileges(Account(role, ""))

    @cached_property
    def _managed_views(self) -> Mapping[str, _ManagedView]:
        """Our views by name, including those with a note that do not exist."""
        made = self._server_records if self._notes else {}
        me = f"{self._catalog.me.user}@{self._catalog.me.host}"
        return {
            name: _ManagedView(note, self._state(name, row), bool(row) and row["definer"] == me)
            for name, note in self._notes.items()
            for row in (made.get(name, {}),)
        }

    @cached_property
    def _notes(self) -> Mapping[str, Note]:
        if not self._is_marked:
            return {}
        notes = f"SELECT name, note FROM {self._at(_TABLE)}"  # noqa: S608 — a name of ours
        read = {row["name"]: read_note(row["note"]) for row in self._rows(notes)}
        ours = {name: one for name, one in read.items() if one and one.target in self._marks}
        return dict(sorted(ours.items()))

    @cached_property
    def _server_records(self) -> Mapping[str, Mapping[str, Any]]:
        """The server's record of each view."""
        views = _VIEWS.format(self._state_of)
        return {row["name"]: row for row in self._rows(views, (self._schema,))}

    def _state(self, name: str, row: Mapping[str, Any]) -> str | None:
        """The server's record of a view, and the grants of others on it."""
        others = (f"{user_name(one)}: {grant}" for one, grant in self._foreign_grants.get(name, ()))
        return "\n".join([row["state"], *others]) if row else None

    @cached_property
    def _foreign_grants(self) -> Mapping[str, list[tuple[Account, Grant]]]:
        """The grants of others on each view and on its columns."""
        roles = {
            Account(name, "") for name in self._catalog.roles if name not in self._managed_roles
        }
        found: dict[str, list[tuple[Account, Grant]]] = {}
        for account in sorted(roles.union(self._catalog.accounts)):
            for one in sorted(self._catalog.direct_privileges(account)):
                if one.path[:1] == (self._schema,) and one.path[1:]:
                    found.setdefault(one.path[1], []).append((account, one))
        return found

    @cached_property
    def _is_marked(self) -> bool:
        return view_marks(self._rows, (self._schema,)).get(self._schema) in self._marks

    @property
    def _is_foreign(self) -> bool:
        """Whether somebody else made the database; an empty one may be used."""
        return not self._is_marked and bool(self._names or self._programs)

    @cached_property
    def _names(self) -> frozenset[str]:
        """The names of tables and views in the database."""
        return frozenset(row["name"] for row in self._rows(_NAMES, (self._schema,)))

    @cached_property
    def _programs(self) -> list[dict[str, Any]]:
        return self._rows(_PROGRAMS, (self._schema, self._schema))

    # --- changes ---

    def dropped(self, views: Iterable[tuple[str, MaskingView]]) -> Iterator[str]:
        """Drops the views of roles: first the right to read them."""
        gone = {(role, view.path) for role, view in views}
        roles = {
            name: note.role
            for name, note in (self._notes.items() if gone else ())
            if (note.role, note.path) in gone
        }
        for name, role in roles.items():
            if self._may_read(role, name):
                yield f"REVOKE {READ} ON {self._at(name)} FROM {quoted(role)}"
        yield from self._drop([*roles])

    def added(self, views: Sequence[tuple[str, MaskingView]]) -> Iterator[str]:
        """Creates the views, and then grants the right to read them to their roles alone."""
        if not views:
            return
        yield from self._create_database()
        named = dict(zip(self._free(views), views, strict=True))
        yield from self._write_notes(named)
        for name, (_, view) in named.items():
            # Grants on an earlier view of that name.
            yield from self._revoked(name)
            yield self._creation(name, view)
        for some in _batches([*named]):
            text = _NOTED.strip().replace("\n", " ").format(
                at=self._at(_TABLE), state=self._state_of, schema=_literal(self._schema),
                names=", ".join(map(_literal, some)),
            )  # fmt: skip
            yield text
        for name, (role, _) in named.items():
            yield f"GRANT {READ} ON {self._at(name)} TO {quoted(role)}"

    def cleanup(self, gone: Collection[str]) -> Iterator[str]:
        """Drops the views that no role reads without `gone`, and the database if it is empty."""
        if not (self._is_marked or self._makes_database):
            return
        roles = self._catalog.roles.difference(gone)
        read = {name for one in self.current_views(roles).values() for name in one} | self._added
        left = self._notes.keys() - self._dropped
        yield from self._drop(sorted(left - read))
        # Only our views are dropped, whatever the other names are.
        names = (self._names - (self._dropped & self._server_records.keys())) | self._added
        if names <= {_TABLE} and not self._programs:
            yield f"DROP DATABASE {quoted(self._schema)}"

    def _free(self, views: Sequence[tuple[str, MaskingView]]) -> Iterator[str]:
        """A name for each view: its own, or a free one."""
        own = self._managed_views
        taken = {*self._names} - (self._dropped & self._server_records.keys())
        mine = {name for name, one in own.items() if one.state is not None} - self._dropped
        for role, view in views:
            names = view_names(view.path, role, _shortened)
            name = next(
                one
                for one in names
                if one not in taken or (one in mine and own[one].is_for(role, view))
            )
            taken.add(name)
            self._added.add(name)
            self._dropped.discard(name)
            yield name

    def _create_database(self) -> Iterator[str]:
        if self._is_marked:
            return
        self._makes_database = True
        if not self._rows(_DATABASE, (self._schema,)):
            collation = "CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
            yield f"CREATE DATABASE {quoted(self._schema)} {collation}"
        columns = "name varchar(64) NOT NULL PRIMARY KEY, note longtext NOT NULL"
        options = "ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin"
        mark = _literal(self._mark)
        yield f"CREATE TABLE {self._at(_TABLE)} ({columns}) {options} COMMENT = {mark}"

    def _creation(self, name: str, view: MaskingView) -> str:
        is_whole = view.condition == EVERY_ROW
        algorithm, barrier = ("UNDEFINED", "") if is_whole else ("TEMPTABLE", _BARRIER)
        options = f"ALGORITHM = {algorithm} DEFINER = CURRENT_USER SQL SECURITY DEFINER"
        text = view_query(view, quoted)
        return f"CREATE OR REPLACE {options} VIEW {self._at(name)} AS {text}{barrier}"

    def _revoked(self, name: str) -> Iterator[str]:
        for account, grant in self._foreign_grants.get(name, ()):
            privilege, on = privilege_sql(grant)
            yield f"REVOKE {privilege}{on} FROM {grantee(account)}"

    def _write_notes(self, named: Mapping[str, tuple[str, MaskingView]]) -> Iterator[str]:
        """Writes notes on views before they are created."""
        rows = [
            f"({_literal(name)}, {_literal(note_on(self._mark, role, view, '').text)})"
            for name, (role, view) in named.items()
        ]
        for some in _batches(rows):
            text = f"REPLACE INTO {self._at(_TABLE)} (name, note) VALUES"
            yield f"{text} {', '.join(some)}"

    def _drop(self, names: Sequence[str]) -> Iterator[str]:
        self._dropped.update(names)
        for some in _batches(names):
            yield f"DROP VIEW IF EXISTS {', '.join(map(self._at, some))}"
            listed = ", ".join(map(_literal, some))
            yield f"DELETE FROM {self._at(_TABLE)} WHERE name IN ({listed})"  # noqa: S608 — ours

    def _at(self, name: str) -> str:
        return f"{quoted(self._schema)}.{quoted(name)}"


def view_marks(rows: Query, schemas: Sequence[str]) -> Mapping[str, str]:
    """The marks of the databases of masking views."""
    return {row["s"]: row["mark"] for row in rows(_MARKS, (schemas, _TABLE))}


def _batches(rows: Sequence[str]) -> Iterator[Sequence[str]]:
    return (rows[start : start + _NOTES_AT_ONCE] for start in range(0, len(rows), _NOTES_AT_ONCE))


def _literal(text: str) -> str:
    return f"'{escape_string(text)}'"


def _shortened(stem: str) -> str:
    """The beginning of a name, cut to what the server and the file system of its views support."""
    room, kept = _LONGEST_FILE, ""
    for sign in stem[: _LONGEST - NAME_DIGITS - 1]:
        room -= 1 if (sign.isascii() and sign.isalnum()) or sign == "_" else _SIGN
        if room < 0:
            break
        kept += sign
    return kept
