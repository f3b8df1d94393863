"""Sends patches with the client's builders, and reads the results: `URL TOKEN`.

Run by the Python that has the client installed.
"""

from __future__ import annotations

import sys

from datahub.ingestion.graph.client import DatahubClientConfig, DataHubGraph  # type: ignore[import-not-found]
from datahub.metadata import schema_classes as said  # type: ignore[import-not-found]
from datahub.specific.dashboard import DashboardPatchBuilder  # type: ignore[import-not-found]
from datahub.specific.dataproduct import DataProductPatchBuilder  # type: ignore[import-not-found]
from datahub.specific.dataset import DatasetPatchBuilder  # type: ignore[import-not-found]
from datahub.specific.form import FormPatchBuilder  # type: ignore[import-not-found]
from datahub.specific.structured_property import StructuredPropertyPatchBuilder  # type: ignore[import-not-found]

ANA, BOB = "urn:li:corpuser:ana", "urn:li:corpuser:bob"
ORDERS, STOCK = (
    f"urn:li:dataset:(urn:li:dataPlatform:hive,shop.{name},PROD)" for name in ("orders", "stock")
)
PII, GOLD = "urn:li:tag:pii", "urn:li:tag:gold"
STAFF = "urn:li:corpGroup:staff"
SHOP = "urn:li:domain:shop"


def main(url: str, token: str) -> None:
    for openapi in (False, True):
        config = DatahubClientConfig(server=url, token=token, openapi_ingestion=openapi)
        graph = DataHubGraph(config)
        way = "open" if openapi else "rest"
        product(graph, f"urn:li:dataProduct:{way}")
        columns(graph, f"urn:li:dataset:(urn:li:dataPlatform:hive,made.{way},PROD)")
        others(graph, way)
    print("all: ok")


def emit(graph: DataHubGraph, builder: object) -> None:
    for change in builder.build():  # type: ignore[attr-defined]
        graph.emit(change)


def product(graph: DataHubGraph, urn: str) -> None:
    """Creates a product with patches alone."""
    term = said.GlossaryTermAssociationClass("urn:li:glossaryTerm:price")
    first = (
        DataProductPatchBuilder(urn)
        .set_name("Basket")
        .set_description("Together")
        .set_external_url("https://shop.example/basket")
        .add_asset(ORDERS, output_port=True)
        .add_asset(STOCK)
        .add_custom_property("tier", "gold")
        .add_custom_properties({"a/b~c": "1", "gone": "x"})
        .add_owner(said.OwnerClass(ANA, said.OwnershipTypeClass.BUSINESS_OWNER))
        .add_owner(said.OwnerClass(BOB, said.OwnershipTypeClass.DATAOWNER))
        .add_tag(said.TagAssociationClass(PII))
        .add_tag(said.TagAssociationClass(GOLD))
        .add_term(term)
        .add_domain(said.DomainAssociationClass(SHOP))
        .set_structured_property("urn:li:structuredProperty:cost", 7)
        .add_institutional_memory(
            said.InstitutionalMemoryMetadataClass(
                "https://shop.example/wiki", "wiki", said.AuditStampClass(0, ANA)
            )
        )
    )
    emit(graph, first)
    found = graph.get_aspect(urn, said.DataProductPropertiesClass)
    assert (found.name, found.description) == ("Basket", "Together")
    assert found.externalUrl == "https://shop.example/basket"
    assert [(one.destinationUrn, one.outputPort) for one in found.assets] == [
        (ORDERS, True),
        (STOCK, False),
    ]
    assert found.customProperties == {"tier": "gold", "a/b~c": "1", "gone": "x"}
    (page,) = graph.get_aspect(urn, said.InstitutionalMemoryClass).elements
    assert page.url == "https://shop.example/wiki"
    assert graph.get_aspect(urn, said.DomainsClass).domains == [SHOP]
    second = (
        DataProductPatchBuilder(urn)
        .set_name("Other")
        .remove_asset(ORDERS)
        .add_custom_property("tier", "silver")
        .remove_custom_property("gone")
        .remove_owner(ANA)
        .remove_tag(PII)
        .remove_term(term.urn)
        .remove_domain(SHOP)
        .remove_structured_property("urn:li:structuredProperty:cost")
    )
    emit(graph, second)
    found = graph.get_aspect(urn, said.DataProductPropertiesClass)
    assert (found.name, found.description) == ("Other", "Together")
    assert [one.destinationUrn for one in found.assets] == [STOCK]
    assert found.customProperties == {"tier": "silver", "a/b~c": "1"}
    assert [one.owner for one in graph.get_aspect(urn, said.OwnershipClass).owners] == [BOB]
    assert [one.tag for one in graph.get_aspect(urn, said.GlobalTagsClass).tags] == [GOLD]
    assert graph.get_aspect(urn, said.GlossaryTermsClass).terms == []
    assert graph.get_aspect(urn, said.DomainsClass).domains == []
    assert graph.get_aspect(urn, said.StructuredPropertiesClass).properties == []
    third = (
        DataProductPatchBuilder(urn)
        .set_assets([said.DataProductAssociationClass(ORDERS)])
        .set_custom_properties({"k": "v"})
    )
    emit(graph, third)
    found = graph.get_aspect(urn, said.DataProductPropertiesClass)
    assert [one.destinationUrn for one in found.assets] == [ORDERS]
    assert found.customProperties == {"k": "v"}


def columns(graph: DataHubGraph, urn: str) -> None:
    """Patches columns, which are inside the members of a list."""
    pii, gold = said.TagAssociationClass(PII), said.TagAssociationClass(GOLD)
    builder = DatasetPatchBuilder(urn)
    builder.for_field("id").add_tag(pii).add_tag(gold)
    builder.for_field("a.b").add_term(said.GlossaryTermAssociationClass("urn:li:glossaryTerm:x"))
    builder.add_custom_property("k", "v")
    emit(graph, builder)
    builder = DatasetPatchBuilder(urn)
    builder.for_field("id").remove_tag(PII)
    emit(graph, builder)
    schema = graph.get_aspect(urn, said.EditableSchemaMetadataClass)
    first, second = schema.editableSchemaFieldInfo
    assert (first.fieldPath, [one.tag for one in first.globalTags.tags]) == ("id", [GOLD])
    assert (second.fieldPath, len(second.glossaryTerms.terms)) == ("a.b", 1)
    assert graph.get_aspect(urn, said.DatasetPropertiesClass).customProperties == {"k": "v"}


def others(graph: DataHubGraph, way: str) -> None:
    """Patches lists of texts, lists in objects, and values of a property."""
    form = f"urn:li:form:{way}"
    emit(graph, FormPatchBuilder(form).set_name("f").add_assigned_user(ANA).add_assigned_user(BOB))
    emit(graph, FormPatchBuilder(form).remove_assigned_user(ANA).add_assigned_group(STAFF))
    actors = graph.get_aspect(form, said.FormInfoClass).actors
    assert (actors.users, actors.groups) == ([BOB], [STAFF])
    dashboard = f"urn:li:dashboard:(looker,{way})"
    edge = DashboardPatchBuilder(dashboard).set_title("d").add_dataset_edge(ORDERS)
    emit(graph, edge.add_custom_property("k", "v"))
    found = graph.get_entity_raw(dashboard)["aspects"]["dashboardInfo"]["value"]
    assert [one["destinationUrn"] for one in found["datasetEdges"]] == [ORDERS]
    assert found["customProperties"] == {"k": "v"}
    property = f"urn:li:structuredProperty:{way}"
    builder = StructuredPropertyPatchBuilder(property).set_qualified_name(way)
    builder.add_entity_type("urn:li:entityType:datahub.dataset")
    for value in ("low", "high", "low"):
        builder.add_allowed_value(said.PropertyValueClass(value))
    emit(graph, builder)
    found = graph.get_entity_raw(property)["aspects"]["propertyDefinition"]["value"]
    assert found["entityTypes"] == ["urn:li:entityType:datahub.dataset"]
    assert [one["value"] for one in found["allowedValues"]] == [
        {"string": "high"},
        {"string": "low"},
    ]


if __name__ == "__main__":
    main(*sys.argv[1:])
