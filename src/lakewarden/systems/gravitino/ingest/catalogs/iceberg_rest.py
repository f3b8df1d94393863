"""An Iceberg REST catalog, queried for its namespaces, tables with columns, and views.

The first part of the path is the `prefix` in the response of `/v1/config`. Lists are read page by
page. Of each table the current schema is read, with the fields of structs. A nested namespace has
no name in Gravitino, and is set aside with its contents.

SOURCE: Apache Iceberg, open-api/rest-catalog-open-api.yaml: getConfig, listNamespaces, listTables,
loadTable, listViews.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final
from urllib.parse import quote, urlencode

from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.toml_section import Section
from lakewarden.pipeline.extract.original import ABSENT, NOBODY, Credential, Original, segment
from lakewarden.pipeline.ingest.opener import Opener, Options
from lakewarden.pipeline.ingest.source import Progress, Reading
from lakewarden.pipeline.storage.location import Location
from lakewarden.service.system import System
from lakewarden.systems.gravitino.ingest.catalogs.asked import Token, pages, reading
from lakewarden.systems.gravitino.ingest.catalogs.mapping import mapping
from lakewarden.systems.gravitino.ingest.catalogs.records import Exists, Record, Securable
from lakewarden.systems.gravitino.ingest.catalogs.source import content_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_SEPARATOR: Final = "\x1f"
_TOKEN: Final = Token("pageToken", "next-page-token")


@dataclass(frozen=True, slots=True)
class IcebergRest:
    """The catalog at an address, as one catalog of a metalake; `warehouse` if it has several."""

    kind: ClassVar[str] = "iceberg-rest"
    model: ClassVar[str] = "gravitino"
    address: str
    metalake: str
    catalog: str
    warehouse: str = ""
    credential: Credential = field(default=NOBODY, repr=False)
    timeout: float = 30.0
    trusted: Path | None = None

    @property
    def options(self) -> Mapping[str, str]:
        named = {"metalake": self.metalake, "catalog": self.catalog, "warehouse": self.warehouse}
        return {name: value for name, value in named.items() if value}

    def inputs(self) -> None:
        """See `Source`: the content of a catalog is only known once it is read."""

    def read(
        self, spark: SparkSession, system: System, scratch: Location, progress: Progress
    ) -> Reading:
        """See `Source`."""
        declared = mapping("iceberg", system.model)
        content = content_of(declared, self.metalake, self.catalog, ())

        def tell(requests: int, path: str) -> None:
            progress("read", 0, 1, f"{requests:,} requests, {path}")

        original = Original(self.address, self.credential, self.timeout, self.trusted, tell)
        with original:
            for record in _Catalog(original, self.warehouse).records():
                content.add_record(record)
        return reading(content, system.model, self.address, original.withheld_lines())


class _Catalog:
    """One reading of one catalog."""

    def __init__(self, original: Original, warehouse: str) -> None:
        self._original = original
        query = f"?{urlencode({'warehouse': warehouse})}" if warehouse else ""
        config = Section(original.get(f"/v1/config{query}") or {}, "/v1/config")
        overrides = Section(config.take("overrides") or {}, config.at("overrides"))
        defaults = Section(config.take("defaults") or {}, config.at("defaults"))
        prefix = overrides.text("prefix", "") or defaults.text("prefix", "")
        self._base = f"/v1/{quote(prefix)}" if prefix else "/v1"

    def records(self) -> Iterator[Record]:
        yield Exists(Securable("CATALOG", ()), self._base)
        todo = list(self._namespaces(()))
        while todo:
            namespace = todo.pop()
            yield Exists(Securable("NAMESPACE", (".".join(namespace),)), self._base)
            yield from self._inside(namespace)
            todo += self._namespaces(namespace)

    def _namespaces(self, parent: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
        query = {"parent": _SEPARATOR.join(parent)} if parent else {}
        for page in self._pages(f"{self._base}/namespaces", query):
            listed = page.take("namespaces")
            if not isinstance(listed, list):
                raise BadInput("expected a list", where=page.at("namespaces"))
            for names in listed:
                found = _names(names, page.at("namespaces"))
                if len(found) == len(parent) + 1:
                    yield found

    def _inside(self, namespace: tuple[str, ...]) -> Iterator[Record]:
        base = f"{self._base}/namespaces/{segment(_SEPARATOR.join(namespace), self._base)}"
        schema = ".".join(namespace)
        tables = list(self._identifiers(f"{base}/tables"))
        paths = [f"{base}/tables/{segment(name, base)}" for name in tables]
        loaded = dict(self._original.each(paths))
        for name, path in zip(tables, paths, strict=True):
            yield Exists(Securable("TABLE", (schema, name)), path)
            if path in loaded:
                for column in _columns(Section(loaded[path], path)):
                    yield Exists(Securable("COLUMN", (schema, name, *column)), path)
        for name in self._identifiers(f"{base}/views", is_optional=True):
            yield Exists(Securable("VIEW", (schema, name)), f"{base}/views")

    def _identifiers(self, path: str, *, is_optional: bool = False) -> Iterator[str]:
        for page in self._pages(path, {}, is_optional=is_optional):
            for one in page.tables("identifiers"):
                yield one.text("name")

    def _pages(
        self, path: str, query: Mapping[str, str], *, is_optional: bool = False
    ) -> Iterator[Section]:
        unserved = ABSENT if is_optional else ()
        return pages(self._original, path, {**query, _TOKEN.sent: ""}, _TOKEN, unserved)


def _names(value: object, where: str) -> tuple[str, ...]:
    if not isinstance(value, list) or not value or not all(isinstance(v, str) for v in value):
        raise BadInput("expected lists of names", where=where)
    return tuple(value)


def _columns(reply: Section) -> Iterator[tuple[str, ...]]:
    """The columns of the current schema of a table, with the fields of structs."""
    metadata = Section(reply.take("metadata"), reply.at("metadata"))
    current = metadata.take("current-schema-id")
    for schema in metadata.tables("schemas"):
        if schema.take("schema-id") == current:
            yield from _fields(schema, ())


def _fields(struct: Section, above: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    for one in struct.tables("fields"):
        path = (*above, one.text("name"))
        yield path
        type = one.take("type")
        if isinstance(type, Mapping) and type.get("type") == "struct":
            yield from _fields(Section(type, one.at("type")), path)


def _open(url: str, _: str, options: Options) -> IcebergRest:
    return IcebergRest(url, **options)


ICEBERG_REST: Final = Opener(
    ("gravitino",),
    _open,
    options=("metalake", "catalog", "warehouse"),
    required=("metalake", "catalog"),
    is_url=True,
    is_asked=True,
)
