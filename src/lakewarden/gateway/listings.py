"""`SHOW` and `DESCRIBE`: lists of what the user may see, made by the gateway.

The gateway queries Spark for the objects; Spark never gets the statement.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pyspark.sql.connect.proto import relations_pb2 as relations

from lakewarden.gateway import identifiers
from lakewarden.gateway.access import Access, Name
from lakewarden.gateway.errors import Denied
from lakewarden.gateway.local_rows import local
from lakewarden.gateway.plan_enforcer import Columns
from lakewarden.gateway.session import Session

RowsOf = Callable[[relations.Relation], Sequence[dict[str, Any]]]
"""The rows of Spark's response."""

_SHOW: Final = re.compile(
    r"\s*SHOW\s+(TABLES|VIEWS|DATABASES|SCHEMAS|NAMESPACES|CATALOGS|COLUMNS)"
    r"(?:\s+(?:FROM|IN)\s+([\w`.]+))?(?:\s+(?:LIKE\s+)?'([^'\\]*)')?\s*;?\s*",
    re.IGNORECASE | re.ASCII,
)
_SCHEMAS: Final = ("DATABASES", "SCHEMAS", "NAMESPACES")
_VIEW: Final = "VIEW"


@dataclass(frozen=True, slots=True)
class Show:
    """A SHOW statement: the kind of list, its container, and its pattern."""

    kind: str
    within: str
    pattern: str | None


def read_show(text: str) -> Show | None:
    """Parses a SHOW statement; None for another statement.

    >>> read_show("show tables in sales like 'a*'")
    Show(kind='TABLES', within='sales', pattern='a*')
    """
    match = _SHOW.fullmatch(text)
    return match and Show(match.group(1).upper(), match.group(2) or "", match.group(3))


class Listings:
    """The answers of one call."""

    def __init__(
        self,
        session: Session,
        access: Access,
        rows_of: RowsOf,
        columns_of: Callable[[Name], Columns],
    ) -> None:
        self._session = session
        self._access = access
        self._rows_of = rows_of
        self._columns_of = columns_of

    def shown(self, show: Show) -> relations.Relation:
        """The result of the statement. Raises `Denied`."""
        names = identifiers.split(show.within) if show.within else ()
        if show.kind in _SCHEMAS:
            return self._schemas(names, show.pattern)
        match show.kind:
            case "CATALOGS" if not names:
                found = _matching(self._access.catalogs(), show.pattern)
                return local({"catalog": str}, [(name,) for name in found])
            case "COLUMNS" if names and show.pattern is None:
                columns = self._described(self._session.qualified(names))
                return local({"col_name": str}, [(name,) for name in columns])
            case "TABLES" | "VIEWS":
                return self._tables(names, show)
        raise Denied("this SHOW is not permitted")

    def described(self, name: Name) -> relations.Relation:
        """The columns of a table with their types. Raises `Denied`."""
        rows = [(column, type, None) for column, type in self._described(name).items()]
        return local({"col_name": str, "data_type": str, "comment": str}, rows)

    def _described(self, name: Name) -> Columns:
        self._access.require("DescribeTable", name)
        return self._columns_of(name)

    def _schemas(self, names: Name, pattern: str | None) -> relations.Relation:
        first = self._session.first_catalog
        # Spark lists those of its own current catalog, which is the one of the first session.
        if tuple(names) not in ((), (first,)) or (not names and self._session.catalog != first):
            raise Denied("schemas are listed in the first catalog of a session only")
        plan = relations.Relation()
        plan.catalog.list_databases.SetInParent()
        visible = set(self._access.schemas(first))
        there = [row["name"] for row in self._rows_of(plan) if row["name"] in visible]
        return local({"namespace": str}, [(name,) for name in _matching(there, pattern)])

    def _tables(self, names: Name, show: Show) -> relations.Relation:
        catalog, schema = self._session.qualified_schema(names)
        self._access.require("UseSchema", (catalog, schema))
        plan = relations.Relation()
        plan.catalog.list_tables.db_name = identifiers.join((catalog, schema))
        visible = set(self._access.tables(catalog, schema))
        there = [
            row["name"]
            for row in self._rows_of(plan)
            if row["name"] in visible
            and not row["isTemporary"]
            and (show.kind == "TABLES" or row["tableType"] == _VIEW)
        ]
        stored = [(schema, name, False) for name in _matching(there, show.pattern)]
        own = [("", name, True) for name in _matching(self._session.views, show.pattern)]
        called = "tableName" if show.kind == "TABLES" else "viewName"
        return local({"namespace": str, called: str, "isTemporary": bool}, [*stored, *own])


def _matching(names: Sequence[str] | Any, pattern: str | None) -> list[str]:
    """The sorted names that match a pattern in Spark's syntax: `*`, and `|` for alternatives."""
    if pattern is None:
        return sorted(names)
    parts = [re.escape(part).replace(r"\*", ".*") for part in pattern.strip().split("|")]
    matcher = re.compile("|".join(parts), re.IGNORECASE)
    return sorted(name for name in names if matcher.fullmatch(name))
