"""What the client's patches of data products do, against the server: `URL TOKEN`.

Run by the Python that has the client.
"""

from __future__ import annotations

import sys

from datahub.emitter.mcp import MetadataChangeProposalWrapper as Change  # type: ignore[import-not-found]
from datahub.ingestion.graph.client import DatahubClientConfig, DataHubGraph  # type: ignore[import-not-found]
from datahub.metadata import schema_classes as said  # type: ignore[import-not-found]
from datahub.specific.dataproduct import DataProductPatchBuilder  # type: ignore[import-not-found]

PRODUCT = "urn:li:dataProduct:basket"
ORDERS = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)"
STOCK = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.stock/a,PROD)"
ANA = "urn:li:corpuser:ana"
OTHER = "urn:li:dataProduct:other"


def main(url: str, token: str) -> None:
    graph = DataHubGraph(DatahubClientConfig(server=url, token=token))
    make(graph)
    check(graph)
    take_away(graph)
    print("all: ok")


def emit(graph: DataHubGraph, builder: DataProductPatchBuilder) -> None:
    for change in builder.build():
        graph.emit(change)


def make(graph: DataHubGraph) -> None:
    """All that the builder can set, of a product that is not there yet."""
    association = said.DataProductAssociationClass(destinationUrn=ORDERS)
    emit(
        graph,
        DataProductPatchBuilder(PRODUCT)
        .set_name("Basket")
        .set_description("What is bought together")
        .set_assets([association])
        .add_asset(STOCK, output_port=True)
        .set_external_url("https://example.test/basket")
        .set_parent_data_product(OTHER)
        .add_custom_property("tier", "gold")
        .add_owner(said.OwnerClass(owner=ANA, type="DATAOWNER"))
        .add_tag(said.TagAssociationClass("urn:li:tag:pii"))
        .add_term(said.GlossaryTermAssociationClass("urn:li:glossaryTerm:money"))
        .add_domain(said.DomainAssociationClass("urn:li:domain:shop"))
        .set_structured_property("tier", "gold"),
    )


def check(graph: DataHubGraph) -> None:
    bag = graph.get_entity_semityped(PRODUCT)
    found = bag["dataProductProperties"]
    assert (found.name, found.description) == ("Basket", "What is bought together")
    assert {one.destinationUrn: one.outputPort for one in found.assets} == {
        ORDERS: False,
        STOCK: True,
    }
    assert found.externalUrl == "https://example.test/basket"
    assert found.parentDataProduct == OTHER
    assert found.customProperties == {"tier": "gold"}
    assert [one.owner for one in bag["ownership"].owners] == [ANA]
    assert [one.tag for one in bag["globalTags"].tags] == ["urn:li:tag:pii"]
    assert [one.urn for one in bag["glossaryTerms"].terms] == ["urn:li:glossaryTerm:money"]
    assert bag["domains"].domains == ["urn:li:domain:shop"]
    (property,) = bag["structuredProperties"].properties
    assert property.values == ["gold"]


def take_away(graph: DataHubGraph) -> None:
    """What is not there is taken away without a word, as it should be."""
    for _ in range(2):
        emit(
            graph,
            DataProductPatchBuilder(PRODUCT)
            .remove_asset(ORDERS)
            .remove_custom_property("tier")
            .remove_owner(ANA)
            .remove_tag("urn:li:tag:pii")
            .remove_term("urn:li:glossaryTerm:money")
            .remove_domain("urn:li:domain:shop"),
        )
    bag = graph.get_entity_semityped(PRODUCT)
    assert [one.destinationUrn for one in bag["dataProductProperties"].assets] == [STOCK]
    assert not bag["ownership"].owners
    assert not bag["domains"].domains
    graph.emit(Change(entityUrn=PRODUCT, aspect=said.StatusClass(removed=True)))
    assert graph.get_aspect(PRODUCT, said.StatusClass).removed


if __name__ == "__main__":
    main(*sys.argv[1:])
