"""A dbt project as tables and views of a Gravitino catalog.

Each relation is a table or view of the catalog of its database, with the name that the database
stores: Snowflake stores unquoted names in capitals, others in lower case. A grant of SELECT is a
statement on the relation, to a role unless the grantee says `user:` or `group:` (BigQuery). It
allows nothing without the right to use catalog and schema, which dbt does not grant. It is left out
if the project limits readers to some rows or values. Owners of models have no counterpart: an owner
here may drop a table, which a model's owner may not.

SOURCE: gravitino reference 7.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.principal import GROUP, ROLE, USER, Principal, members_of
from lakewarden.kernel.relations import COLUMN_TYPE, READS
from lakewarden.kernel.statement_file import principal_text
from lakewarden.pipeline.ingest.dbt_file import DbtReader
from lakewarden.pipeline.ingest.dbt_manifest import Column, Dbt, Node
from lakewarden.service.source_row import (
    BAD_NAME,
    Row,
    attribute_row,
    membership_row,
    note_row,
    principal_row,
    relation_row,
    statement_row,
)
from lakewarden.systems.gravitino import names as gravitino
from lakewarden.systems.gravitino.ingest.grants import stored
from lakewarden.systems.gravitino.use_cases.view_reads import query_reads

_READING: Final = frozenset({"select", "roles/bigquery.dataviewer"})
"""Grants that mean reading a table or view, and at least that."""


@dataclass(slots=True)
class InGravitino:
    """The rows of a project in Gravitino; `catalog` is the catalog of nodes without a database."""

    manifest: Dbt
    metalake: str
    catalog: str
    described: dict[str, tuple[int, int]] = field(default_factory=dict)

    def rows(self) -> Iterator[Row]:
        """All rows, possibly with duplicates."""
        yield from stored(Entity("metalake", self.metalake), "")
        for node in self.manifest.nodes:
            yield from self._node(node)
        yield from (note_row(*note) for note in self.manifest.notes)
        for type in ("table", "view"):
            of = [node for node in self.manifest.nodes if node.is_view is (type == "view")]
            if of:
                self.described[type] = (sum(node.is_described for node in of), len(of))

    def _node(self, node: Node) -> Iterator[Row]:
        lake = self.metalake
        catalog, schema_name, identifier = self._stored_name(node)
        schema = f"{lake}:{catalog}.{schema_name}"
        entity = Entity("view" if node.is_view else "table", f"{schema}.{identifier}")
        for container in (Entity("catalog", f"{lake}:{catalog}"), Entity("schema", schema), entity):
            yield from stored(container, node.where)
        yield from self._tag_rows(entity, node.tags, node)
        for column in node.columns:
            if not node.is_view:
                inner = Entity("column", f"{entity.name}.{self._stored_column(node, column)}")
                rows = list(stored(inner, node.where, inside=entity))
                yield from rows
                if rows[0].reason:  # its tags would end up on a column of another table
                    continue
                yield from self._tag_rows(inner, column.tags, node)
                if column.type:
                    yield attribute_row(inner, COLUMN_TYPE, column.type, node.where)
            elif column.tags:
                yield note_row(node.id, f"tags of the column {column.name} of a view")
        if node.is_view and node.query:
            default, dialect = (catalog, schema_name), self.manifest.adapter
            for read in sorted({*query_reads(lake, default, node.query, dialect)}):
                yield _with_note(attribute_row(entity, READS, read, node.where), entity)
        for owner in node.owners:
            yield note_row(
                node.id, f"the owner {owner.name}: answers for it, does not own it there"
            )
        yield from self._grant_rows(entity, node)

    def _stored_name(self, node: Node) -> tuple[str, str, str]:
        """Catalog, schema and name, folded as by the database if the manifest has its quotes."""
        # Imported here, because the SQL parser takes a while to load, and few runs need it.
        from lakewarden.expressions.view_sources import folded_table

        named = (node.database or self.catalog, node.schema, node.identifier)
        parts = folded_table(node.relation, self.manifest.adapter) if node.relation else ()
        if len(parts) not in (2, 3):
            return named
        return (parts[-3] if len(parts) == 3 else self.catalog), parts[-2], parts[-1]

    def _stored_column(self, node: Node, column: Column) -> str:
        from lakewarden.expressions.view_sources import folded_column

        if not node.relation or "." in column.name:  # a field inside a column
            return column.name
        return folded_column(column.name, self.manifest.adapter, is_quoted=column.is_quoted)

    def _tag_rows(self, entity: Entity, tags: Sequence[str], node: Node) -> Iterator[Row]:
        for name in tags:
            tag = Entity("tag", f"{self.metalake}:{name}")
            yield from stored(tag, node.where)
            yield relation_row("tag", entity, tag, node.where)

    def _grant_rows(self, entity: Entity, node: Node) -> Iterator[Row]:
        readers: dict[Principal, None] = {}
        for privilege, grantees in node.grants.items():
            if privilege in _READING and node.is_limited:
                why = "readers do not get every row or value"
                yield note_row(node.id, f"grant of {privilege} to {', '.join(grantees)}: {why}")
            elif privilege in _READING:
                readers |= dict.fromkeys(map(self._grantee, grantees))
            elif grantees:
                yield note_row(node.id, f"grant of {privilege} to {', '.join(grantees)}")
        for principal in readers:
            yield from self._principal(principal, node)
        if readers:
            table: dict[str, object] = {
                "id": f"dbt {node.id}: grants on {entity}",
                "effect": "allow",
                "title": f"grants of {node.id}",
                "privileges": ["SELECT_VIEW" if entity.type == "view" else "SELECT_TABLE"],
                "to": sorted(principal_text(principal) for principal in readers),
                "on": str(entity),
            }
            yield _with_note(statement_row(table, node.where), entity)

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


def _with_note(row: Row, entity: Entity) -> Row:
    """A row, rejected if Gravitino could not have its entity."""
    try:
        gravitino.parse(*entity)
    except BadInput as error:
        return row.rejected(BAD_NAME, error.message)
    return row


def _read(manifest: Dbt, options: Mapping[str, str]) -> InGravitino:
    metalake = options.get("metalake", "")
    gravitino.parse("metalake", metalake)
    return InGravitino(manifest, metalake, options.get("catalog") or manifest.adapter)


DBT: Final = DbtReader(_read, options={"metalake": "", "catalog": ""}, required=("metalake",))
