"""Metadata of assets outside their pages: assertions, incidents, edges, answers, documents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tests.systems.datahub.http.graphql.asked import Asked

HIVE: Final = "urn:li:dataset:(urn:li:dataPlatform:hive,a.b,PROD)"

_ASSERTION: Final = "urn:li:assertion:x"
_INCIDENT: Final = "urn:li:incident:x"
_DOCUMENT: Final = "urn:li:document:x"
_JOIN: Final = "urn:li:erModelRelationship:x"
_FORM: Final = "urn:li:form:x"
_ENDS: Final = {"name": "x", "source": HIVE, "destination": HIVE}
_COLUMN: Final = f"urn:li:schemaField:({HIVE},id)"


def _mutation(
    operation: str, field: str, type: str, input: Mapping[str, Any], sel: str = ""
) -> Asked:
    return Asked(operation, f"mutation m($i: {type}!) {{ {field}(input: $i){sel} }}", {"i": input})


def _update_mutation(
    operation: str, field: str, urn: str, type: str, input: Mapping[str, Any]
) -> Asked:
    document = f'mutation m($i: {type}!) {{ {field}(urn: "{urn}", input: $i) }}'
    return Asked(operation, document, {"i": input})


def _urn_mutation(operation: str, field: str, urn: str) -> Asked:
    return Asked(operation, f'mutation {{ {field}(urn: "{urn}") }}')


def _document(field: str, type: str, **members: Any) -> Asked:
    return _mutation("document.change", field, type, {"urn": _DOCUMENT, **members})


_URN: Final = " { urn }"

_COLUMNS: Final = {
    field: _mutation(
        "column.business_attribute.edit",
        field,
        "AddBusinessAttributeInput",
        {
            "businessAttributeUrn": "urn:li:businessAttribute:x",
            "resourceUrn": [{"resourceUrn": _COLUMN}],
        },
    )
    for field in ("addBusinessAttribute", "removeBusinessAttribute")
}

_PROPERTIES: Final = {
    "upsertStructuredProperties": _mutation(
        "properties.edit",
        "upsertStructuredProperties",
        "UpsertStructuredPropertiesInput",
        {"assetUrn": HIVE, "structuredPropertyInputParams": []},
        " { properties { associatedUrn } }",
    ),
    "removeStructuredProperties": _mutation(
        "properties.edit",
        "removeStructuredProperties",
        "RemoveStructuredPropertiesInput",
        {"assetUrn": HIVE, "structuredPropertyUrns": []},
        " { properties { associatedUrn } }",
    ),
    "submitFormPrompt": _update_mutation(
        "properties.edit",
        "submitFormPrompt",
        HIVE,
        "SubmitFormPromptInput",
        {"promptId": "x", "formUrn": _FORM, "type": "STRUCTURED_PROPERTY"},
    ),
    "verifyForm": _mutation(
        "properties.edit", "verifyForm", "VerifyFormInput", {"formUrn": _FORM, "entityUrn": HIVE}
    ),
}

_CLAIMS: Final = {
    "upsertCustomAssertion": _mutation(
        "assertions.edit",
        "upsertCustomAssertion",
        "UpsertCustomAssertionInput",
        {"entityUrn": HIVE, "type": "x", "description": "x", "platform": {"name": "x"}},
        _URN,
    ),
    "reportAssertionResult": Asked(
        "assertions.edit",
        f'mutation {{ reportAssertionResult(urn: "{_ASSERTION}", result: {{ type: SUCCESS }}) }}',
    ),
    "deleteAssertion": _urn_mutation("assertions.edit", "deleteAssertion", _ASSERTION),
    "raiseIncident": _mutation(
        "incidents.edit",
        "raiseIncident",
        "RaiseIncidentInput",
        {"type": "OPERATIONAL", "resourceUrn": HIVE},
    ),
    "updateIncident": _update_mutation(
        "incidents.edit", "updateIncident", _INCIDENT, "UpdateIncidentInput", {"title": "x"}
    ),
    "updateIncidentStatus": _update_mutation(
        "incidents.edit",
        "updateIncidentStatus",
        _INCIDENT,
        "IncidentStatusInput",
        {"state": "RESOLVED"},
    ),
    "upsertDataContract": _mutation(
        "data_contract.edit",
        "upsertDataContract",
        "UpsertDataContractInput",
        {"entityUrn": HIVE},
        _URN,
    ),
}

_EDGES: Final = {
    "updateLineage": _mutation(
        "lineage.edit",
        "updateLineage",
        "UpdateLineageInput",
        {"edgesToAdd": [{"downstreamUrn": HIVE, "upstreamUrn": HIVE}], "edgesToRemove": []},
    ),
    "createERModelRelationship": _mutation(
        "er_model_relationship.create",
        "createERModelRelationship",
        "ERModelRelationshipUpdateInput",
        {"properties": _ENDS},
        _URN,
    ),
    "updateERModelRelationship": _update_mutation(
        "docs.edit",
        "updateERModelRelationship",
        _JOIN,
        "ERModelRelationshipUpdateInput",
        {"editableProperties": {"description": "x"}},
    ),
    "deleteERModelRelationship": _urn_mutation("entity.update", "deleteERModelRelationship", _JOIN),
}

_NOTES: Final = {
    "updateEmbed": _mutation("embed.edit", "updateEmbed", "UpdateEmbedInput", {"urn": HIVE}),
    "updateAssetSettings": _mutation(
        "asset_summary.edit",
        "updateAssetSettings",
        "UpdateAssetSettingsInput",
        {"urn": HIVE},
        " { assetSummary { templates { template { urn } } } }",
    ),
    "reportOperation": _mutation(
        "operations.edit",
        "reportOperation",
        "ReportOperationInput",
        {"urn": HIVE, "operationType": "INSERT", "sourceType": "DATA_PROCESS"},
    ),
}

_APPLICATIONS: Final = {
    "createApplication": _mutation(
        "entity.manage",
        "createApplication",
        "CreateApplicationInput",
        {"properties": {"name": "x"}},
        _URN,
    ),
    "deleteApplication": _urn_mutation(
        "entity.manage", "deleteApplication", "urn:li:application:x"
    ),
    "batchSetApplication": _mutation(
        "applications.edit",
        "batchSetApplication",
        "BatchSetApplicationInput",
        {"applicationUrn": "urn:li:application:x", "resourceUrns": [HIVE]},
    ),
    "batchUnsetApplication": _mutation(
        "applications.edit",
        "batchUnsetApplication",
        "BatchUnsetApplicationInput",
        {"applicationUrn": "urn:li:application:x", "resourceUrns": [HIVE]},
    ),
}

_DOCUMENTS: Final = {
    "createDocument": _mutation(
        "entity.create", "createDocument", "CreateDocumentInput", {"contents": {"text": "x"}}
    ),
    "deleteDocument": _urn_mutation("entity.delete", "deleteDocument", _DOCUMENT),
    "moveDocument": _document("moveDocument", "MoveDocumentInput"),
    "updateDocumentContents": _document(
        "updateDocumentContents", "UpdateDocumentContentsInput", title="x"
    ),
    "updateDocumentRelatedEntities": _document(
        "updateDocumentRelatedEntities", "UpdateDocumentRelatedEntitiesInput"
    ),
    "updateDocumentSettings": _document(
        "updateDocumentSettings", "UpdateDocumentSettingsInput", showInGlobalContext=True
    ),
    "updateDocumentStatus": _document(
        "updateDocumentStatus", "UpdateDocumentStatusInput", state="PUBLISHED"
    ),
    "updateDocumentSubType": _document(
        "updateDocumentSubType", "UpdateDocumentSubTypeInput", subType="FAQ"
    ),
}

REFUSED: Final[Mapping[str, Asked]] = {
    **_COLUMNS,
    **_PROPERTIES,
    **_CLAIMS,
    **_EDGES,
    **_NOTES,
    **_APPLICATIONS,
    **_DOCUMENTS,
}
OPEN: Final[set[str]] = set()
