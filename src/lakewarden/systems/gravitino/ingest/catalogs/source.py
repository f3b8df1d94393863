"""Exports of other catalogs as ingestion sources, one for each mapping file.

An export is a folder of tables, or of replies in JSON. It is read on the driver, since grants
depend on each other; Spark validates and writes its rows if there are many.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, ClassVar, Final

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.pipeline.directory_manifest import Input
from lakewarden.pipeline.ingest.files import File, find, inputs_of
from lakewarden.pipeline.ingest.opener import Opener, Options
from lakewarden.pipeline.ingest.source import Progress, Reading
from lakewarden.pipeline.storage.location import Location, location
from lakewarden.service.system import System
from lakewarden.systems.gravitino import names as gravitino
from lakewarden.systems.gravitino.ingest.catalogs import (
    bigquery,
    lake_formation,
    people,
    policy,
    tables,
)
from lakewarden.systems.gravitino.ingest.catalogs.export_content import ExportContent
from lakewarden.systems.gravitino.ingest.catalogs.mapping import SourceMapping, mapping
from lakewarden.systems.gravitino.ingest.catalogs.records import Record

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Reader = Callable[[Sequence[File]], Iterator[Record]]
"""Reads the files of an export whose format is not declared by `[tables]`."""


@dataclass(frozen=True, slots=True)
class CatalogExport:
    """The export of a catalog at a path, in a metalake.

    `source` names the mapping; `catalog` the catalog if the source's names have none. `reader`
    reads the files with these `suffixes`. `known` are existing entities outside the export.
    """

    model: ClassVar[str] = "gravitino"
    source: str
    path: Location
    metalake: str
    catalog: str = ""
    reader: Reader | None = None
    suffixes: tuple[str, ...] = ()
    known: tuple[Entity, ...] = ()

    @property
    def kind(self) -> str:
        return f"{self.source}-file"

    @property
    def options(self) -> Mapping[str, str]:
        named = {"metalake": self.metalake, "catalog": self.catalog}
        return {name: value for name, value in named.items() if value}

    def inputs(self) -> Sequence[Input]:
        """See `Source`."""
        return inputs_of(self._files())

    def _files(self) -> list[File]:
        return find(self.path, (*tables.SUFFIXES, *self.suffixes))

    def with_entities(self, entities: Sequence[Entity]) -> CatalogExport:
        """See `inventory.Resolving`."""
        return replace(self, known=tuple(entities))

    def read(
        self, spark: SparkSession, system: System, scratch: Location, progress: Progress
    ) -> Reading:
        """See `Source`."""
        declared = mapping(self.source, system.model)
        content = content_of(declared, self.metalake, self.catalog, self.known)
        for record in self._records(declared, progress):
            content.add_record(record)
        not_read = list(declared.not_read)
        if self.reader is None:
            not_read += tables.missing(self._files(), declared.tables)
        return Reading(list(policy.rows(content, system.model)), not_read=not_read)

    def _records(self, declared: SourceMapping, progress: Progress) -> Iterator[Record]:
        files = self._files()
        if self.reader is not None:
            yield from self.reader([file for file in files if file.path.suffix in self.suffixes])
            files = [file for file in files if file.path.suffix not in self.suffixes]
        chosen = tables.exported(files, declared.tables, str(self.path))
        for done, (file, specs) in enumerate(chosen, 1):
            for spec in specs:
                yield from spec.lists()
            yield from tables.records(file, specs)
            progress("read", done, len(chosen) + 1, file.name)


def content_of(
    declared: SourceMapping, metalake: str, catalog: str, known: Sequence[Entity]
) -> ExportContent:
    """Collects an export's records. Raises `BadInput` for an invalid metalake or catalog name."""
    gravitino.parse("metalake", metalake)
    if declared.one_catalog:
        gravitino.parse("catalog", f"{metalake}:{catalog}")
    elif catalog:
        message = f"names of {declared.title} have their catalog; leave it out"
        raise BadInput(message, where="--catalog")
    content = ExportContent(declared, metalake, catalog)
    content.add_known(known)
    return content


JSON: Final = (".json", ".jsonl", ".ndjson")


def _opener(
    source: str,
    reader: Reader | None = None,
    suffixes: tuple[str, ...] = JSON,
    *,
    one_catalog: bool = False,
) -> Opener:
    read = suffixes if reader is not None else ()

    def open_export(place: str, _: str, options: Options) -> CatalogExport:
        return CatalogExport(source, location(place), reader=reader, suffixes=read, **options)

    names = ("metalake", "catalog") if one_catalog else ("metalake",)
    return Opener(("gravitino",), open_export, options=names, required=names)


UNITY: Final = _opener("unity-catalog")
SNOWFLAKE: Final = _opener("snowflake")
GLUE: Final = _opener("glue", lake_formation.records, one_catalog=True)
BIGQUERY: Final = _opener("bigquery", bigquery.records)
PEOPLE: Final = _opener("people", people.records, (*JSON, people.LDIF))
