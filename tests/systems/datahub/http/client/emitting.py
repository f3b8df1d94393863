"""Calls of acryl-datahub's emitter and graph, against the server: `URL TOKEN`.

Run by the Python that has the client installed.
"""

from __future__ import annotations

import sys
from datetime import UTC, datetime

from datahub.emitter.mcp import MetadataChangeProposalWrapper as Change  # type: ignore[import-not-found]
from datahub.emitter.rest_emitter import DatahubRestEmitter  # type: ignore[import-not-found]
from datahub.ingestion.graph.client import DatahubClientConfig, DataHubGraph  # type: ignore[import-not-found]
from datahub.ingestion.graph.openapi import RelationshipDirection  # type: ignore[import-not-found]
from datahub.metadata import schema_classes as said  # type: ignore[import-not-found]
from datahub.specific.dataset import DatasetPatchBuilder  # type: ignore[import-not-found]

ORDERS = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)"
STOCK = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.stock/a,PROD)"
ANA = "urn:li:corpuser:ana"
OUTGOING = RelationshipDirection.OUTGOING


def main(url: str, token: str) -> None:
    graph = DataHubGraph(DatahubClientConfig(server=url, token=token))
    graph.test_connection()
    write(graph)
    read(graph)
    older(graph)
    newer(url, token, graph)
    delete(graph)
    print("all: ok")


def write(graph: DataHubGraph) -> None:
    owner = said.OwnerClass(owner=ANA, type=said.OwnershipTypeClass.DATAOWNER)
    graph.emit_mcp(Change(entityUrn=ORDERS, aspect=said.OwnershipClass(owners=[owner])))
    tags = [said.TagAssociationClass(tag="urn:li:tag:pii")]
    graph.emit_mcps(
        [
            Change(entityUrn=ORDERS, aspect=said.GlobalTagsClass(tags=tags)),
            Change(entityUrn=ORDERS, aspect=said.DomainsClass(domains=["urn:li:domain:shop"])),
            Change(entityUrn=ORDERS, aspect=said.DatasetPropertiesClass(name="orders")),
            Change(entityUrn=STOCK, aspect=said.DatasetPropertiesClass(name="stock")),
            Change(entityUrn=ANA, aspect=said.CorpUserInfoClass(active=True)),
        ]
    )
    for patch in (
        DatasetPatchBuilder(ORDERS).add_tag(said.TagAssociationClass("urn:li:tag:gold")).build()
    ):
        graph.emit_mcp(patch)
    for time in (5, 6, 7):
        profile = said.DatasetProfileClass(timestampMillis=time, rowCount=time - 4)
        graph.emit_mcp(Change(entityUrn=ORDERS, aspect=profile))
    counts = [said.UserUsageCountsClass(user=ANA, count=2)]
    metrics = said.UsageAggregationMetricsClass(users=counts, totalSqlQueries=2)
    graph.emit_usage(
        said.UsageAggregationClass(
            bucket=86_400_000,
            duration=said.WindowDurationClass.DAY,
            resource=ORDERS,
            metrics=metrics,
        )
    )


def read(graph: DataHubGraph) -> None:
    found = graph.get_aspect(ORDERS, said.OwnershipClass)
    assert found is not None
    assert found.owners[0].owner == ANA
    tags = graph.get_aspect(ORDERS, said.GlobalTagsClass)
    assert tags is not None
    assert [one.tag for one in tags.tags] == ["urn:li:tag:pii", "urn:li:tag:gold"]
    assert graph.get_aspect(ORDERS, said.SchemaMetadataClass) is None
    assert graph.exists(ORDERS)
    assert graph.exists(STOCK)
    assert graph.exists(ANA)
    assert not graph.exists(ORDERS.replace("orders", "other"))
    raw = graph.get_entity_raw(ORDERS, ["domains", "ownership"])
    assert set(raw["aspects"]) == {"domains", "ownership"}
    bag = graph.get_entity_semityped(ORDERS)
    assert bag["datasetProperties"].name == "orders"
    assert bag["datasetKey"].name == "shop.orders"
    related = graph.get_related_entities(ORDERS, ["TaggedWith"], OUTGOING)
    assert {one.urn for one in related} == {"urn:li:tag:pii", "urn:li:tag:gold"}
    read_values(graph)
    list_all(graph)


def read_values(graph: DataHubGraph) -> None:
    profile = graph.get_latest_timeseries_value(ORDERS, said.DatasetProfileClass, {})
    assert profile is not None
    assert profile.rowCount == 3
    rows = {"or": [{"and": [{"field": "rowCount", "values": ["2"], "condition": "EQUAL"}]}]}
    profiles = graph.get_timeseries_values(ORDERS, said.DatasetProfileClass, rows)
    assert [one.timestampMillis for one in profiles] == [6]
    usage = graph.get_usage_aspects_from_urn(ORDERS, 0, 86_400_000)
    assert usage is not None
    assert [one.totalSqlQueries for one in usage] == [2]


def list_all(graph: DataHubGraph) -> None:
    page = graph.scroll_entities(entity_names=["dataset"], aspects=["ownership"], count=1)
    assert (page.total_count, len(page.entities)) == (2, 1)
    edges = graph.scroll_relationships(source_urns=[ORDERS], relationship_types=["OwnedBy"])
    assert [one.destination_urn for one in edges.relationships] == [ANA]
    second = graph.get_entities_v2("dataset", [ORDERS], ["ownership"])
    assert set(second[ORDERS]) == {"ownership"}
    typed = graph.get_entities("dataset", [ORDERS], ["ownership"])
    assert typed[ORDERS]["ownership"][0].owners[0].owner == ANA
    assert graph.list_all_entity_urns("dataset", 0, 10) == [ORDERS, STOCK]
    assert graph.get_aspect_counts("datasetProperties") == 2
    specs = graph.get_entity_aspect_specs()
    assert specs is not None
    assert specs.supports("dataset", "ownership")
    assert not specs.supports("tag", "schemaMetadata")


def older(graph: DataHubGraph) -> None:
    snapshot = said.DatasetSnapshotClass(urn=STOCK, aspects=[said.StatusClass(removed=False)])
    graph.emit_mce(said.MetadataChangeEventClass(proposedSnapshot=snapshot))
    assert graph.get_aspect(STOCK, said.StatusClass) == said.StatusClass(removed=False)


def newer(url: str, token: str, graph: DataHubGraph) -> None:
    emitter = DatahubRestEmitter(url, token=token, openapi_ingestion=True)
    emitter.emit_mcp(Change(entityUrn=STOCK, aspect=said.SubTypesClass(typeNames=["View"])))
    emitter.emit_mcps(
        [
            Change(entityUrn=STOCK, aspect=said.DomainsClass(domains=["urn:li:domain:shop"])),
            Change(
                entityUrn=ANA,
                aspect=said.CorpUserStatusClass(
                    status="ACTIVE", lastModified=said.AuditStampClass(time=1, actor=ANA)
                ),
            ),
        ]
    )
    for patch in (
        DatasetPatchBuilder(STOCK).add_tag(said.TagAssociationClass("urn:li:tag:pii")).build()
    ):
        emitter.emit_mcp(patch)
    bag = graph.get_entity_semityped(STOCK)
    assert bag["subTypes"].typeNames == ["View"]
    assert bag["domains"].domains == ["urn:li:domain:shop"]
    assert [one.tag for one in bag["globalTags"].tags] == ["urn:li:tag:pii"]


def delete(graph: DataHubGraph) -> None:
    graph.delete_entity(ORDERS)
    assert graph.get_aspect(ORDERS, said.StatusClass) == said.StatusClass(removed=True)
    graph.set_soft_delete_status(ORDERS, delete=False)
    count, _ = graph.delete_references_to_urn("urn:li:tag:pii", dry_run=True)
    assert count == 2, count
    graph.delete_references_to_urn("urn:li:tag:pii")
    tags = graph.get_aspect(ORDERS, said.GlobalTagsClass)
    assert tags is not None
    assert [one.tag for one in tags.tags] == ["urn:li:tag:gold"]
    until = datetime.fromtimestamp(0.006, tz=UTC)
    assert graph.hard_delete_timeseries_aspect(ORDERS, "datasetProfile", None, until) == 2
    assert graph.hard_delete_timeseries_aspect(ORDERS, "datasetProfile", None, None) == 1
    rows, _ = graph.hard_delete_entity(ORDERS)
    assert rows > 3, rows
    assert not graph.exists(ORDERS)


if __name__ == "__main__":
    main(*sys.argv[1:])
