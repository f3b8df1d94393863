"""The types of entities: the schema's type of each, and its value of `EntityType`.

SOURCE: datahub-project/datahub:datahub-graphql-core/src/main/resources/entity.graphql.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql.resolving import Info

OTHER: Final = "OtherEntity"
"""The schema's type of entities without a type of their own."""

KINDS: Final = {
    "application": "Application",
    "assertion": "Assertion",
    "businessAttribute": "BusinessAttribute",
    "chart": "Chart",
    "container": "Container",
    "corpGroup": "CorpGroup",
    "corpuser": "CorpUser",
    "dashboard": "Dashboard",
    "dataContract": "DataContract",
    "dataFlow": "DataFlow",
    "dataHubConnection": "DataHubConnection",
    "dataHubExecutionRequest": "ExecutionRequest",
    "dataHubFile": "DataHubFile",
    "dataHubPageModule": "DataHubPageModule",
    "dataHubPageTemplate": "DataHubPageTemplate",
    "dataHubPolicy": "DataHubPolicy",
    "dataHubRole": "DataHubRole",
    "dataHubView": "DataHubView",
    "dataJob": "DataJob",
    "dataPlatform": "DataPlatform",
    "dataPlatformInstance": "DataPlatformInstance",
    "dataProcessInstance": "DataProcessInstance",
    "dataProduct": "DataProduct",
    "dataType": "DataTypeEntity",
    "dataset": "Dataset",
    "document": "Document",
    "domain": "Domain",
    "entityType": "EntityTypeEntity",
    "erModelRelationship": "ERModelRelationship",
    "form": "Form",
    "glossaryNode": "GlossaryNode",
    "glossaryTerm": "GlossaryTerm",
    "incident": "Incident",
    "metric": "Metric",
    "mlFeature": "MLFeature",
    "mlFeatureTable": "MLFeatureTable",
    "mlModel": "MLModel",
    "mlModelDeployment": "MLModelDeployment",
    "mlModelGroup": "MLModelGroup",
    "mlPrimaryKey": "MLPrimaryKey",
    "notebook": "Notebook",
    "ownershipType": "OwnershipTypeEntity",
    "post": "Post",
    "query": "QueryEntity",
    "restricted": "Restricted",
    "role": "Role",
    "schemaField": "SchemaFieldEntity",
    "semanticModel": "SemanticModel",
    "structuredProperty": "StructuredPropertyEntity",
    "tag": "Tag",
    "test": "Test",
    "versionSet": "VersionSet",
}
"""The schema's type for each entity type; every other is an `OtherEntity`."""

NAMES: Final = frozenset((*KINDS.values(), OTHER))
"""The schema's types of entities."""

_WORDS: Final = {
    "corpuser": "CORP_USER",
    "dataHubAccessToken": "ACCESS_TOKEN",
    "dataHubConnection": "DATAHUB_CONNECTION",
    "dataHubExecutionRequest": "EXECUTION_REQUEST",
    "dataHubFile": "DATAHUB_FILE",
    "dataHubIngestionSource": "INGESTION_SOURCE",
    "dataHubPageModule": "DATAHUB_PAGE_MODULE",
    "dataHubPageTemplate": "DATAHUB_PAGE_TEMPLATE",
    "dataHubPolicy": "DATAHUB_POLICY",
    "dataHubRole": "DATAHUB_ROLE",
    "dataHubView": "DATAHUB_VIEW",
    "mlFeature": "MLFEATURE",
    "mlFeatureTable": "MLFEATURE_TABLE",
    "mlModel": "MLMODEL",
    "mlModelDeployment": "MLMODEL_DEPLOYMENT",
    "mlModelGroup": "MLMODEL_GROUP",
    "mlPrimaryKey": "MLPRIMARY_KEY",
    "ownershipType": "CUSTOM_OWNERSHIP_TYPE",
}
"""Types whose value in `EntityType` is not their name in upper case."""


def type_of(value: Entity | Mapping[str, Any], _info: Info, _: object) -> str:
    """The schema's type of an entity; for any other value, its own type name."""
    if isinstance(value, Entity):
        return KINDS.get(value.type, OTHER)
    return str(value["__typename"])


def type_word(entity: Entity, info: Info) -> str:
    """The entity's type as a value of `EntityType`."""
    name = _enum_value(entity.type)
    known: Any = info.schema.type_map["EntityType"]
    return name if name in known.values else "OTHER"


def types_of(name: str) -> frozenset[str]:
    """The entity types of a value of `EntityType` that have a page."""
    return frozenset(type for type in KINDS if _enum_value(type) == name)


def _enum_value(type: str) -> str:
    return _WORDS.get(type) or re.sub(r"(?<!^)([A-Z])", r"_\1", type).upper()
