"""A dbt project's `manifest.json` as a realm of DataHub or of Gravitino.

In DataHub each relation is a dataset of the platform `dbt`, and one of the platform of its
adapter, named as DataHub's own dbt source names them. Tags, columns' tags and owners stand at
the former. Grants of a database have no counterpart there.

In Gravitino each relation is a table or view of the catalog that its database is. A grant of
SELECT is a statement on it, to a role unless the grantee says `user:` or `group:` (BigQuery);
it opens nothing without the right to use catalog and schema, which dbt does not grant. An owner
there may drop a table, which who answers for a model may not: owners have no counterpart.

SOURCE: datahub-project/datahub, metadata-ingestion, dbt source (`get_db_fqn`, `get_urn`, tag
prefix `dbt:`); gravitino reference 7.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Final

from lakewarden.aspects.row import (
    BAD_NAME,
    Row,
    entity_row,
    membership_row,
    note_row,
    owner_row,
    placement_row,
    principal_row,
    relation_row,
    statement_row,
)
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.principal import GROUP, ROLE, USER, Principal, members_of
from lakewarden.kernel.statement_file import principal_text
from lakewarden.names import datahub, gravitino
from lakewarden.pipeline.directory_manifest import Input
from lakewarden.pipeline.ingest.dbt_manifest import Dbt, Node, Owner, read
from lakewarden.pipeline.ingest.files import find, inputs_of
from lakewarden.pipeline.ingest.grants import stored
from lakewarden.pipeline.ingest.source import Progress, Reading
from lakewarden.service.system import System

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

MODELS: Final = ("datahub", "gravitino")
"""The models that a project can be read under; the first is the usual one."""

SUFFIXES: Final = (".json",)

_PLATFORMS: Final = {"sqlserver": "mssql", "synapse": "mssql", "fabric": "mssql"}
"""Adapters that DataHub calls otherwise."""

_READING: Final = frozenset({"select", "roles/bigquery.dataviewer"})
"""Grants that mean reading a table or view, and nothing less."""

_URN = "urn:li:"


@dataclass(frozen=True, slots=True)
class DbtFile:
    """The manifest at a path.

    For Gravitino `metalake` says where it is put; `catalog` is what has no database. For
    DataHub `platform` is that of the adapter unless it is given.
    """

    kind: ClassVar[str] = "dbt-file"
    path: Path
    model: str = MODELS[0]
    metalake: str = ""
    catalog: str = ""
    platform: str = ""
    environment: str = "PROD"

    @property
    def options(self) -> Mapping[str, str]:
        if self.model == "gravitino":
            given = {"metalake": self.metalake, "catalog": self.catalog}
        else:
            given = {"platform": self.platform, "environment": self.environment}
        return {name: value for name, value in given.items() if value}

    def inputs(self) -> Sequence[Input]:
        """See `Source`."""
        return inputs_of(find(self.path, SUFFIXES))

    def read(
        self, spark: SparkSession, system: System, scratch: Path, progress: Progress
    ) -> Reading:
        """See `Source`. A manifest is one value, so it is read on the driver."""
        rows: dict[Row, None] = {}
        ignored, described = Counter[str](), dict[str, tuple[int, int]]()
        files = find(self.path, SUFFIXES)
        for done, file in enumerate(files, 1):
            manifest = read(file.path, file.name)
            meaning = self.meaning(manifest)
            rows |= dict.fromkeys(meaning.rows())
            ignored += manifest.ignored
            for type, (count, of) in meaning.described.items():
                before = described.get(type, (0, 0))
                described[type] = (before[0] + count, before[1] + of)
            progress("read", done, len(files) + 1, f"{len(manifest.nodes)} relations")
        return Reading(
            list(_once(rows)), ignored=dict(sorted(ignored.items())), described=described
        )

    def meaning(self, manifest: Dbt) -> InDatahub | InGravitino:
        """The manifest under the model that was chosen."""
        if self.model == "gravitino":
            gravitino.parse("metalake", self.metalake)
            return InGravitino(manifest, self.metalake, self.catalog or manifest.adapter)
        platform = self.platform or _PLATFORMS.get(manifest.adapter, manifest.adapter)
        return InDatahub(manifest, platform, self.environment)


def _once(rows: Mapping[Row, None]) -> Iterator[Row]:
    """The rows, those that differ in their place alone but once."""
    seen: set[Row] = set()
    for row in rows:
        bare = row._replace(place="")
        if bare not in seen:
            seen.add(bare)
            yield row


@dataclass(slots=True)
class InDatahub:
    """The rows of a project in DataHub."""

    manifest: Dbt
    platform: str
    environment: str
    described: dict[str, tuple[int, int]] = field(default_factory=dict)

    def rows(self) -> Iterator[Row]:
        """Everything, some of it more than once."""
        for node in self.manifest.nodes:
            yield from self._node(node)
        yield from (note_row(*note) for note in self.manifest.notes)
        known = sum(node.is_described for node in self.manifest.nodes)
        self.described["dataset"] = (known, len(self.manifest.nodes))

    def _node(self, node: Node) -> Iterator[Row]:
        ours = self._urn("dbt", node, node.name)
        there = self._urn(self.platform, node, node.identifier).lower_name()
        for urn in (ours.text, there):
            yield _judged(entity_row(Entity("dataset", urn), node.where))
        entity = Entity("dataset", ours.text)
        yield from self._tagged(entity, node.tags, node)
        for column in node.columns:
            field = Entity("schemaField", f"urn:li:schemaField:({entity.name},{column.name})")
            yield _judged(entity_row(field, node.where))
            yield _judged(placement_row(field, entity, node.where))
            yield from self._tagged(field, column.tags, node)
        for owner in node.owners:
            yield from self._owned(entity, owner, node)
        for privilege, grantees in node.grants.items():
            what = f"grant of {privilege} to {', '.join(grantees)}"
            yield note_row(node.id, f"{what}: a database's, not the catalog's")

    def _urn(self, platform: str, node: Node, name: str) -> _Named:
        full = ".".join(part for part in (node.database, node.schema, name) if part)
        return _Named(platform, full.replace('"', ""), self.environment)

    def _tagged(self, entity: Entity, tags: Sequence[str], node: Node) -> Iterator[Row]:
        for name in tags:
            tag = Entity("tag", f"urn:li:tag:dbt:{name}")
            yield _judged(entity_row(tag, node.where))
            yield _judged(relation_row("tag", entity, tag, node.where))

    def _owned(self, entity: Entity, owner: Owner, node: Node) -> Iterator[Row]:
        kind = "corpGroup" if owner.is_group else "corpuser"
        urn = owner.name if owner.name.startswith(_URN) else f"urn:li:{kind}:{owner.name}"
        try:
            principal = datahub.actor(urn)
        except BadInput as error:
            row = owner_row(entity, Principal(USER, urn), "", node.where)
            yield row.rejected(BAD_NAME, error.message)
            return
        if principal.kind == ROLE:
            yield note_row(node.id, f"the owner {urn}: a role owns nothing")
            return
        yield principal_row(principal, node.where)
        yield entity_row(Entity(datahub.urn_type(urn), urn), node.where)
        yield owner_row(entity, principal, "", node.where)


@dataclass(frozen=True, slots=True)
class _Named:
    """A dataset's platform, name and environment."""

    platform: str
    name: str
    environment: str

    @property
    def text(self) -> str:
        """The URN."""
        return (
            f"urn:li:dataset:(urn:li:dataPlatform:{self.platform},{self.name},{self.environment})"
        )

    def lower_name(self) -> str:
        """The URN with the name in lower case, as DataHub has it for databases."""
        return _Named(self.platform, self.name.lower(), self.environment).text


def _judged(row: Row) -> Row:
    """The row, rejected when one of the URNs in it is none."""
    urns = [cell for cell in row.cells if cell.startswith(_URN)]
    try:
        for urn in urns:
            datahub.parse("", urn)
    except BadInput as error:
        return row.rejected(BAD_NAME, error.message)
    return row


@dataclass(slots=True)
class InGravitino:
    """The rows of a project in Gravitino; `catalog` is what has no database."""

    manifest: Dbt
    metalake: str
    catalog: str
    described: dict[str, tuple[int, int]] = field(default_factory=dict)

    def rows(self) -> Iterator[Row]:
        """Everything, some of it more than once."""
        yield from stored(Entity("metalake", self.metalake), "")
        for node in self.manifest.nodes:
            yield from self._node(node)
        yield from (note_row(*note) for note in self.manifest.notes)
        for type in ("table", "view"):
            of = [node for node in self.manifest.nodes if node.is_view is (type == "view")]
            if of:
                self.described[type] = (sum(node.is_described for node in of), len(of))

    def _node(self, node: Node) -> Iterator[Row]:
        lake, catalog = self.metalake, node.database or self.catalog
        schema = f"{lake}:{catalog}.{node.schema}"
        entity = Entity("view" if node.is_view else "table", f"{schema}.{node.identifier}")
        for one in (Entity("catalog", f"{lake}:{catalog}"), Entity("schema", schema), entity):
            yield from stored(one, node.where)
        yield from self._tagged(entity, node.tags, node)
        for column in node.columns:
            if not node.is_view:
                inner = Entity("column", f"{entity.name}.{column.name}")
                yield from stored(inner, node.where, inside=entity)
                yield from self._tagged(inner, column.tags, node)
            elif column.tags:
                yield note_row(node.id, f"tags of the column {column.name} of a view")
        for owner in node.owners:
            yield note_row(
                node.id, f"the owner {owner.name}: answers for it, does not own it there"
            )
        yield from self._granted(entity, node)

    def _tagged(self, entity: Entity, tags: Sequence[str], node: Node) -> Iterator[Row]:
        for name in tags:
            tag = Entity("tag", f"{self.metalake}:{name}")
            yield from stored(tag, node.where)
            yield relation_row("tag", entity, tag, node.where)

    def _granted(self, entity: Entity, node: Node) -> Iterator[Row]:
        readers: dict[Principal, None] = {}
        for privilege, grantees in node.grants.items():
            if privilege in _READING:
                readers |= dict.fromkeys(map(self._grantee, grantees))
            elif grantees:
                yield note_row(node.id, f"grant of {privilege} to {', '.join(grantees)}")
        for principal in readers:
            yield from self._principal(principal, node)
        if readers:
            table: dict[str, object] = {
                "id": f"dbt {node.id}: grants on {entity.type}:{entity.name}",
                "effect": "allow",
                "title": f"grants of {node.id}",
                "privileges": ["SELECT_VIEW" if entity.type == "view" else "SELECT_TABLE"],
                "to": sorted(principal_text(principal) for principal in readers),
                "on": f"{entity.type}:{entity.name}",
            }
            yield _told(statement_row(table, node.where), entity)

    def _grantee(self, text: str) -> Principal:
        kind, colon, name = text.partition(":")
        if colon and kind in ("user", "serviceAccount"):
            return Principal(USER, name)
        if colon and kind == "group":
            return Principal(GROUP, name)
        return Principal(ROLE, f"{self.metalake}:{text}")

    def _principal(self, principal: Principal, node: Node) -> Iterator[Row]:
        lake = self.metalake
        name = principal.name if principal.kind == ROLE else f"{lake}:{principal.name}"
        yield from stored(Entity(principal.kind, name), node.where)
        yield principal_row(principal, node.where)
        if principal.kind == USER:
            yield membership_row(principal, members_of(lake), node.where)


def _told(row: Row, entity: Entity) -> Row:
    """The row of a statement, rejected when Gravitino could not have what it is about."""
    try:
        gravitino.parse(*entity)
    except BadInput as error:
        return row.rejected(BAD_NAME, error.message)
    return row
