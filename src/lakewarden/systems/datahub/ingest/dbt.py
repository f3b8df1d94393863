"""A dbt project as datasets of DataHub.

Each relation is a dataset of the platform `dbt`, and one of the platform of its adapter, with the
names of DataHub's own dbt source. Tags, columns' tags and owners belong to the former. Grants of a
database have no counterpart here.

SOURCE: datahub-project/datahub, metadata-ingestion, dbt source (`get_db_fqn`, `get_urn`, tag
prefix `dbt:`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.principal import ROLE, USER, Principal
from lakewarden.pipeline.ingest.dbt_file import DbtReader
from lakewarden.pipeline.ingest.dbt_manifest import Dbt, Node, Owner
from lakewarden.service.source_row import (
    BAD_NAME,
    Row,
    entity_row,
    note_row,
    owner_row,
    placement_row,
    principal_row,
    relation_row,
)
from lakewarden.systems.datahub import names as datahub

_PLATFORMS: Final = {"sqlserver": "mssql", "synapse": "mssql", "fabric": "mssql"}
"""Adapters with different names in DataHub."""

_URN = "urn:li:"


@dataclass(slots=True)
class DatahubRows:
    """The rows of a project in DataHub."""

    manifest: Dbt
    platform: str
    environment: str
    described: dict[str, tuple[int, int]] = field(default_factory=dict)

    def rows(self) -> Iterator[Row]:
        """All rows, possibly with duplicates."""
        for node in self.manifest.nodes:
            yield from self._node_rows(node)
        yield from (note_row(*note) for note in self.manifest.notes)
        known = sum(node.is_described for node in self.manifest.nodes)
        self.described["dataset"] = (known, len(self.manifest.nodes))

    def _node_rows(self, node: Node) -> Iterator[Row]:
        ours = self._urn("dbt", node, node.name)
        dataset = self._urn(self.platform, node, node.identifier).lower_name()
        for urn in (ours.text, dataset):
            yield _checked_row(entity_row(Entity("dataset", urn), node.where))
        entity = Entity("dataset", ours.text)
        yield from self._tag_rows(entity, node.tags, node)
        for column in node.columns:
            field = Entity("schemaField", f"urn:li:schemaField:({entity.name},{column.name})")
            yield _checked_row(entity_row(field, node.where))
            yield _checked_row(placement_row(field, entity, node.where))
            yield from self._tag_rows(field, column.tags, node)
        for owner in node.owners:
            yield from self._owner_rows(entity, owner, node)
        for privilege, grantees in node.grants.items():
            grant = f"grant of {privilege} to {', '.join(grantees)}"
            yield note_row(node.id, f"{grant}: a database's, not the catalog's")

    def _urn(self, platform: str, node: Node, name: str) -> _DatasetName:
        full = ".".join(part for part in (node.database, node.schema, name) if part)
        return _DatasetName(platform, full.replace('"', ""), self.environment)

    def _tag_rows(self, entity: Entity, tags: Sequence[str], node: Node) -> Iterator[Row]:
        for name in tags:
            tag = Entity("tag", f"urn:li:tag:dbt:{name}")
            yield _checked_row(entity_row(tag, node.where))
            yield _checked_row(relation_row("tag", entity, tag, node.where))

    def _owner_rows(self, entity: Entity, owner: Owner, node: Node) -> Iterator[Row]:
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
class _DatasetName:
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
        """The URN with the name in lower case, as DataHub uses it for databases."""
        return _DatasetName(self.platform, self.name.lower(), self.environment).text


def _checked_row(row: Row) -> Row:
    """The row, rejected if one of its URNs is invalid."""
    urns = [cell for cell in row.cells if cell.startswith(_URN)]
    try:
        for urn in urns:
            datahub.parse("", urn)
    except BadInput as error:
        return row.rejected(BAD_NAME, error.message)
    return row


def _read(manifest: Dbt, options: Mapping[str, str]) -> DatahubRows:
    platform = options.get("platform") or _PLATFORMS.get(manifest.adapter, manifest.adapter)
    return DatahubRows(manifest, platform, options.get("environment") or "PROD")


DBT: Final = DbtReader(_read, options={"platform": "", "environment": "PROD"})
