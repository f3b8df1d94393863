"""Requests pages with the client from PyPI: with its own fragments, and with one of ours.

Run by the Python that has the client installed, with the server's address and a token.
"""

from __future__ import annotations

import sys
from importlib.resources import files

from datahub.emitter.mcp import MetadataChangeProposalWrapper as Proposal  # type: ignore[import-not-found]
from datahub.ingestion.graph.client import DataHubGraph  # type: ignore[import-not-found]
from datahub.ingestion.graph.config import DatahubClientConfig  # type: ignore[import-not-found]
from datahub.metadata.schema_classes import (  # type: ignore[import-not-found]
    DatasetPropertiesClass,
    DomainPropertiesClass,
    DomainsClass,
    GlobalTagsClass,
    OwnerClass,
    OwnershipClass,
    TagAssociationClass,
    TagPropertiesClass,
)

DATASET = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)"
TAG = "urn:li:tag:pii"
SHOP = "urn:li:domain:shop"
ANA = "urn:li:corpuser:ana"

ASPECTS = (
    (DATASET, DatasetPropertiesClass(name="Orders", customProperties={"a.b": "c"})),
    (DATASET, OwnershipClass(owners=[OwnerClass(owner=ANA, type="DATAOWNER")])),
    (DATASET, GlobalTagsClass(tags=[TagAssociationClass(tag=TAG)])),
    (DATASET, DomainsClass(domains=[SHOP])),
    (TAG, TagPropertiesClass(name="PII", colorHex="#ff0000")),
    (SHOP, DomainPropertiesClass(name="Shop")),
)

PAGES = """
query pages($urn: String!, $tag: String!) {
  entity(urn: $urn) { ...SearchEntityInfo }
  label: entity(urn: $tag) { ...FacetEntityInfo }
}
"""

PRIVILEGES = """
query page($urn: String!) {
  dataset(urn: $urn) {
    exists
    privileges { canEditTags canEditDescription }
  }
}
"""


def main(server: str, token: str) -> None:
    graph = DataHubGraph(DatahubClientConfig(server=server, token=token))
    for urn, aspect in ASPECTS:
        graph.emit(Proposal(entityUrn=urn, aspect=aspect))
    fragments = files("datahub.cli").joinpath("gql/fragments.gql").read_text()
    answer = graph.execute_graphql(fragments + PAGES, {"urn": DATASET, "tag": TAG})
    found, told = answer["entity"], answer["label"]
    assert found["properties"]["name"] == "Orders", found
    assert found["properties"]["customProperties"] == [{"key": "a.b", "value": "c"}], found
    assert found["platform"]["name"] == "hive", found
    assert found["tags"]["tags"][0]["tag"]["properties"]["name"] == "PII", found
    assert found["ownership"]["owners"][0]["owner"] == {"urn": ANA, "username": "ana"}, found
    assert found["domain"]["domain"]["properties"]["name"] == "Shop", found
    assert told["properties"]["colorHex"] == "#ff0000", told
    page = graph.execute_graphql(PRIVILEGES, {"urn": DATASET})["dataset"]
    assert page == {
        "exists": True,
        "privileges": {"canEditTags": True, "canEditDescription": True},
    }, page
    assert (
        graph.execute_graphql(PRIVILEGES, {"urn": DATASET.replace("shop", "x")})["dataset"] is None
    )
    print("all: ok")


if __name__ == "__main__":
    main(*sys.argv[1:])
