"""The database of a catalog, read by the queries of its mapping: currently a Hive metastore's.

Everything is read in one read-only transaction with its own snapshot.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar, Final

import sqlalchemy as sa

from lakewarden.kernel.errors import BadInput
from lakewarden.pipeline.ingest.opener import Opener, Options
from lakewarden.pipeline.ingest.source import Progress, Reading
from lakewarden.pipeline.storage.location import Location
from lakewarden.service.system import System
from lakewarden.systems.gravitino.ingest.catalogs import tables
from lakewarden.systems.gravitino.ingest.catalogs.asked import reading
from lakewarden.systems.gravitino.ingest.catalogs.hive_thrift import (
    SCHEME,
    HiveThrift,
    open_thrift,
)
from lakewarden.systems.gravitino.ingest.catalogs.mapping import SourceMapping, mapping
from lakewarden.systems.gravitino.ingest.catalogs.records import Record
from lakewarden.systems.gravitino.ingest.catalogs.source import content_of
from lakewarden.systems.gravitino.ingest.database_connection import (
    connected,
    database_name,
    database_url,
    start_snapshot,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_POSTGRES: Final = "postgresql"


@dataclass(frozen=True, slots=True)
class CatalogDatabase:
    """The database at `url`, of the source with that mapping, in a metalake."""

    model: ClassVar[str] = "gravitino"
    source: str
    url: str = field(repr=False)
    metalake: str

    @property
    def kind(self) -> str:
        return f"{self.source}-metastore"

    @property
    def options(self) -> Mapping[str, str]:
        return {"metalake": self.metalake}

    def inputs(self) -> None:
        """See `Source`: the content of a database is only known once it is read."""

    def read(
        self, spark: SparkSession, system: System, scratch: Location, progress: Progress
    ) -> Reading:
        """See `Source`."""
        declared = mapping(self.source, system.model)
        content = content_of(declared, self.metalake, "", ())
        name, records = self._records(declared, progress)
        for record in records:
            content.add_record(record)
        return reading(content, system.model, name)

    def _records(self, declared: SourceMapping, progress: Progress) -> tuple[str, list[Record]]:
        """The records of the database, and its name without secrets.

        Raises `BadInput` for an unusable URL, `Unavailable` if the database cannot be reached or is
        not a database of this source.
        """
        url = database_url(self.url)
        name = database_name(url)
        if url.get_backend_name() != _POSTGRES:
            raise BadInput("expected the URL of a PostgreSQL database", where=name)
        with connected(url) as connection:
            start_snapshot(connection)
            records = list(_read(connection, declared, progress))
        return name, records


def _read(
    connection: sa.Connection, declared: SourceMapping, progress: Progress
) -> Iterator[Record]:
    specs = declared.tables.values()
    for done, spec in enumerate(specs, 1):
        found = connection.execute(sa.text(spec.query)).mappings()
        places = ((f"{spec.name}: row {number}", row) for number, row in enumerate(found, 1))
        used = spec.columns()
        rows = ((place, tables.texts(dict(row), place, used)) for place, row in places)
        yield from tables.of_rows(rows, [spec], spec.name)
        progress("read", done, len(specs) + 1, spec.name)


def _open_hive(url: str, _: str, options: Options) -> CatalogDatabase | HiveThrift:
    if url.startswith(f"{SCHEME}:"):
        return open_thrift(url, **options)
    return CatalogDatabase("hive", url, **options)


HIVE: Final = Opener(
    ("gravitino",), _open_hive, options=("metalake",), required=("metalake",), is_url=True
)
