"""Page templates and modules: private and shared ones; and the settings of assets."""

from __future__ import annotations

from typing import Any

import pytest

from tests.systems.datahub.http.graphql.platform.granting import (
    HIVE,
    OTHER,
    dataset,
    grant,
    input_of,
)
from tests.systems.datahub.http.graphql.wire import BAD, FORBIDDEN, NOT_FOUND, Wire, document, user

TEMPLATE = input_of("UpsertPageTemplateInput", "upsertPageTemplate", " { urn }")
MODULE = input_of("UpsertPageModuleInput", "upsertPageModule", " { urn }")
DELETE_TEMPLATE = input_of("DeletePageTemplateInput", "deletePageTemplate")
DELETE_MODULE = input_of("DeletePageModuleInput", "deletePageModule")
SETTINGS = input_of(
    "UpdateAssetSettingsInput",
    "updateAssetSettings",
    " { assetSummary { templates { template { urn } } } }",
)


@pytest.fixture(autouse=True)
def _managers(wire: Wire) -> None:
    grant(wire, "ana", "MANAGE_HOME_PAGE_TEMPLATES")
    dataset(wire, HIVE)
    dataset(wire, OTHER)


def module(scope: str, **members: Any) -> dict[str, Any]:
    params = {"linkParams": {"linkUrl": "https://x.test"}}
    return {"name": "m", "type": "LINK", "scope": scope, "params": params, **members}


def template(scope: str, *modules: str, **members: Any) -> dict[str, Any]:
    rows = [{"modules": list(modules)}]
    return {"rows": rows, "scope": scope, "surfaceType": "HOME_PAGE", **members}


def test_a_page_is_shown_as_it_was_laid_out(wire: Wire) -> None:
    link = wire.good(MODULE, "ana", i=module("GLOBAL"))["urn"]
    assets = {"assetCollectionParams": {"assetUrns": [HIVE], "dynamicFilterJson": "{}"}}
    many = wire.good(MODULE, "ana", i=module("GLOBAL", type="ASSET_COLLECTION", params=assets))
    property = "urn:li:structuredProperty:p"
    elements = [{"elementType": "OWNERS"}]
    elements.append({"elementType": "STRUCTURED_PROPERTY", "structuredPropertyUrn": property})
    asked = template("GLOBAL", link, many["urn"], assetSummary={"summaryElements": elements})
    urn = wire.good(TEMPLATE, "ana", i=asked)["urn"]
    page = wire.good(document("platform_page_template"), "eve", urn=urn)["properties"]
    assert [one["urn"] for one in page["rows"][0]["modules"]] == [link, many["urn"]]
    assert page["visibility"] == {"scope": "GLOBAL"}
    assert page["surface"] == {"surfaceType": "HOME_PAGE"}
    shown = [one["structuredProperty"] for one in page["assetSummary"]["summaryElements"]]
    assert shown == [None, {"urn": property}]
    part = wire.good(document("platform_page_module"), "eve", urn=many["urn"])["properties"]
    assert part["params"]["assetCollectionParams"]["assetUrns"] == [HIVE]
    assert part["params"]["linkParams"] is None
    part = wire.good(document("platform_page_module"), "eve", urn=link)["properties"]
    assert part["params"]["linkParams"]["linkUrl"] == "https://x.test"
    assert (part["name"], part["type"]) == ("m", "LINK")


@pytest.mark.parametrize(
    ("upsert", "delete", "input"),
    [(TEMPLATE, DELETE_TEMPLATE, template), (MODULE, DELETE_MODULE, module)],
)
def test_ones_own_is_anybodys_to_make_and_ones_own_to_change(
    wire: Wire, upsert: str, delete: str, input: Any
) -> None:
    assert wire.bad(upsert, "bob", i=input("GLOBAL")) == FORBIDDEN
    urn = wire.good(upsert, "bob", i=input("PERSONAL"))["urn"]
    for other in ("ana", "eve"):
        assert wire.bad(upsert, other, i={**input("PERSONAL"), "urn": urn}) == FORBIDDEN
        assert wire.bad(delete, other, i={"urn": urn}) == FORBIDDEN
    assert wire.bad(upsert, "bob", i={**input("GLOBAL"), "urn": urn}) == FORBIDDEN
    assert wire.good(upsert, "bob", i={**input("PERSONAL"), "urn": urn}) == {"urn": urn}
    assert wire.good(delete, "bob", i={"urn": urn})


def test_what_is_everybodys_stays_so_unless_one_may_manage_it(wire: Wire) -> None:
    urn = wire.good(TEMPLATE, "ana", i=template("GLOBAL"))["urn"]
    assert wire.bad(TEMPLATE, "bob", i={**template("PERSONAL"), "urn": urn}) == FORBIDDEN
    assert wire.bad(DELETE_TEMPLATE, "bob", i={"urn": urn}) == FORBIDDEN
    assert wire.good(DELETE_TEMPLATE, "ana", i={"urn": urn})
    assert wire.bad(DELETE_TEMPLATE, "ana", i={"urn": urn}) == NOT_FOUND


def test_a_template_is_made_of_modules_that_there_are(wire: Wire) -> None:
    unknown = "urn:li:dataHubPageModule:none"
    assert wire.bad(TEMPLATE, "bob", i=template("PERSONAL", unknown)) == NOT_FOUND
    assert wire.bad(TEMPLATE, "bob", i=template("PERSONAL", HIVE)) == BAD


def test_a_module_names_no_asset_that_one_is_not_shown(wire: Wire) -> None:
    params = {"hierarchyViewParams": {"assetUrns": [HIVE, OTHER], "showRelatedEntities": True}}
    asked = module("GLOBAL", type="HIERARCHY", params=params)
    urn = wire.good(MODULE, "ana", i=asked)["urn"]
    wire.configure(view=True)
    grant(wire, "cid", "VIEW_ENTITY_PAGE", on=(OTHER,))
    part = wire.good(document("platform_page_module"), "cid", urn=urn)["properties"]
    assert part["params"]["hierarchyViewParams"]["assetUrns"] == [OTHER]


def test_the_summary_of_an_asset_is_laid_out_by_who_may_manage_it(wire: Wire) -> None:
    urn = wire.good(TEMPLATE, "ana", i=template("GLOBAL", surfaceType="ASSET_SUMMARY"))["urn"]
    grant(wire, "bob", "MANAGE_ASSET_SUMMARY", on=(HIVE,))
    asked = {"urn": HIVE, "summary": {"template": urn}}
    assert wire.bad(SETTINGS, "eve", i=asked) == FORBIDDEN
    assert wire.bad(SETTINGS, "bob", i={**asked, "urn": OTHER}) == FORBIDDEN
    summary = {"templates": [{"template": {"urn": urn}}]}
    assert wire.good(SETTINGS, "bob", i=asked) == {"assetSummary": summary}
    page = wire.good(document("platform_asset_settings"), "eve", urn=HIVE)
    assert page["settings"]["assetSummary"]["templates"] == summary["templates"]
    unknown = {"urn": HIVE, "summary": {"template": "urn:li:dataHubPageTemplate:none"}}
    assert wire.bad(SETTINGS, "bob", i=unknown) == NOT_FOUND


EMBED = input_of("UpdateEmbedInput", "updateEmbed")
REPORT = input_of("ReportOperationInput", "reportOperation")


def test_what_a_page_embeds_is_said_by_who_may_edit_it(wire: Wire) -> None:
    grant(wire, "bob", "EDIT_ENTITY_EMBED", on=(HIVE,))
    asked = {"urn": HIVE, "renderUrl": "https://x.test"}
    assert wire.bad(EMBED, "eve", i=asked) == FORBIDDEN
    assert wire.good(EMBED, "bob", i=asked)
    assert wire.aspects("dataset", HIVE)["embed"] == {"renderUrl": "https://x.test"}
    assert wire.good(EMBED, "bob", i={"urn": HIVE})
    assert wire.aspects("dataset", HIVE)["embed"] == {"renderUrl": None}
    assert wire.bad(EMBED, "bob", i={"urn": user("bob")}) == BAD


def test_an_operation_is_reported_by_who_may_and_read_back(wire: Wire) -> None:
    grant(wire, "bob", "EDIT_ENTITY_OPERATIONS", on=(HIVE,))
    grant(wire, "cid", "VIEW_DATASET_OPERATIONS", on=(HIVE,))
    properties = [{"key": "run", "value": "7"}]
    asked: dict[str, Any] = {"urn": HIVE, "operationType": "INSERT", "sourceType": "DATA_PROCESS"}
    asked |= {"numAffectedRows": 3, "partition": "2026", "customProperties": properties}
    assert wire.bad(REPORT, "eve", i=asked) == FORBIDDEN
    assert wire.bad(REPORT, "bob", i={**asked, "urn": OTHER}) == FORBIDDEN
    assert wire.good(REPORT, "bob", i=asked)
    shown = f'query {{ dataset(urn: "{HIVE}") {{ operations {{ operationType numAffectedRows'
    (found,) = wire.good(f"{shown} actor partition }} }} }}", "cid")["operations"]
    assert found == {
        "operationType": "INSERT",
        "numAffectedRows": 3,
        "actor": user("bob"),
        "partition": "2026",
    }
    assert wire.bad(REPORT, "bob", i={**asked, "operationType": "CUSTOM"}) == BAD
    assert wire.bad(REPORT, "bob", i={**asked, "customOperationType": "x"}) == BAD
