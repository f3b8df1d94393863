"""Searches with acryl-datahub's graph, against the server: `URL TOKEN`.

Run by the Python that has the client installed.
"""

from __future__ import annotations

import sys

from datahub.emitter.mcp import MetadataChangeProposalWrapper as Change  # type: ignore[import-not-found]
from datahub.ingestion.graph.client import DatahubClientConfig, DataHubGraph  # type: ignore[import-not-found]
from datahub.ingestion.graph.filters import RemovedStatusFilter  # type: ignore[import-not-found]
from datahub.metadata import schema_classes as said  # type: ignore[import-not-found]

LAKE, INNER = "urn:li:container:lake", "urn:li:container:inner"
SHOP = "urn:li:domain:shop"
COUNT = 25


def dataset(number: int, platform: str = "hive", origin: str = "PROD") -> str:
    return f"urn:li:dataset:(urn:li:dataPlatform:{platform},shop.orders_{number:02d},{origin})"


DATASETS = [dataset(number) for number in range(COUNT)]


def main(url: str, token: str) -> None:
    graph = DataHubGraph(DatahubClientConfig(server=url, token=token))
    write(graph)
    by_filter(graph)
    by_name(graph)
    print("all: ok")


def write(graph: DataHubGraph) -> None:
    for urn in DATASETS:
        graph.emit_mcp(Change(entityUrn=urn, aspect=said.StatusClass(removed=False)))
    graph.emit_mcps(
        [
            Change(entityUrn=dataset(0), aspect=said.StatusClass(removed=True)),
            Change(entityUrn=dataset(1, "kafka", "DEV"), aspect=said.StatusClass(removed=False)),
            Change(entityUrn=INNER, aspect=said.ContainerClass(container=LAKE)),
            Change(entityUrn=dataset(2), aspect=said.ContainerClass(container=INNER)),
            Change(entityUrn=dataset(3), aspect=said.DatasetPropertiesClass(description="daily")),
            Change(entityUrn=SHOP, aspect=said.DomainPropertiesClass(name="Shop")),
        ]
    )


def by_filter(graph: DataHubGraph) -> None:
    def found(**given: object) -> list[str]:
        urns = list(graph.get_urns_by_filter(entity_types=["dataset"], **given))
        assert len(urns) == len(set(urns)), urns
        return sorted(urns)

    assert found(platform="hive") == DATASETS[1:]
    assert found(platform="hive", batch_size=7) == DATASETS[1:]
    assert found(platform="hive", status=RemovedStatusFilter.ALL) == DATASETS
    assert found(status=RemovedStatusFilter.ONLY_SOFT_DELETED) == DATASETS[:1]
    assert found(env="DEV") == [dataset(1, "kafka", "DEV")]
    assert found(container=LAKE) == [dataset(2)]
    assert found(query="daily") == [dataset(3)]
    assert found(query="orders_04") == [dataset(4)]
    everything = set(graph.get_urns_by_filter(batch_size=3))
    assert {*DATASETS[1:], INNER, SHOP} <= everything
    assert not {urn for urn in everything if "dataHub" in urn and "Platform" not in urn}


def by_name(graph: DataHubGraph) -> None:
    assert graph.get_domain_urn_by_name("Shop") == SHOP
    assert graph.get_domain_urn_by_name("None") is None
    assert graph.get_search_results(entity="dataset")["value"]["numEntities"] == COUNT


if __name__ == "__main__":
    main(*sys.argv[1:])
