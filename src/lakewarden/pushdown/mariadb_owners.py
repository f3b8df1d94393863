"""Objects of others in a MariaDB or MySQL that work with the rights of their definer.

The text of a view names what it reads. For a routine, a trigger or an event, all tables count whose
names are in its text, and all that the named views and routines reach in turn. If the account may
not see the text, or the text builds statements dynamically, the object may reach everything.

Nobody calls a trigger or an event: it may copy rows between the tables that it names.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from lakewarden.names.mysql_account import Account, user_name
from lakewarden.pushdown.drift import ON_PATTERN
from lakewarden.pushdown.grants import READ, Grant, Path
from lakewarden.pushdown.mariadb_catalog import ON_ROUTINE
from lakewarden.pushdown.mariadb_names import pattern_regex
from lakewarden.pushdown.owners_rights import Way, levels

Query = Callable[..., list[dict[str, Any]]]
"""The rows of a query, by the names of its columns; parameters may follow."""

_TABLES: Final = """
SELECT TABLE_SCHEMA AS s, TABLE_NAME AS t FROM information_schema.TABLES
WHERE TABLE_SCHEMA NOT IN %s
"""
_VIEWS: Final = """
SELECT TABLE_SCHEMA AS s, TABLE_NAME AS name, VIEW_DEFINITION AS text, DEFINER AS definer,
       SECURITY_TYPE AS security, IS_UPDATABLE AS updatable
FROM information_schema.VIEWS WHERE TABLE_SCHEMA NOT IN %s
"""
_ROUTINES: Final = """
SELECT ROUTINE_SCHEMA AS s, ROUTINE_NAME AS name, ROUTINE_TYPE AS kind, DEFINER AS definer,
       ROUTINE_DEFINITION AS text, SECURITY_TYPE AS security
FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA NOT IN %s
"""
_TRIGGERS: Final = """
SELECT TRIGGER_SCHEMA AS s, TRIGGER_NAME AS name, EVENT_OBJECT_TABLE AS t, DEFINER AS definer,
       EVENT_MANIPULATION AS act, ACTION_STATEMENT AS text
FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA NOT IN %s
"""
_EVENTS: Final = """
SELECT EVENT_SCHEMA AS s, EVENT_NAME AS name, EVENT_DEFINITION AS text, DEFINER AS definer
FROM information_schema.EVENTS WHERE EVENT_SCHEMA NOT IN %s
"""
_EVENTS_OF_MARIADB: Final = """
SELECT db AS s, name, CONVERT(body_utf8 USING utf8mb4) AS text, definer
FROM mysql.event WHERE db NOT IN %s
"""
MOST_SHOWN: Final = 1_000
"""The most views that are queried one by one; the others may reach everything."""

CHANGES: Final = ("INSERT", "UPDATE", "DELETE")
_DYNAMIC: Final = frozenset({"prepare", "immediate"})
"""The words in statements that execute dynamic SQL."""

_PLAIN: Final = r"[\w$\u0080-\uffff]"
_NAME: Final = rf"`(?:[^`]|``)+`|{_PLAIN}+"
_PAIR: Final = re.compile(rf"(?<!{_PLAIN})(?=({_NAME})\.({_NAME}))")
"""Two names in a row, in any chain of names; whoever makes a view chooses whether its text has
plain names without quotes (`sql_quote_show_create`)."""

_WORD: Final = re.compile(r"`((?:[^`]|``)+)`|\"((?:[^\"]|\"\")+)\"|([\w$]+)")
_PLAIN_WORD: Final = re.compile(r"[\w$]+")


@dataclass(frozen=True, slots=True)
class _Reach:
    """The tables that something may reach; all tables, unless it is `known`."""

    tables: frozenset[Path]
    known: bool = True

    def opens(self, act: str, without: Path | None = None) -> frozenset[Grant]:
        if not self.known:
            return frozenset({Grant((), act)})
        return frozenset(Grant(path, act) for path in self.tables if path != without)


def ways(
    rows: Query,
    system: Sequence[str],
    own: Collection[Path],
    shown: Callable[[Path], str],
    *,
    is_mysql: bool,
) -> Iterator[Way]:
    """All ways outside the system's databases, except through our `own` views.

    MySQL lists the text of a view only for its definer; `shown` returns the text that the server
    shows of one, "" if the account may not see it.
    """
    where = (tuple(system),)
    views, routines = rows(_VIEWS, where), rows(_ROUTINES, where)
    hidden = [row for row in views if not row["text"]] if is_mysql else []
    for row in hidden[:MOST_SHOWN]:
        row["text"] = shown((row["s"], row["name"]))
    texts = _Texts(((row["s"], row["t"]) for row in rows(_TABLES, where)), views, routines)
    for row in views:
        path = row["s"], row["name"]
        if row["security"] == "DEFINER" and path not in own:
            reach = texts.of_view(path)
            for act in (READ, *(CHANGES if row["updatable"] == "YES" else ())):
                yield _way("VIEW", row, levels(path, act), reach.opens(act))
    for row in routines:
        if row["security"] == "DEFINER":
            reach = texts.reach(row["text"], row["s"])
            yield _way(row["kind"], row, _called(row), reach.opens(READ))
    for row in rows(_TRIGGERS, where):
        reach = texts.reach(row["text"], row["s"], row["t"])
        at = row["s"], row["t"]
        yield _way("TRIGGER", row, levels(at, row["act"]), reach.opens(READ, at))
        yield from _copies("TRIGGER", row, reach)
    for row in rows(_EVENTS if is_mysql else _EVENTS_OF_MARIADB, where):
        yield from _copies("EVENT", row, texts.reach(row["text"], row["s"]))


def expanded(
    grants: Iterable[tuple[str, Grant]], databases: Collection[str]
) -> Iterator[tuple[str, Grant]]:
    """The grants; those on patterns also for each matching database.

    >>> [grant.path for _, grant in expanded(
    ...     [("ana", Grant(("a%",), "SELECT ON PATTERN"))], ["ab", "b"])]
    [('a%',), ('ab',)]
    """
    for grantee, grant in grants:
        yield grantee, grant
        if grant.privilege.endswith(ON_PATTERN):
            fits, privilege = pattern_regex(grant.path[0]), grant.privilege.removesuffix(ON_PATTERN)
            for name in filter(fits.fullmatch, databases):
                yield grantee, Grant((name,), privilege)


def _way(kind: str, row: Mapping[str, Any], uses: frozenset[Grant], opens: frozenset[Grant]) -> Way:
    user, _, host = row["definer"].rpartition("@")
    name = f"{kind} {row['s']}.{row['name']}"
    return Way(name, user_name(Account(user, host)), uses, opens)


def _called(routine: Mapping[str, Any]) -> frozenset[Grant]:
    path = routine["s"], routine["name"]
    return levels(path[:1], "EXECUTE") | {Grant(path, f"EXECUTE{ON_ROUTINE}{routine['kind']}")}


def _copies(kind: str, row: Mapping[str, Any], reach: _Reach) -> Iterator[Way]:
    """The ways to read tables through copies: a reader of one may find rows of the others there."""
    named = _Reach(reach.tables)
    for path in sorted(named.tables):
        yield _way(kind, row, levels(path, READ), named.opens(READ, path))


class _Named(NamedTuple):
    """The tables, views and routines that a text names; there may be more unless it is `known`."""

    tables: set[Path]
    routines: set[Path]
    known: bool


class _Texts:
    """The names in the texts of views and routines, and what they reach through these."""

    def __init__(
        self,
        tables: Iterable[Path],
        views: Sequence[Mapping[str, Any]],
        routines: Sequence[Mapping[str, Any]],
    ) -> None:
        self._views: dict[Path, str] = {(row["s"], row["name"]): row["text"] for row in views}
        self._tables = _by_name([*tables, *self._views])
        self._routines = _by_name((row["s"], row["name"]) for row in routines)
        self._bodies: dict[Path, list[str | None]] = {}
        for row in routines:
            self._bodies.setdefault((row["s"], row["name"]), []).append(row["text"])

    def of_view(self, path: Path) -> _Reach:
        """The tables that a view reads."""
        return self._reached(self._in_view(path))

    def reach(self, text: str | None, home: str, table: str | None = None) -> _Reach:
        """The tables that a text in the database `home` may reach, and the table it belongs to."""
        found = self._reached(self._in_text(text, home))
        own = frozenset() if table is None else frozenset({(home, table)})
        return _Reach(found.tables | own, found.known)

    def _reached(self, named: _Named) -> _Reach:
        todo, tables, called, known = [named], set[Path](), set[Path](), True
        while todo:
            one = todo.pop()
            known = known and one.known
            for path in one.tables - tables:
                tables.add(path)
                if path in self._views:
                    todo.append(self._in_view(path))
            for path in one.routines - called:
                called.add(path)
                todo += [self._in_text(text, path[0]) for text in self._bodies[path]]
        return _Reach(frozenset(tables - self._views.keys()), known)

    def _in_view(self, path: Path) -> _Named:
        """The tables and routines that a view names, each with its database."""
        text = self._views[path] or ""
        pairs = {(_unquoted(database), _unquoted(name)) for database, name in _PAIR.findall(text)}
        return _Named(
            {one for one in pairs if one in self._tables.get(one[1].casefold(), ())},
            {one for one in pairs if one in self._bodies},
            bool(text),
        )

    def _in_text(self, text: str | None, home: str) -> _Named:
        """The tables and routines whose names are words of a text."""
        words = {*_words(text or "")}
        near = words | {home.casefold()}
        tables, routines = (
            {
                path
                for word in words & places.keys()
                for path in places[word]
                if path[0].casefold() in near
            }
            for places in (self._tables, self._routines)
        )
        return _Named(tables, routines, bool(text) and not words & _DYNAMIC)


def _unquoted(name: str) -> str:
    return name[1:-1].replace("``", "`") if name.startswith("`") else name


def _by_name(paths: Iterable[Path]) -> Mapping[str, list[Path]]:
    found: dict[str, list[Path]] = {}
    for path in paths:
        found.setdefault(path[-1].casefold(), []).append(path)
    return found


def _words(text: str) -> Iterator[str]:
    """The names in a statement and the words in its string literals, casefolded."""
    for quoted, text_or_name, plain in _WORD.findall(text):
        if text_or_name:
            yield text_or_name.replace('""', '"').casefold()
            yield from (word.casefold() for word in _PLAIN_WORD.findall(text_or_name))
        else:
            yield (plain or quoted.replace("``", "`")).casefold()
