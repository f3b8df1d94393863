"""Each guarded field responds to callers with the required privilege, and to nobody else."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from tests.systems.datahub.http.graphql.asked import Asked
from tests.systems.datahub.http.graphql.census import platform, platform_assets
from tests.systems.datahub.http.graphql.platform.conftest import open_server
from tests.systems.datahub.http.graphql.platform.granting import HIVE, KAFKA, grant
from tests.systems.datahub.http.graphql.wire import FORBIDDEN, Wire

REFUSED = {**platform.REFUSED, **platform_assets.REFUSED}

PLATFORM = {
    "analytics.view": ("VIEW_ANALYTICS",),
    "business_attribute.create": ("CREATE_BUSINESS_ATTRIBUTE", "MANAGE_BUSINESS_ATTRIBUTE"),
    "business_attribute.manage": ("MANAGE_BUSINESS_ATTRIBUTE",),
    "connection.manage": ("MANAGE_CONNECTIONS",),
    "feature.manage": ("MANAGE_FEATURES",),
    "form.manage": ("MANAGE_DOCUMENTATION_FORMS",),
    "home_post.create": ("CREATE_GLOBAL_ANNOUNCEMENTS", "MANAGE_GLOBAL_ANNOUNCEMENTS"),
    "home_post.delete": ("MANAGE_GLOBAL_ANNOUNCEMENTS",),
    "home_post.update": ("MANAGE_GLOBAL_ANNOUNCEMENTS",),
    "home_template.manage": ("MANAGE_HOME_PAGE_TEMPLATES",),
    "ingestion.manage": ("MANAGE_INGESTION",),
    "ownership_type.manage": ("MANAGE_GLOBAL_OWNERSHIP_TYPES",),
    "platform_settings.manage": ("MANAGE_GLOBAL_SETTINGS",),
    "public_view.manage": ("MANAGE_GLOBAL_VIEWS",),
    "secret.manage": ("MANAGE_SECRETS",),
    "structured_property.manage": ("MANAGE_STRUCTURED_PROPERTIES",),
    "test.manage": ("MANAGE_TESTS",),
    "test.view": ("VIEW_TESTS", "MANAGE_TESTS"),
}
"""Operations without a resource, and the privileges that permit each."""

ON_ASSETS = {
    "applications.edit": ("EDIT_ENTITY_APPLICATIONS_PRIVILEGE", "EDIT_ENTITY"),
    "assertions.edit": ("EDIT_ENTITY_ASSERTIONS", "EDIT_ENTITY"),
    "asset_summary.edit": ("MANAGE_ASSET_SUMMARY", "EDIT_ENTITY"),
    "column.business_attribute.edit": (
        "EDIT_DATASET_COL_BUSINESS_ATTRIBUTE_PRIVILEGE",
        "EDIT_ENTITY",
    ),
    "data_contract.edit": ("EDIT_ENTITY_DATA_CONTRACT", "EDIT_ENTITY"),
    "docs.edit": ("EDIT_ENTITY_DOCS", "EDIT_ENTITY"),
    "document.change": ("EDIT_ENTITY_DOCS", "EDIT_ENTITY"),
    "embed.edit": ("EDIT_ENTITY_EMBED", "EDIT_ENTITY"),
    "entity.delete": ("DELETE_ENTITY",),
    "entity.update": ("EDIT_ENTITY",),
    "er_model_relationship.create": ("CREATE_ENTITY_ER_MODEL_RELATIONSHIP", "EDIT_ENTITY"),
    "incidents.edit": ("EDIT_ENTITY_INCIDENTS", "EDIT_ENTITY"),
    "ingestion.execute": ("EXECUTE_ENTITY",),
    "lineage.edit": ("EDIT_LINEAGE", "EDIT_ENTITY"),
    "operations.edit": ("EDIT_ENTITY_OPERATIONS", "EDIT_ENTITY"),
    "properties.edit": ("EDIT_ENTITY_PROPERTIES", "EDIT_ENTITY"),
}
"""Operations on an asset, and the privileges on it that permit each."""

BY_TYPE = {
    "createIngestionSource": "MANAGE_INGESTION",
    "updateIngestionSource": "MANAGE_INGESTION",
    "deleteIngestionSource": "MANAGE_INGESTION",
    "createIngestionExecutionRequest": "MANAGE_INGESTION",
    "cancelIngestionExecutionRequest": "MANAGE_INGESTION",
    "createDocument": "MANAGE_DOCUMENTS",
    "updateDocumentContents": "MANAGE_DOCUMENTS",
    "deleteDocument": "MANAGE_DOCUMENTS",
}
"""Fields about an entity type that a platform privilege covers as a whole."""


def _about(asked: Asked) -> str:
    """The asset that a document names."""
    named = asked.query + str(asked.variables)
    found = re.search(r"urn:li:\w+:[^\"' })]+", named)
    assert found is not None, asked
    return HIVE if HIVE in named else found[0]


@pytest.fixture(scope="module")
def wire(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Wire]:
    """One server for all tests: each test grants to its own user."""
    with open_server(tmp_path_factory.mktemp("served")) as one:
        yield one


def _somebody(*words: str) -> str:
    return "-".join(words).lower()


@pytest.mark.parametrize(
    ("field", "privilege"),
    [
        (field, privilege)
        for field, asked in sorted(REFUSED.items())
        for privilege in PLATFORM.get(asked.operation, ())
    ],
)
def test_a_privilege_of_the_platform_opens_its_fields(
    wire: Wire, field: str, privilege: str
) -> None:
    granted = _somebody(field, privilege)
    grant(wire, granted, privilege)
    asked = REFUSED[field]
    assert _outcome(wire, asked, granted) != FORBIDDEN or field == "getSecretValues"
    assert _outcome(wire, asked, "eve") == FORBIDDEN


@pytest.mark.parametrize(
    ("field", "privilege"),
    [
        (field, privilege)
        for field, asked in sorted(REFUSED.items())
        for privilege in ON_ASSETS.get(asked.operation, ())
    ],
)
def test_a_privilege_on_an_asset_opens_its_fields_for_that_asset(
    wire: Wire, field: str, privilege: str
) -> None:
    asked = REFUSED[field]
    granted, beside = _somebody(field, privilege), _somebody("beside", field, privilege)
    grant(wire, granted, privilege, on=(_about(asked),))
    grant(wire, beside, privilege, on=(KAFKA,))
    assert _outcome(wire, asked, granted) != FORBIDDEN
    assert _outcome(wire, asked, beside) == FORBIDDEN


@pytest.mark.parametrize(("field", "privilege"), sorted(BY_TYPE.items()))
def test_a_privilege_of_the_platform_covers_a_type(wire: Wire, field: str, privilege: str) -> None:
    granted = _somebody("type", field)
    grant(wire, granted, privilege)
    assert _outcome(wire, REFUSED[field], granted) != FORBIDDEN


def test_applications_are_managed_by_whoever_may_change_and_delete_all_of_them(wire: Wire) -> None:
    create = REFUSED["createApplication"]
    grant(wire, "bob", "EDIT_ENTITY", "DELETE_ENTITY", on=("urn:li:application:x",))
    assert _outcome(wire, create, "bob") == FORBIDDEN
    _on_type(wire, "ana", "application", "EDIT_ENTITY")
    assert _outcome(wire, create, "ana") == FORBIDDEN
    _on_type(wire, "ana", "application", "DELETE_ENTITY")
    assert _outcome(wire, create, "ana") is None


def _on_type(wire: Wire, name: str, type: str, privilege: str) -> None:
    criterion = {"field": "TYPE", "condition": "EQUALS", "values": [type]}
    policy = {
        "displayName": "x",
        "description": "",
        "type": "METADATA",
        "state": "ACTIVE",
        "privileges": [privilege],
        "resources": {"filter": {"criteria": [criterion]}},
        "actors": {"users": [f"urn:li:corpuser:{name}"]},
    }
    urn = f"urn:li:dataHubPolicy:{name}-{privilege}"
    wire.put("dataHubPolicy", urn, "dataHubPolicyInfo", policy)


def test_every_operation_is_granted_somehow() -> None:
    tried = PLATFORM.keys() | ON_ASSETS.keys() | {"entity.create", "entity.manage"}
    assert {asked.operation for asked in REFUSED.values()} <= tried


def _outcome(wire: Wire, asked: Asked, by: str) -> tuple[int, str] | None:
    """The code and type of the first error; None if there is none."""
    answer = wire.ask(asked.query, by, **asked.variables)
    errors = answer.get("errors")
    if not errors:
        return None
    extensions = errors[0]["extensions"]
    assert extensions["code"] < 500, errors
    return extensions["code"], extensions["type"]
