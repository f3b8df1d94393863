"""Tables of MariaDB and MySQL that read rows of other tables, with rights on themselves alone.

A table of the engine MERGE is a list of tables, and a user who may read it reads them: they are
below it as partitions of PostgreSQL are below their table. An engine not listed here, such as one
that logs in to another server with an account of its own, may read anything.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import pymysql

from lakewarden.pushdown.grants import READ, Grant, Path
from lakewarden.pushdown.mariadb_names import quoted
from lakewarden.pushdown.mariadb_owners import CHANGES
from lakewarden.pushdown.owners_rights import Way, levels

MERGE: Final = "mrg_myisam"
_HOLDING: Final = frozenset({
    *("innodb", "myisam", "aria", "memory", "archive", "csv", "blackhole", "rocksdb", "tokudb"),
    *("columnstore", "s3", "mroonga", "ndbcluster"),
})  # fmt: skip
"""Engines whose tables hold rows of their own."""

_NAME: Final = r"`((?:[^`]|``)+)`"
_ONE: Final = re.compile(rf"{_NAME}(?:\.{_NAME})?")
_LIST: Final = rf"\({_ONE.pattern}(?:,{_ONE.pattern})*\)"
_TEXT: Final = r"'(?:[^'\\]|''|\\.)*'"
_OPTION: Final = rf" (?:DEFAULT )?([A-Z_]+)=(\w+|{_TEXT}|{_LIST})"
_OPTIONS: Final = re.compile(rf"\n\) ENGINE=\w+((?:{_OPTION})*)$", re.DOTALL)
"""The options at the end of a table's definition; one that lists tables has some of `_ONE`."""


@dataclass(frozen=True, slots=True)
class UnderlyingTables:
    """The tables that a table reads its rows from, and the tables for which they are unknown."""

    below: Mapping[Path, frozenset[Path]] = field(default_factory=dict)
    unknown: Mapping[Path, str] = field(default_factory=dict)


def underlying_tables(
    rows: Callable[[str], list[dict[str, Any]]], engines: Iterable[tuple[Path, str | None]]
) -> UnderlyingTables:
    """The tables that tables reach through their engines."""
    below: dict[Path, frozenset[Path]] = {}
    unknown: dict[Path, str] = {}
    for path, engine in engines:
        name = (engine or "").lower()
        if name == MERGE:
            tables = _listed(rows, path)
            if tables is None:
                unknown[path] = "the server does not say which tables it merges"
            else:
                below[path] = tables
        elif name not in _HOLDING:
            said = f"its engine `{engine}`" if engine else "an engine that the server cannot open"
            unknown[path] = f"{said} may read rows of other tables"
    return UnderlyingTables(below, unknown)


def _listed(rows: Callable[[str], list[dict[str, Any]]], path: Path) -> frozenset[Path] | None:
    try:
        (row,) = rows(f"SHOW CREATE TABLE {'.'.join(map(quoted, path))}")
    except pymysql.MySQLError:
        return None
    return merged(str(row.get("Create Table", "")), path[0])


def merging(below: Mapping[Path, frozenset[Path]]) -> Iterator[Way]:
    """The ways through tables that list others: a right on such a table works on all of them."""
    for path, tables in sorted(below.items()):
        for act in (READ, *CHANGES):
            opens = frozenset(Grant(one, act) for one in tables)
            yield Way(f"MERGE {'.'.join(path)}", "", levels(path, act), opens)


def merged(statement: str, home: str) -> frozenset[Path] | None:
    """The tables that a table merges, from its definition; None if it lists none."""
    found = _OPTIONS.search(statement)
    options = re.finditer(_OPTION, found[1], re.DOTALL) if found else ()
    listed = next((one[2] for one in options if one[1] == "UNION"), "")
    pairs = _ONE.findall(listed)
    if not pairs:
        return None
    names = ((one.replace("``", "`"), other.replace("``", "`")) for one, other in pairs)
    return frozenset((one, other) if other else (home, one) for one, other in names)
