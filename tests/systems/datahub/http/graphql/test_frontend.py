"""The requests of a frontend's pages are answered, with what the caller may see."""

from __future__ import annotations

import json
from typing import Any

import pytest
from graphql import GraphQLObjectType

from lakewarden.systems.datahub.http.graphql import app_config
from lakewarden.systems.datahub.http.graphql.schema import schema
from tests.systems.datahub.http.graphql.test_lineage import allow, dataset
from tests.systems.datahub.http.graphql.wire import BAD, NOT_FOUND, Json, Wire, document, role, user

ORDERS, WAGES = dataset("orders"), dataset("wages")
FLOW = "urn:li:dataFlow:(airflow,f,PROD)"
TASK = f"urn:li:dataJob:({FLOW},t)"
PRODUCT = "urn:li:dataProduct:p"
SHOP = "urn:li:application:shop"
METRIC = "urn:li:metric:(urn:li:dataPlatform:dbt,sales,revenue)"
PART = "urn:li:metric:(urn:li:dataPlatform:dbt,sales,refunds)"
MODEL = "urn:li:semanticModel:(urn:li:dataPlatform:dbt,sales,model)"
SET = "urn:li:versionSet:(v,dataset)"


@pytest.fixture
def hub(wire: Wire) -> Wire:
    return wire.built(_fill_realm)


def _fill_realm(wire: Wire) -> None:
    wire.close()
    for urn in (ORDERS, WAGES):
        wire.put("dataset", urn, "datasetProperties", {"name": urn[-13:-6]})


def guard_views(wire: Wire, *urns: str) -> None:
    """From now on, eve may see only these."""
    wire.configure(view=True)
    allow(wire, "eve", *urns)


def test_the_documents_with_everything_are_answered(hub: Wire) -> None:
    hub.put("application", SHOP, "applicationProperties", {"name": "Shop"})
    asked = {
        "users": {"query": "*"},
        "counted": {},
        "quick": {},
        "paths": {"type": "DATASET", "urn": ORDERS},
        "products": {"urns": [ORDERS]},
        "steps": {"ids": []},
    }
    for urn in (ORDERS, SHOP, user("ana")):
        body = {"query": document("frontend"), "variables": {**asked, "urn": urn}}
        answer = json.loads(hub.send(body).body)
        assert "errors" not in answer, answer
    body = {"query": document("metrics"), "variables": {"metric": METRIC, "model": MODEL}}
    assert "errors" not in json.loads(hub.send(body).body)


# The server's description


def test_the_configuration_says_what_policies_may_grant(hub: Wire) -> None:
    config = hub.good(document("app_config"), "eve")
    policies = config["policiesConfig"]
    assert policies["enabled"]
    platform = {one["type"]: one["displayName"] for one in policies["platformPrivileges"]}
    assert platform["MANAGE_POLICIES"] == "Manage Policies"
    assert "VIEW_ENTITY_PAGE" not in platform
    by_type = {one["resourceType"]: one for one in policies["resourcePrivileges"]}
    assert by_type["dataset"]["entityType"] == "DATASET"
    of_dataset = {one["type"] for one in by_type["dataset"]["privileges"]}
    assert {"VIEW_ENTITY_PAGE", "EDIT_LINEAGE", "VIEW_DATASET_USAGE"} <= of_dataset
    assert "EDIT_GROUP_MEMBERS" not in of_dataset
    assert of_dataset < {one["type"] for one in by_type["all"]["privileges"]}
    generic = {"dataHubIngestionSource", "dataHubView", "structuredProperty"}
    assert generic <= by_type.keys()
    assert "dataHubPolicy" not in by_type
    hub.configure(policies=False)
    assert not hub.good(document("app_config"), "eve")["policiesConfig"]["enabled"]


def test_every_feature_is_on_or_off() -> None:
    flags = schema().type_map["FeatureFlagsConfig"]
    assert isinstance(flags, GraphQLObjectType)
    assert flags.fields.keys() >= app_config.SERVED


# Counts


def test_counts_are_of_what_the_caller_may_see(hub: Wire) -> None:
    query = """query q($i: EntityCountInput) { getEntityCounts(input: $i) {
      counts { entityType count } } }"""

    def counts(by: str, **input: object) -> Json:
        found = hub.good(query, by, i=input)["counts"]
        return {one["entityType"]: one["count"] for one in found}

    assert counts("datahub")["DATASET"] == 2
    assert counts("datahub", types=["DATASET", "CHART"]) == {"DATASET": 2, "CHART": 0}
    guard_views(hub, ORDERS)
    assert counts("eve", types=["DATASET"]) == {"DATASET": 1}
    assert hub.good("{ getEntityCounts { counts { count } } }")


def test_filters_are_offered_of_what_the_caller_may_see(hub: Wire) -> None:
    hive = "urn:li:dataPlatform:hive"
    query = """{ getQuickFilters(input: {}) { quickFilters { field value entity { urn } } } }"""
    assert hub.good(query)["quickFilters"] == [
        {"field": "platform", "value": hive, "entity": {"urn": hive}},
        {"field": "_entityType", "value": "DATASET", "entity": None},
    ]
    guard_views(hub)
    assert hub.good(query, "eve")["quickFilters"] == []


def test_users_are_searched(hub: Wire) -> None:
    query = """query q($i: SearchAcrossEntitiesInput!) { searchUsers(input: $i) {
      searchResults { entity { urn } } } }"""
    found = hub.good(query, i={"query": "ana"})["searchResults"]
    assert [one["entity"]["urn"] for one in found] == [user("ana")]
    assert hub.good(query, i={"query": "orders"})["searchResults"] == []


# Places of entities


def test_older_paths_are_those_that_are_stored(hub: Wire) -> None:
    query = "query q($i: BrowsePathsInput!) { browsePaths(input: $i) { path } }"
    hub.put("dataset", ORDERS, "browsePaths", {"paths": ["/prod/hive/orders", 3]})
    asked = {"type": "DATASET", "urn": ORDERS}
    assert hub.good(query, i=asked) == [{"path": ["prod", "hive", "orders"]}]
    assert hub.good(query, i={**asked, "urn": WAGES}) == []
    assert hub.bad(query, i={"type": "CHART", "urn": ORDERS}) == BAD
    guard_views(hub)
    assert hub.good(query, "eve", i=asked) == []


def test_data_products_of_several_entities_are_told_together(hub: Wire) -> None:
    query = """query q($i: BulkEntityDataProductsInput!) { bulkEntityDataProducts(input: $i) {
      entities { urn dataProductAssociations { isOutputPort dataProduct { urn } } } } }"""
    assets = [{"destinationUrn": ORDERS, "outputPort": True}, {"destinationUrn": WAGES}]
    hub.put("dataProduct", PRODUCT, "dataProductProperties", {"name": "P", "assets": assets})

    def found(by: str = "datahub") -> list[tuple[str, list[bool]]]:
        told = hub.good(query, by, i={"urns": [ORDERS, WAGES]})["entities"]
        return [
            (one["urn"], [a["isOutputPort"] for a in one["dataProductAssociations"]])
            for one in told
        ]

    assert found() == [(ORDERS, [True]), (WAGES, [False])]
    guard_views(hub, ORDERS)
    assert found("eve") == [(ORDERS, []), (WAGES, [])]
    assert hub.bad(query, i={"urns": [ORDERS] * 101}) == BAD


def test_assets_of_an_application_are_counted(hub: Wire) -> None:
    hub.put("application", SHOP, "applicationProperties", {})
    for urn in (ORDERS, WAGES):
        hub.put("dataset", urn, "applications", {"applications": [SHOP]})
    query = f'{{ application(urn: "{SHOP}") {{ properties {{ name numAssets }} }} }}'
    hub.put("application", SHOP, "applicationProperties", {"description": "x"})
    assert hub.good(query)["properties"] == {"name": "shop", "numAssets": 2}
    guard_views(hub, ORDERS, SHOP)
    assert hub.good(query, "eve")["properties"]["numAssets"] == 1


# Users' choices


STEPS = "query q($i: BatchGetStepStatesInput!) { batchGetStepStates(input: $i) { results { id } } }"


def test_everybody_keeps_their_own_steps(hub: Wire) -> None:
    own, other = f"{user('ana')}-welcome", f"{user('bob')}-welcome"
    states = [{"id": id, "properties": [{"key": "seen", "value": "1"}]} for id in (own, other)]
    told = hub.good(document("steps"), "ana", input={"states": states})["results"]
    assert [(one["id"], one["succeeded"]) for one in told] == [(own, True), (other, False)]
    asked = {"ids": [own, other, f"{user('ana')}-other"]}
    assert hub.good(STEPS, "ana", i=asked)["results"] == [{"id": own}]
    assert hub.good(STEPS, "bob", i=asked)["results"] == []
    assert hub.bad(STEPS, i={"ids": [own] * 101}) == BAD
    revision = hub.service.state.revision
    hub.good(document("steps"), "ana", input={"states": states[1:]})
    assert hub.service.state.revision == revision


def test_language_and_home_page_are_everybodys_own(hub: Wire) -> None:
    page = "urn:li:dataHubPageTemplate:t"
    settings = """{ me { corpUser { settings { locale { language }
      homePage { pageTemplate { urn } dismissedAnnouncementUrns } } } } }"""
    speak = """mutation m($i: UpdateCorpUserLocaleSettingsInput!) {
      updateCorpUserLocaleSettings(input: $i) }"""
    home = """mutation m($i: UpdateUserHomePageSettingsInput!) {
      updateUserHomePageSettings(input: $i) }"""

    def chosen() -> Any:
        return hub.good(settings, "ana")["corpUser"]["settings"]

    assert hub.good(speak, "ana", i={"language": "de"})
    assert chosen()["locale"] == {"language": "de"}
    assert hub.bad(speak, "ana", i={"language": "x" * 65}) == BAD
    assert hub.good(speak, "ana", i={"language": None})
    assert chosen()["locale"] == {"language": None}
    assert hub.bad(home, "ana", i={"pageTemplate": page}) == NOT_FOUND
    hub.put("dataHubPageTemplate", page, "dataHubPageTemplateProperties", {"rows": []})
    assert hub.good(home, "ana", i={"pageTemplate": page, "newDismissedAnnouncements": ["a"]})
    assert hub.good(home, "ana", i={"newDismissedAnnouncements": ["b", "a"]})
    told = {"pageTemplate": {"urn": page}, "dismissedAnnouncementUrns": ["a", "b"]}
    assert chosen()["homePage"] == told
    assert hub.good(home, "ana", i={"removePageTemplate": True})
    assert chosen()["homePage"]["pageTemplate"] is None
    many = [str(number) for number in range(1_001)]
    assert hub.bad(home, "ana", i={"newDismissedAnnouncements": many}) == BAD


def test_everybody_is_shown_the_home_page_of_all(hub: Wire) -> None:
    page = "urn:li:dataHubPageTemplate:t"
    query = "{ globalHomePageSettings { defaultTemplate { urn } } }"
    assert hub.good(query, "eve") == {"defaultTemplate": None}
    hub.put("dataHubPageTemplate", page, "dataHubPageTemplateProperties", {"rows": []})
    settings = {"homePage": {"defaultTemplate": page}}
    hub.put("globalSettings", "urn:li:globalSettings:0", "globalSettingsInfo", settings)
    assert hub.good(query, "eve") == {"defaultTemplate": {"urn": page}}


# Health, and runs


def put_timed(wire: Wire, type: str, urn: str, aspect: str, **value: object) -> None:
    wire.put(type, urn, aspect, {"timestampMillis": 1_000, **value})


HEALTH = """query q($u: String!) { entity(urn: $u) {
  ... on Dataset { health { type status message causes reportedAt } } } }"""


def test_open_incidents_and_failing_assertions_are_bad_health(hub: Wire) -> None:
    def health(by: str = "datahub") -> Any:
        found = hub.good(HEALTH, by, u=ORDERS)["health"]
        return [(one["type"], one["status"], one["causes"]) for one in found]

    assert health() == []
    incident, check = "urn:li:incident:i", "urn:li:assertion:a"
    info = {"type": "OPERATIONAL", "entities": [ORDERS], "status": {"state": "ACTIVE"}}
    hub.put("incident", incident, "incidentInfo", info)
    about = {"type": "DATASET", "datasetAssertion": {"dataset": ORDERS}}
    hub.put("assertion", check, "assertionInfo", about)
    assert health() == [("INCIDENTS", "FAIL", [incident])]
    put_timed(hub, "assertion", check, "assertionRunEvent", result={"type": "FAILURE"})
    assert health() == [("INCIDENTS", "FAIL", [incident]), ("ASSERTIONS", "FAIL", [check])]
    hub.put("incident", incident, "incidentInfo", {**info, "status": {"state": "RESOLVED"}})
    assert health()[0] == ("INCIDENTS", "PASS", [])
    guard_views(hub, ORDERS)
    assert [one[0] for one in health("eve")] == ["INCIDENTS"]


RUNS = """query q($u: String!) { entity(urn: $u) {
  ... on HasExecutionRuns { runs { total runs { urn state { status result { resultType } } } } }
  ... on Dataset {
    written: runs(direction: INCOMING) { total }
    read: runs(direction: OUTGOING) { runs { urn } }
  }
} }"""


def test_runs_are_those_of_a_task_and_those_on_a_dataset(hub: Wire) -> None:
    hub.put("dataJob", TASK, "dataJobInfo", {"name": "t"})
    runs = [f"urn:li:dataProcessInstance:{number}" for number in range(2)]
    for number, run in enumerate(runs):
        made = {"name": run, "created": {"time": number, "actor": user("ana")}}
        hub.put("dataProcessInstance", run, "dataProcessInstanceProperties", made)
        of = {"parentTemplate": TASK, "upstreamInstances": []}
        hub.put("dataProcessInstance", run, "dataProcessInstanceRelationships", of)
    hub.put("dataProcessInstance", runs[0], "dataProcessInstanceInput", {"inputs": [ORDERS]})
    edge = {"outputs": [], "outputEdges": [{"destinationUrn": ORDERS}]}
    hub.put("dataProcessInstance", runs[1], "dataProcessInstanceOutput", edge)
    done = {"status": "COMPLETE", "result": {"type": "SUCCESS", "nativeResultType": "x"}}
    put_timed(hub, "dataProcessInstance", runs[1], "dataProcessInstanceRunEvent", **done)
    of_task = hub.good(RUNS, u=TASK)["runs"]
    assert [one["urn"] for one in of_task["runs"]] == runs[::-1]
    state = [{"status": "COMPLETE", "result": {"resultType": "SUCCESS"}}]
    assert [one["state"] for one in of_task["runs"]] == [state, []]
    on_dataset = hub.good(RUNS, u=ORDERS)
    assert on_dataset == {"written": {"total": 1}, "read": {"runs": [{"urn": runs[0]}]}}
    guard_views(hub, TASK, runs[0])
    assert hub.good(RUNS, "eve", u=TASK)["runs"]["total"] == 1
    state_of = "query q($u: String!) { entity(urn: $u) { ... on DataProcessInstance {" + (
        " state(limit: -1) { status } } } }"
    )
    assert hub.bad(state_of, u=runs[0]) == BAD


# Versions, metrics, meanings


def test_versions_of_a_set_are_searched(hub: Wire) -> None:
    for urn, tag in ((ORDERS, "1"), (WAGES, "2")):
        value = {"versionSet": SET, "version": {"versionTag": tag}, "aliases": [], "sortId": tag}
        hub.put("dataset", urn, "versionProperties", value)
    hub.put("versionSet", SET, "versionSetProperties", {"latest": WAGES})
    of_set = """query q($u: String!, $i: SearchAcrossEntitiesInput!) { versionSet(urn: $u) {
      latestVersion { urn } versionsSearch(input: $i) { total } } }"""
    asked: Any = {"u": SET, "i": {"query": "*"}}
    assert hub.good(of_set, **asked) == {
        "latestVersion": {"urn": WAGES},
        "versionsSearch": {"total": 2},
    }
    of_one = """query q($u: String!) { dataset(urn: $u) { versionProperties {
      isLatest version { versionTag } versionSet { urn } } } }"""
    told = hub.good(of_one, u=WAGES)["versionProperties"]
    assert told == {"isLatest": True, "version": {"versionTag": "2"}, "versionSet": {"urn": SET}}
    assert not hub.good(of_one, u=ORDERS)["versionProperties"]["isLatest"]
    guard_views(hub, ORDERS)
    assert hub.good(of_set, "eve", **asked) == {
        "latestVersion": None,
        "versionsSearch": {"total": 1},
    }


def test_metrics_are_shown_with_their_parts_and_meaning(hub: Wire) -> None:
    hub.put("semanticModel", MODEL, "semanticModelInfo", {"name": "Sales", "datasets": [ORDERS]})
    for urn, name in ((METRIC, "Revenue"), (PART, "Refunds")):
        hub.put("metric", urn, "metricInfo", {"name": name, "semanticModel": MODEL})
    hub.put("metric", PART, "metricRelationships", {"parentMetric": METRIC})
    answer = json.loads(
        hub.send(
            {"query": document("metrics"), "variables": {"metric": METRIC, "model": MODEL}}
        ).body
    )
    assert "errors" not in answer, answer
    metric, model = answer["data"]["metric"], answer["data"]["semanticModel"]
    assert (metric["info"]["name"], metric["path"], metric["id"]) == ("Revenue", "sales", "revenue")
    assert (metric["childMetrics"]["total"], model["metrics"]["total"]) == (1, 2)
    assert model["info"]["datasets"] == [{"urn": ORDERS}]
    assert metric["semanticModel"] == {"urn": MODEL}


def test_the_meaning_of_a_column_is_shown_with_its_tags(hub: Wire) -> None:
    attribute, column = "urn:li:businessAttribute:b", f"urn:li:schemaField:({ORDERS},id)"
    stamp = {"time": 1, "actor": user("ana")}
    info = {"name": "B", "created": stamp, "lastModified": stamp}
    tagged = {**info, "globalTags": {"tags": [{"tag": "urn:li:tag:pii"}]}}
    hub.put("businessAttribute", attribute, "businessAttributeInfo", tagged)
    stated = {"businessAttribute": {"businessAttributeUrn": attribute}}
    hub.put("schemaField", column, "businessAttributes", stated)
    query = """query q($u: String!) { entity(urn: $u) { ... on SchemaFieldEntity {
      businessAttributes { businessAttribute { associatedUrn businessAttribute {
        urn properties { tags { tags { tag { urn } } } } } } } } } }"""
    told = hub.good(query, u=column)["businessAttributes"]["businessAttribute"]
    assert (told["associatedUrn"], told["businessAttribute"]["urn"]) == (column, attribute)
    tags = told["businessAttribute"]["properties"]["tags"]["tags"]
    assert tags == [{"tag": {"urn": "urn:li:tag:pii"}}]
    hub.put("schemaField", f"urn:li:schemaField:({ORDERS},x)", "status", {"removed": False})
    assert hub.good(query, u=f"urn:li:schemaField:({ORDERS},x)")["businessAttributes"] is None


ROLE = """query q($u: String!) { dataHubRole(urn: $u) { relationships(input: {
  types: ["IsAssociatedWithRole"], direction: INCOMING, relatedEntityTypes: ["dataHubPolicy"]
}) { total relationships { entity { urn } } } } }"""


def test_policies_of_a_role_are_told_to_who_may_list_them(hub: Wire) -> None:
    policy = "urn:li:dataHubPolicy:of-readers"
    stated = {
        "displayName": "x",
        "description": "",
        "type": "PLATFORM",
        "state": "ACTIVE",
        "privileges": ["VIEW_ANALYTICS"],
        "actors": {"roles": [role("Reader")]},
        "editable": True,
    }
    hub.put("dataHubPolicy", policy, "dataHubPolicyInfo", stated)
    told = hub.good(ROLE, u=role("Reader"))["relationships"]["relationships"]
    assert {"entity": {"urn": policy}} in told
    assert hub.good(ROLE, "eve", u=role("Reader"))["relationships"]["total"] == 0
    back = """query q($u: String!) { entity(urn: $u) { relationships(input: {
      types: ["IsAssociatedWithRole"], direction: OUTGOING }) {
      relationships { entity { urn } } } } }"""
    found = hub.good(back, u=policy)["relationships"]["relationships"]
    assert found == [{"entity": {"urn": role("Reader")}}]
    other = ROLE.replace("dataHubPolicy", "dataset")
    assert hub.good(other, u=role("Reader"))["relationships"]["total"] == 0


def test_the_newest_run_that_succeeded_is_told(hub: Wire) -> None:
    source = "urn:li:dataHubIngestionSource:s"
    value = {"name": "x", "type": "hive", "config": {"recipe": "{}"}, "source": {"type": "SYSTEM"}}
    hub.put("dataHubIngestionSource", source, "dataHubIngestionSourceInfo", value)
    for number, status in enumerate(("SUCCESS", "SUCCESS", "FAILURE")):
        run = f"urn:li:dataHubExecutionRequest:{number}"
        asked = {"task": "x", "requestedAt": number, "source": {"ingestionSource": source}}
        hub.put("dataHubExecutionRequest", run, "dataHubExecutionRequestInput", asked)
        came = {"status": status, "startTimeMs": number}
        hub.put("dataHubExecutionRequest", run, "dataHubExecutionRequestResult", came)
    query = f"""{{ ingestionSource(urn: "{source}") {{
      source {{ type }} latestSuccessfulExecution {{ id }} }} }}"""
    told = hub.good(query)
    assert told == {"source": {"type": "SYSTEM"}, "latestSuccessfulExecution": {"id": "1"}}
