"""Settings, applications and analytics of the platform."""

from __future__ import annotations

from typing import Any

import pytest

from tests.systems.datahub.http.graphql.platform.granting import (
    HIVE,
    KAFKA,
    OTHER,
    dataset,
    grant,
    input_of,
)
from tests.systems.datahub.http.graphql.wire import CONFLICT, FORBIDDEN, NOT_FOUND, Wire, document

SET = input_of("UpdateGlobalSettingsInput", "updateGlobalSettings")
PROPAGATE = input_of("UpdateDocPropagationSettingsInput", "updateDocPropagationSettings")
ALL = "urn:li:globalSettings:0"
TEMPLATE = "urn:li:dataHubPageTemplate:t"


def test_settings_are_parts_of_one_aspect_each_with_its_own_right(wire: Wire) -> None:
    sso = {"baseUrl": "https://x.test"}
    wire.put("globalSettings", ALL, "globalSettingsInfo", {"sso": sso, "unknown": 1})
    wire.put("dataHubPageTemplate", TEMPLATE, "status", {"removed": False})
    grant(wire, "ana", "MANAGE_GLOBAL_SETTINGS")
    grant(wire, "bob", "MANAGE_FEATURES")
    home = {"homePageSettings": {"defaultTemplate": TEMPLATE}}
    assert wire.good(SET, "ana", i={**home, "applicationsSettings": {"enabled": True}})
    assert wire.bad(SET, "bob", i=home) == FORBIDDEN
    assert wire.good(PROPAGATE, "bob", i={"docColumnPropagation": False})
    assert wire.bad(PROPAGATE, "ana", i={"docColumnPropagation": True}) == FORBIDDEN
    kept = wire.aspects("globalSettings", ALL)["globalSettingsInfo"]
    assert (kept["sso"], kept["unknown"]) == (sso, 1)
    grant(wire, "cid", "MANAGE_GLOBAL_SETTINGS", "MANAGE_FEATURES", "MANAGE_GLOBAL_VIEWS")
    answer = wire.ask(document("platform_settings"), "cid")
    assert answer == {
        "data": {
            "globalViewsSettings": {"defaultView": None},
            "docPropagationSettings": {"docColumnPropagation": False},
            "globalSettings": {
                "homePageSettings": {"defaultTemplate": {"urn": TEMPLATE}},
                "applicationsSettings": {"enabled": True},
            },
        }
    }
    unknown = {"homePageSettings": {"defaultTemplate": "urn:li:dataHubPageTemplate:none"}}
    assert wire.bad(SET, "ana", i=unknown) == NOT_FOUND


def test_the_secret_of_single_sign_on_is_not_kept(wire: Wire) -> None:
    """A reader of the settings page reads all of them."""
    oidc = {"clientId": "x", "clientSecret": "open sesame"}
    for told in (oidc, {"com.linkedin.settings.global.OidcSettings": oidc}):
        value = {"sso": {"baseUrl": "https://x.test", "oidcSettings": told}, "more": [oidc]}
        wire.put("globalSettings", ALL, "globalSettingsInfo", value)
        kept = wire.aspects("globalSettings", ALL)["globalSettingsInfo"]
        assert "open sesame" not in str(kept)
        assert "clientId" in str(kept)


CREATE = input_of("CreateApplicationInput", "createApplication", " { urn }")
PUT = input_of("BatchSetApplicationInput", "batchSetApplication")
TAKE = input_of("BatchUnsetApplicationInput", "batchUnsetApplication")
SHOP, BANK = "urn:li:application:shop", "urn:li:application:bank"


@pytest.fixture
def _assets(wire: Wire) -> None:
    for urn in (HIVE, OTHER):
        dataset(wire, urn)
    for urn in (SHOP, BANK):
        wire.put("application", urn, "applicationProperties", {"name": urn[-4:]})


def test_an_application_is_made_in_a_domain_by_who_may_edit_both(wire: Wire) -> None:
    domain = "urn:li:domain:sales"
    wire.put("domain", domain, "domainProperties", {"name": "Sales"})
    grant(wire, "ana", "EDIT_ENTITY", "DELETE_ENTITY")
    asked = {"id": "shop", "properties": {"name": "Shop"}, "domainUrn": domain}
    assert wire.bad(CREATE, "bob", i=asked) == FORBIDDEN
    assert wire.good(CREATE, "ana", i=asked) == {"urn": SHOP}
    assert wire.aspects("application", SHOP)["domains"]["domains"] == [domain]
    assert wire.bad(CREATE, "ana", i=asked) == CONFLICT
    assert wire.good(f'mutation {{ deleteApplication(urn: "{SHOP}") }}', "ana")
    assert wire.aspects("application", SHOP) == {}


@pytest.mark.usefixtures("_assets")
def test_assets_belong_to_applications_as_who_may_edit_them_says(wire: Wire) -> None:
    grant(wire, "ana", "EDIT_ENTITY_APPLICATIONS_PRIVILEGE", on=(HIVE,))
    both = {"applicationUrn": SHOP, "resourceUrns": [HIVE, OTHER]}
    assert wire.bad(PUT, "ana", i=both) == FORBIDDEN
    assert "applications" not in wire.aspects("dataset", HIVE)
    for urn in (SHOP, BANK, SHOP):
        assert wire.good(PUT, "ana", i={"applicationUrn": urn, "resourceUrns": [HIVE]})
    page = wire.good(document("platform_applications"), "eve", urn=HIVE)
    assert [one["application"]["urn"] for one in page["applications"]] == [SHOP, BANK]
    assert page["application"]["application"]["properties"]["name"] == "shop"
    assert wire.good(TAKE, "ana", i={"applicationUrn": SHOP, "resourceUrns": [HIVE]})
    assert wire.aspects("dataset", HIVE)["applications"]["applications"] == [BANK]
    assert wire.good(PUT, "ana", i={"resourceUrns": [HIVE]})
    assert wire.aspects("dataset", HIVE)["applications"]["applications"] == []
    unknown = {"applicationUrn": "urn:li:application:none", "resourceUrns": [HIVE]}
    assert wire.bad(PUT, "ana", i=unknown) == NOT_FOUND


def bars(chart: dict[str, Any]) -> dict[str, int]:
    return {bar["name"]: bar["segments"][0]["value"] for bar in chart["bars"]}


@pytest.mark.usefixtures("_assets")
def test_analytics_count_what_there_is_for_who_may_see_them(wire: Wire) -> None:
    dataset(wire, KAFKA)
    domain = "urn:li:domain:sales"
    wire.put("domain", domain, "domainProperties", {"name": "Sales"})
    wire.put("dataset", HIVE, "domains", {"domains": [domain]})
    asked = document("platform_analytics")
    assert {one["extensions"]["code"] for one in wire.ask(asked, "eve")["errors"]} == {403}
    grant(wire, "ana", "VIEW_ANALYTICS")
    found = wire.ask(asked, "ana")["data"]
    values = {one["title"]: one["value"] for one in found["getHighlights"]}
    assert (values["Datasets"], values["Domains"], values["Groups"]) == (3, 1, 1)
    (group,) = found["getAnalyticsCharts"]
    charts = {chart["title"]: bars(chart) for chart in group["charts"]}
    assert charts["Entities by type"]["dataset"] == 3
    assert charts["Entities by platform"] == {"hive": 2, "kafka": 1}
    assert charts["Entities by environment"] == {"PROD": 3}
    assert charts["Entities by domain"] == {domain: 1}


@pytest.mark.usefixtures("_assets")
def test_analytics_of_a_type_a_domain_or_some_words(wire: Wire) -> None:
    domain = "urn:li:domain:sales"
    wire.put("domain", domain, "domainProperties", {"name": "Sales"})
    wire.put("dataset", HIVE, "domains", {"domains": [domain]})
    grant(wire, "ana", "VIEW_ANALYTICS")
    asked = """query q($i: MetadataAnalyticsInput!) { getMetadataAnalyticsCharts(input: $i) {
      charts { ... on BarChart { title bars { name segments { value } } } } } }"""

    def platforms(**input: Any) -> dict[str, int]:
        (group,) = wire.good(asked, "ana", i=input)
        return bars(group["charts"][0])

    assert platforms() == {"hive": 2}
    assert platforms(entityType="DATASET", domain="GLOBAL") == {"hive": 2}
    assert platforms(domain=domain) == {"hive": 1}
    assert platforms(entityType="CHART") == {}
    assert platforms(query="a.c") == {"hive": 1}
    assert wire.bad(asked, "eve", i={}) == FORBIDDEN
