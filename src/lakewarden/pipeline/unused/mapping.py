"""Maps the terms of a log to ours: the meaning of columns, and how names are composed.

A mapping file is TOML with a table for each kind of log that needs one. For `csv` and `json`:

    [csv]
    principal = "who"                          # a column, or a text with columns in braces
    operation = "verb"                         # a column
    entity = "table:lake:{database}.{table}"   # likewise; `type:name` in our spelling
    time = "at"                                # ISO 8601, or seconds or milliseconds
    count = "n"                                # optional: how often; 1
    outcome = "status"                         # optional: without it everything was allowed
    allowed = ["OK"]                           # the outcomes that mean allowed

    [csv.operations]                           # optional: the log's words for our operations
    SELECT = "table.load"                      # or privileges; other words are used unchanged

For `spark`, `trino`, `snowflake`, `bigquery`, `postgresql`, `ranger` and `openlineage`, all keys
are optional: `principal` over `{user}`; `entity` over `{catalog}`, `{schema}` and `{table}`; `read`
and `write`, the operations for these accesses. Views are named and read like tables. `principal` of
`openlineage` is over any path of an event; without braces it is the principal that the jobs run as.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.model import CHANGE, READ
from lakewarden.kernel.toml_section import Section
from lakewarden.pipeline.storage.location import Location
from lakewarden.pipeline.toml_file import unreadable
from lakewarden.pipeline.unused.access_record import text_of
from lakewarden.service.system import System

CSV: Final = "csv"
JSON: Final = "json"
SPARK: Final = "spark"
TRINO: Final = "trino"
USAGE: Final = "usage"
SNOWFLAKE: Final = "snowflake"
BIGQUERY: Final = "bigquery"
POSTGRESQL: Final = "postgresql"
RANGER: Final = "ranger"
OPENLINEAGE: Final = "openlineage"

OF_TABLES: Final = (SPARK, TRINO, SNOWFLAKE, BIGQUERY, POSTGRESQL, RANGER, OPENLINEAGE)
"""Logs of engines and warehouses, which name catalog, schema and table."""

_SPARKS_USER: Final = "{run.facets.spark_applicationDetails.userName}"
"""The user who ran a job, in OpenLineage's events of Spark."""

_HOLE: Final = re.compile(r"\{([^{}]+)\}")
_TABLE: Final = "table"
_VIEW: Final = "view"
_PARTS: Final = frozenset({"catalog", "schema", "table"})


@dataclass(frozen=True, slots=True)
class Text:
    """A text composed from a record: its columns in braces are replaced by the record's values.

    >>> Text("{a}.{b.c}").of({"a": "x", "b": {"c": "y"}})
    'x.y'
    """

    template: str

    @staticmethod
    def read(spelled: str) -> Text:
        """Reads a template; a word without braces names a column."""
        return Text(spelled if _HOLE.search(spelled) else f"{{{spelled}}}")

    @property
    def columns(self) -> frozenset[str]:
        """The columns that it uses."""
        return frozenset(_HOLE.findall(self.template))

    def of(self, record: Mapping[str, object]) -> str:
        """The text. Raises `BadInput` for a missing or empty column."""
        return _HOLE.sub(lambda hole: text_of(record, hole[1]), self.template)


@dataclass(frozen=True, slots=True)
class Columns:
    """The columns of a csv or json log; `count` and `outcome` may be empty."""

    principal: Text
    operation: str
    entity: Text
    time: str
    count: str = ""
    outcome: str = ""
    allowed: frozenset[str] = frozenset()
    operations: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Tables:
    """The entities of an engine's tables in the realm, and the operations of reads and writes.

    `view` and `read_view` are the same for views, if the log distinguishes them from tables.
    """

    principal: Text
    entity: Text
    read: str
    write: str
    view: Text
    read_view: str


@dataclass(frozen=True, slots=True)
class Mappings:
    """The mappings of one file; kinds without a table in the file are missing."""

    columns: Mapping[str, Columns]
    tables: Mapping[str, Tables]


def read_mappings(
    file: Location | None, kinds: Sequence[str], system: System, containers: Sequence[str]
) -> Mappings:
    """The mappings for logs of these kinds.

    `containers` are the realm's membership containers: if there is exactly one, the tables of
    engines belong to it unless the file says otherwise. Raises `BadInput` for a malformed file, and
    if a required key is missing.
    """
    where = "--mapping" if file is None else str(file)
    section = Section({} if file is None else _parsed(file), where)
    columns, tables = {}, {}
    for kind in (CSV, JSON):
        inner = _inner(section, kind)
        if inner is not None:
            columns[kind] = _columns(inner)
        elif kind in kinds:
            raise BadInput(f"a log of the kind `{kind}` needs a table `[{kind}]`", where=where)
    for kind in OF_TABLES:
        inner = _inner(section, kind)
        if inner is not None or kind in kinds:
            settings = inner or Section({}, section.at(kind))
            tables[kind] = _tables(settings, kind, system, containers)
    section.close()
    return Mappings(columns, tables)


def _inner(section: Section, kind: str) -> Section | None:
    table = section.take(kind)
    return None if table is None else Section(table, section.at(kind))


def _parsed(file: Location) -> dict[str, Any]:
    try:
        return tomllib.loads(file.read_text("utf-8"))
    except OSError as error:
        raise unreadable(error, str(file)) from None
    except (UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise BadInput(str(error).lower(), where=str(file)) from None


def _columns(section: Section) -> Columns:
    outcome, allowed = section.text("outcome", ""), section.texts("allowed")
    if bool(outcome) is not bool(allowed):
        raise BadInput("expected `outcome` and `allowed`, or neither", where=section.where)
    operations = section.take("operations")
    renamed = Section({} if operations is None else operations, section.at("operations"))
    columns = Columns(
        principal=Text.read(section.text("principal")),
        operation=section.text("operation"),
        entity=Text.read(section.text("entity")),
        time=section.text("time"),
        count=section.text("count", ""),
        outcome=outcome,
        allowed=frozenset(allowed),
        operations={name: renamed.text(name) for name in renamed.names()},
    )
    section.close()
    return columns


def _tables(section: Section, kind: str, system: System, containers: Sequence[str]) -> Tables:
    principal = _principal(section, kind)
    entity = Text.read(section.text("entity", _default(system, containers)))
    if entity.columns - _PARTS:
        expected = ", ".join(f"`{{{part}}}`" for part in sorted(_PARTS))
        raise BadInput(f"expected of {expected}", where=section.at("entity"))
    type, colon, name = entity.template.partition(":")
    read = section.text("read", system.model.reaching(READ, type) or "")
    read_view = system.model.reaching(READ, _VIEW) if type == _TABLE else None
    tables = Tables(
        principal,
        entity,
        read,
        section.text("write", system.model.reaching(CHANGE, type) or ""),
        view=entity if read_view is None else Text(f"{_VIEW}{colon}{name}"),
        read_view=read_view or read,
    )
    for way in ("read", "write"):
        if not getattr(tables, way):
            message = f"`{system.model.name}` has no operation of that kind on `{type}`; name one"
            raise BadInput(message, where=section.at(way))
    section.close()
    return tables


def _principal(section: Section, kind: str) -> Text:
    if kind == OPENLINEAGE:
        return Text(section.text("principal", _SPARKS_USER))
    principal = Text.read(section.text("principal", "{user}"))
    if principal.columns - {"user"}:
        raise BadInput("expected `{user}` alone", where=section.at("principal"))
    return principal


def _default(system: System, containers: Sequence[str]) -> str | None:
    """The default template for the entity of an engine's table."""
    if len(containers) != 1 or _TABLE not in system.model.types:
        return None
    return f"{_TABLE}:{containers[0]}:{{catalog}}.{{schema}}.{{table}}"
