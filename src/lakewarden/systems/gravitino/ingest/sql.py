"""A database behind a SQLAlchemy URL, as a Gravitino catalog.

Schemas, tables, columns and views of any engine; for PostgreSQL, MySQL and MariaDB also the roles,
memberships, owners and grants. Everything is read on the driver, over one connection; for
PostgreSQL in one read-only transaction with its own snapshot.
"""

from __future__ import annotations

import hashlib
import json
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Final

import sqlalchemy as sa
from sqlalchemy.exc import SAWarning, SQLAlchemyError

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.relations import COLUMN_TYPE, READS
from lakewarden.pipeline.directory_manifest import Input
from lakewarden.pipeline.ingest.opener import Opener, Options
from lakewarden.pipeline.ingest.source import Progress, Reading
from lakewarden.pipeline.storage.location import Location
from lakewarden.service.source_row import Row, attribute_row
from lakewarden.service.system import System
from lakewarden.systems.gravitino import names as gravitino
from lakewarden.systems.gravitino.ingest import mysql_catalog, postgres_catalog
from lakewarden.systems.gravitino.ingest import mysql_grants as mysql
from lakewarden.systems.gravitino.ingest import postgres_grants as postgres
from lakewarden.systems.gravitino.ingest.database_connection import (
    connected,
    database_name,
    database_url,
    start_snapshot,
)
from lakewarden.systems.gravitino.ingest.grants import Catalog, Grants, stored
from lakewarden.systems.gravitino.use_cases.view_reads import query_reads

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_POSTGRES = "postgresql"
_MYSQL = ("mysql", "mariadb")
_COLLATED = re.compile(r" (character set|collate) .*")
"""The text after a type that does not belong to it."""


@dataclass(frozen=True, slots=True)
class Sql:
    """The database at `url`, as the catalog `catalog` of `metalake`.

    `takes_data_for_modify`: PostgreSQL's SELECT, INSERT, UPDATE and DELETE together count as
    MODIFY_TABLE. `takes_granted_roles`: a role of MySQL or MariaDB also counts if it needs SET
    ROLE. Both show more than an account can do without further action, and are off by default.
    """

    kind: ClassVar[str] = "sql"
    model: ClassVar[str] = "gravitino"
    url: str = field(repr=False)
    metalake: str
    catalog: str
    takes_data_for_modify: bool = False
    takes_granted_roles: bool = False

    @property
    def options(self) -> Mapping[str, str]:
        flags = {
            "takes_data_for_modify": self.takes_data_for_modify,
            "takes_granted_roles": self.takes_granted_roles,
        }
        named = {"metalake": self.metalake, "catalog": self.catalog}
        return named | {name: "true" for name, is_set in flags.items() if is_set}

    def inputs(self) -> None:
        """See `Source`: the content of a database is only known once it is read."""

    def read(
        self, spark: SparkSession, system: System, scratch: Location, progress: Progress
    ) -> Reading:
        """See `Source`."""
        gravitino.parse("catalog", f"{self.metalake}:{self.catalog}")
        rows, not_read, name = self.rows(system, progress)
        text = json.dumps(sorted(rows), ensure_ascii=False)
        digest = hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
        return Reading(rows, [Input(name, digest)], not_read=not_read)

    def rows(self, system: System, progress: Progress) -> tuple[list[Row], list[str], str]:
        """The rows, what was not read, and the database's name without secrets.

        Raises `BadInput` for an unusable URL, `Unavailable` if the database cannot be reached or
        does not show what is needed.
        """
        url = database_url(self.url)
        name = database_name(url)
        with connected(url) as connection:
            reader = _Reader(connection, Catalog(self.metalake, self.catalog), name, system)
            rows = list(reader.rows(self, progress))
        return rows, reader.not_read, name


class _Reader:
    """One reading of one database."""

    def __init__(
        self, connection: sa.Connection, catalog: Catalog, name: str, system: System
    ) -> None:
        self._connection = connection
        self._catalog = catalog
        self._name = name
        self._model = system.model
        self._leaves: dict[tuple[str, str], str] = {}
        self._schemas: list[str] = []
        self.not_read: list[str] = []

    def rows(self, options: Sql, progress: Progress) -> Iterator[Row]:
        dialect = self._connection.dialect.name
        if dialect == _POSTGRES:
            start_snapshot(self._connection)
        yield from self._entities(progress)
        grants = Grants(self._catalog, self._model, self._name)
        if dialect == _POSTGRES:
            catalog = postgres_catalog.read(self._ask, self._name)
            postgres.read(catalog, grants, takes_data_for_modify=options.takes_data_for_modify)
        elif dialect in _MYSQL:
            server = mysql_catalog.read(self._ask, self._name, self._schemas, self._leaves)
            mysql.read(server, grants, takes_granted_roles=options.takes_granted_roles)
        else:
            self.not_read.append(f"roles and grants of {dialect}")
        yield from grants.rows()

    def _entities(self, progress: Progress) -> Iterator[Row]:
        inspector = sa.inspect(self._connection)
        self._schemas = [s for s in inspector.get_schema_names() if s not in mysql.SYSTEM_SCHEMAS]
        yield from self._catalog.root_rows(self._name)
        for done, schema in enumerate(sorted(self._schemas), 1):
            yield from stored(self._catalog.schema(schema), self._name)
            yield from self._leaf_rows(inspector, schema)
            progress("read", done, len(self._schemas) + 1, f"schema {schema}")

    def _leaf_rows(self, inspector: sa.Inspector, schema: str) -> Iterator[Row]:
        views = [*inspector.get_view_names(schema), *_optional(inspector, "materialized", schema)]
        tables = [*inspector.get_table_names(schema), *_optional(inspector, "foreign", schema)]
        for view in views:
            self._leaves[schema, view] = "view"
            leaf = self._catalog.leaf("view", schema, view)
            rows = list(stored(leaf, self._name))
            yield from rows
            if not rows[0].reason:
                yield from self._read_rows(inspector, leaf, schema, view)
        with warnings.catch_warnings():
            # Columns with types unknown to SQLAlchemy are kept as columns.
            warnings.simplefilter("ignore", SAWarning)
            columns = inspector.get_multi_columns(schema, filter_names=tables) if tables else {}
        for table in tables:
            self._leaves[schema, table] = "table"
            leaf = self._catalog.leaf("table", schema, table)
            yield from stored(leaf, self._name)
            for column in columns.get((schema, table), ()):
                entity = self._catalog.column(schema, table, column["name"])
                rows = list(stored(entity, self._name, inside=leaf))
                yield from rows
                written = self._written(column["type"])
                if written and not rows[0].reason:
                    yield attribute_row(entity, COLUMN_TYPE, written, self._name)

    def _read_rows(
        self, inspector: sa.Inspector, leaf: Entity, schema: str, view: str
    ) -> Iterator[Row]:
        """The names that the view reads, if the database shows its text."""
        try:
            text = inspector.get_view_definition(view, schema) or ""
        except (SQLAlchemyError, NotImplementedError):
            text = ""
        dialect = self._connection.dialect.name
        default = (self._catalog.name, schema)
        for read in sorted({*query_reads(self._catalog.metalake, default, text, dialect)}):
            yield attribute_row(leaf, READS, read, self._name)

    def _written(self, type: sa.types.TypeEngine[Any]) -> str:
        """The type in the database's spelling; "" for one that SQLAlchemy does not know."""
        try:
            written = str(type.compile(self._connection.dialect)).lower()
        except (SQLAlchemyError, NotImplementedError):
            return ""
        if written.startswith("timestamp") and self._connection.dialect.name in _MYSQL:
            return "timestamp_tz"
        return _COLLATED.sub("", written)

    def _ask(self, question: str) -> Sequence[Mapping[str, Any]]:
        return [dict(row) for row in self._connection.execute(sa.text(question)).mappings()]


def _optional(inspector: sa.Inspector, kind: str, schema: str) -> list[str]:
    """Names that only some dialects can list: `materialized` views, `foreign` tables."""
    noun = "view" if kind == "materialized" else "table"
    method: Callable[[str], list[str]] | None = getattr(inspector, f"get_{kind}_{noun}_names", None)
    if method is None:
        return []
    try:
        return list(partial(method, schema)())
    except NotImplementedError:
        return []


def _open(url: str, _: str, options: Options) -> Sql:
    return Sql(url, **options)


SOURCE: Final = Opener(
    ("gravitino",),
    _open,
    options=("metalake", "catalog", "takes_data_for_modify", "takes_granted_roles"),
    required=("metalake", "catalog"),
    is_url=True,
)
