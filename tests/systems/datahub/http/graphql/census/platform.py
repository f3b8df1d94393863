"""The platform's own objects: posts, views, secrets, sources, properties, forms, pages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from tests.systems.datahub.http.graphql.asked import Asked

HIVE: Final = "urn:li:dataset:(urn:li:dataPlatform:hive,a.b,PROD)"

_POST: Final = {
    "postType": "HOME_PAGE_ANNOUNCEMENT",
    "content": {"contentType": "TEXT", "title": "x"},
}
_DEFINITION: Final = {"entityTypes": [], "filter": {"operator": "AND", "filters": []}}
_SOURCE: Final = {"name": "x", "type": "x", "config": {"recipe": "{}", "executorId": "default"}}
_TEST: Final = {"name": "x", "category": "x", "definition": {}}
_FORM: Final = "urn:li:form:x"
_PROPERTY: Final = "urn:li:structuredProperty:x"


def _mutation(
    operation: str, field: str, type: str, input: Mapping[str, Any], sel: str = ""
) -> Asked:
    return Asked(operation, f"mutation m($i: {type}!) {{ {field}(input: $i){sel} }}", {"i": input})


def _query(operation: str, field: str, type: str, input: Mapping[str, Any], sel: str) -> Asked:
    return Asked(operation, f"query q($i: {type}!) {{ {field}(input: $i){sel} }}", {"i": input})


def _urn_mutation(operation: str, field: str, urn: str) -> Asked:
    return Asked(operation, f'mutation {{ {field}(urn: "{urn}") }}')


def _update_mutation(
    operation: str, field: str, urn: str, type: str, input: Mapping[str, Any], sel: str = ""
) -> Asked:
    document = f'mutation m($i: {type}!) {{ {field}(urn: "{urn}", input: $i){sel} }}'
    return Asked(operation, document, {"i": input})


_URN: Final = " { urn }"
_TOTAL: Final = " { total }"

_POSTS: Final = {
    "createPost": _mutation("home_post.create", "createPost", "CreatePostInput", _POST),
    "updatePost": _mutation(
        "home_post.update", "updatePost", "UpdatePostInput", {"urn": "urn:li:post:x", **_POST}
    ),
    "deletePost": _urn_mutation("home_post.delete", "deletePost", "urn:li:post:x"),
}

_VIEWS: Final = {
    "createView": _mutation(
        "public_view.manage",
        "createView",
        "CreateViewInput",
        {"viewType": "GLOBAL", "name": "x", "definition": _DEFINITION},
        _URN,
    ),
    "updateView": _update_mutation(
        "public_view.manage",
        "updateView",
        "urn:li:dataHubView:x",
        "UpdateViewInput",
        {"name": "y"},
        _URN,
    ),
    "deleteView": _urn_mutation("public_view.manage", "deleteView", "urn:li:dataHubView:x"),
    "globalViewsSettings": Asked(
        "public_view.manage", "query { globalViewsSettings { defaultView } }"
    ),
    "updateGlobalViewsSettings": _mutation(
        "public_view.manage", "updateGlobalViewsSettings", "UpdateGlobalViewsSettingsInput", {}
    ),
}

_OWNERSHIP_TYPES: Final = {
    "createOwnershipType": _mutation(
        "ownership_type.manage",
        "createOwnershipType",
        "CreateOwnershipTypeInput",
        {"name": "x", "description": ""},
        _URN,
    ),
    "updateOwnershipType": _update_mutation(
        "ownership_type.manage",
        "updateOwnershipType",
        "urn:li:ownershipType:x",
        "UpdateOwnershipTypeInput",
        {"name": "y"},
        _URN,
    ),
    "deleteOwnershipType": _urn_mutation(
        "ownership_type.manage", "deleteOwnershipType", "urn:li:ownershipType:x"
    ),
}

_SECRETS: Final = {
    "createSecret": _mutation(
        "secret.manage", "createSecret", "CreateSecretInput", {"name": "x", "value": "y"}
    ),
    "updateSecret": _mutation(
        "secret.manage",
        "updateSecret",
        "UpdateSecretInput",
        {"urn": "urn:li:dataHubSecret:x", "name": "x", "value": "y"},
    ),
    "deleteSecret": _urn_mutation("secret.manage", "deleteSecret", "urn:li:dataHubSecret:x"),
    "listSecrets": _query("secret.manage", "listSecrets", "ListSecretsInput", {}, _TOTAL),
    "getSecretValues": _query(
        "secret.manage", "getSecretValues", "GetSecretValuesInput", {"secrets": []}, " { value }"
    ),
    "connection": Asked(
        "connection.manage", 'query { connection(urn: "urn:li:dataHubConnection:x") { urn } }'
    ),
    "upsertConnection": _mutation(
        "connection.manage",
        "upsertConnection",
        "UpsertDataHubConnectionInput",
        {"type": "JSON", "platformUrn": "urn:li:dataPlatform:slack", "json": {"blob": "{}"}},
        _URN,
    ),
    "updateConnection": _mutation(
        "connection.manage",
        "updateConnection",
        "UpdateDataHubConnectionInput",
        {"urn": "urn:li:dataHubConnection:x"},
        _URN,
    ),
    "deleteConnection": _mutation(
        "connection.manage",
        "deleteConnection",
        "DeleteDataHubConnectionInput",
        {"urn": "urn:li:dataHubConnection:x"},
    ),
}

_INGESTION: Final = {
    "createIngestionSource": _mutation(
        "entity.create", "createIngestionSource", "UpdateIngestionSourceInput", _SOURCE
    ),
    "updateIngestionSource": _update_mutation(
        "entity.create",
        "updateIngestionSource",
        "urn:li:dataHubIngestionSource:x",
        "UpdateIngestionSourceInput",
        _SOURCE,
    ),
    "deleteIngestionSource": _urn_mutation(
        "entity.delete", "deleteIngestionSource", "urn:li:dataHubIngestionSource:x"
    ),
    "listIngestionSources": _query(
        "ingestion.manage", "listIngestionSources", "ListIngestionSourcesInput", {}, _TOTAL
    ),
    "ingestionSource": Asked(
        "ingestion.manage",
        'query { ingestionSource(urn: "urn:li:dataHubIngestionSource:x") { urn } }',
    ),
    "listExecutionRequests": _query(
        "ingestion.manage", "listExecutionRequests", "ListExecutionRequestsInput", {}, _TOTAL
    ),
    "executionRequest": Asked(
        "ingestion.manage",
        'query { executionRequest(urn: "urn:li:dataHubExecutionRequest:x") { urn } }',
    ),
    "createIngestionExecutionRequest": _mutation(
        "ingestion.execute",
        "createIngestionExecutionRequest",
        "CreateIngestionExecutionRequestInput",
        {"ingestionSourceUrn": "urn:li:dataHubIngestionSource:x"},
    ),
    "cancelIngestionExecutionRequest": _mutation(
        "ingestion.execute",
        "cancelIngestionExecutionRequest",
        "CancelIngestionExecutionRequestInput",
        {
            "ingestionSourceUrn": "urn:li:dataHubIngestionSource:x",
            "executionRequestUrn": "urn:li:dataHubExecutionRequest:x",
        },
    ),
    "createTestConnectionRequest": _mutation(
        "ingestion.manage",
        "createTestConnectionRequest",
        "CreateTestConnectionRequestInput",
        {"recipe": "{}"},
    ),
}

_PROPERTIES: Final = {
    "createBusinessAttribute": _mutation(
        "business_attribute.create",
        "createBusinessAttribute",
        "CreateBusinessAttributeInput",
        {"name": "x"},
        _URN,
    ),
    "updateBusinessAttribute": _update_mutation(
        "business_attribute.manage",
        "updateBusinessAttribute",
        "urn:li:businessAttribute:x",
        "UpdateBusinessAttributeInput",
        {"name": "y"},
        _URN,
    ),
    "deleteBusinessAttribute": _urn_mutation(
        "business_attribute.manage", "deleteBusinessAttribute", "urn:li:businessAttribute:x"
    ),
    "createStructuredProperty": _mutation(
        "structured_property.manage",
        "createStructuredProperty",
        "CreateStructuredPropertyInput",
        {"id": "x", "valueType": "urn:li:dataType:datahub.string", "entityTypes": []},
        _URN,
    ),
    "updateStructuredProperty": _mutation(
        "structured_property.manage",
        "updateStructuredProperty",
        "UpdateStructuredPropertyInput",
        {"urn": _PROPERTY},
        _URN,
    ),
    "deleteStructuredProperty": _mutation(
        "structured_property.manage",
        "deleteStructuredProperty",
        "DeleteStructuredPropertyInput",
        {"urn": _PROPERTY},
    ),
}

_FORMS: Final = {
    "createForm": _mutation("form.manage", "createForm", "CreateFormInput", {"name": "x"}, _URN),
    "updateForm": _mutation("form.manage", "updateForm", "UpdateFormInput", {"urn": _FORM}, _URN),
    "deleteForm": _mutation("form.manage", "deleteForm", "DeleteFormInput", {"urn": _FORM}),
    "batchAssignForm": _mutation(
        "form.manage",
        "batchAssignForm",
        "BatchAssignFormInput",
        {"formUrn": _FORM, "entityUrns": [HIVE]},
    ),
    "batchRemoveForm": _mutation(
        "form.manage",
        "batchRemoveForm",
        "BatchRemoveFormInput",
        {"formUrn": _FORM, "entityUrns": [HIVE]},
    ),
    "createDynamicFormAssignment": _mutation(
        "form.manage",
        "createDynamicFormAssignment",
        "CreateDynamicFormAssignmentInput",
        {"formUrn": _FORM, "orFilters": []},
    ),
}

_TESTS: Final = {
    "createTest": _mutation("test.manage", "createTest", "CreateTestInput", _TEST),
    "updateTest": _update_mutation(
        "test.manage", "updateTest", "urn:li:test:x", "UpdateTestInput", _TEST
    ),
    "deleteTest": _urn_mutation("test.manage", "deleteTest", "urn:li:test:x"),
    "listTests": _query("test.view", "listTests", "ListTestsInput", {}, _TOTAL),
    "test": Asked("test.view", 'query { test(urn: "urn:li:test:x") { urn } }'),
}

_SETTINGS: Final = {
    "docPropagationSettings": Asked(
        "feature.manage", "query { docPropagationSettings { docColumnPropagation } }"
    ),
    "updateDocPropagationSettings": _mutation(
        "feature.manage",
        "updateDocPropagationSettings",
        "UpdateDocPropagationSettingsInput",
        {"docColumnPropagation": False},
    ),
    "globalSettings": Asked(
        "platform_settings.manage",
        "query { globalSettings { applicationsSettings { enabled } } }",
    ),
    "updateGlobalSettings": _mutation(
        "platform_settings.manage", "updateGlobalSettings", "UpdateGlobalSettingsInput", {}
    ),
    "upsertPageTemplate": _mutation(
        "home_template.manage",
        "upsertPageTemplate",
        "UpsertPageTemplateInput",
        {"rows": [], "scope": "GLOBAL", "surfaceType": "HOME_PAGE"},
        _URN,
    ),
    "deletePageTemplate": _mutation(
        "home_template.manage",
        "deletePageTemplate",
        "DeletePageTemplateInput",
        {"urn": "urn:li:dataHubPageTemplate:x"},
    ),
    "upsertPageModule": _mutation(
        "home_template.manage",
        "upsertPageModule",
        "UpsertPageModuleInput",
        {"name": "x", "type": "LINK", "scope": "GLOBAL", "params": {}},
        _URN,
    ),
    "deletePageModule": _mutation(
        "home_template.manage",
        "deletePageModule",
        "DeletePageModuleInput",
        {"urn": "urn:li:dataHubPageModule:x"},
    ),
}

REFUSED: Final[Mapping[str, Asked]] = {
    **_POSTS,
    **_VIEWS,
    **_OWNERSHIP_TYPES,
    **_SECRETS,
    **_INGESTION,
    **_PROPERTIES,
    **_FORMS,
    **_TESTS,
    **_SETTINGS,
}
OPEN: Final = {
    *("form", "listBusinessAttributes", "listGlobalViews", "listMyViews", "listOwnershipTypes"),
    *("listPosts", "view"),
    # Default policies show analytics to everybody. Denied in `test_analytics`.
    *("getAnalyticsCharts", "getHighlights", "getMetadataAnalyticsCharts", "isAnalyticsEnabled"),
}
