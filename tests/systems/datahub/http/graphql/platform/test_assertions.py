"""Assertions, contracts and tests: claims about data, and their results."""

from __future__ import annotations

from typing import Any

import pytest

from tests.systems.datahub.http.graphql.platform.granting import (
    HIVE,
    ID,
    OTHER,
    dataset,
    grant,
    input_of,
)
from tests.systems.datahub.http.graphql.wire import BAD, FORBIDDEN, NOT_FOUND, Wire, document, user

UPSERT = """mutation m($urn: String, $i: UpsertCustomAssertionInput!) {
  upsertCustomAssertion(urn: $urn, input: $i) { urn }
}"""
REPORT = """mutation m($urn: String!, $i: AssertionResultInput!) {
  reportAssertionResult(urn: $urn, result: $i)
}"""
DELETE = "mutation m($urn: String!) { deleteAssertion(urn: $urn) }"
SHOW = document("platform_assertions")
GREAT = "urn:li:dataPlatform:great-expectations"


@pytest.fixture(autouse=True)
def _world(wire: Wire) -> None:
    wire.built(_fill_realm)


def _fill_realm(wire: Wire) -> None:
    grant(wire, "ana", "EDIT_ENTITY_ASSERTIONS", on=(HIVE,))
    grant(wire, "bob", "EDIT_ENTITY_ASSERTIONS", on=(OTHER,))
    grant(wire, "ana", "GET_TIMESERIES_ASPECT_PRIVILEGE")
    dataset(wire, HIVE, "id")
    dataset(wire, OTHER)


def claim(asset: str = HIVE, **members: Any) -> dict[str, Any]:
    told = {"entityUrn": asset, "type": "Freshness", "description": "is new"}
    return {**told, "platform": {"name": "great-expectations"}, **members}


def create_assertion(wire: Wire, **members: Any) -> str:
    urn: str = wire.good(UPSERT, "ana", i=claim(**members))["urn"]
    return urn


def list_assertions(wire: Wire, by: str = "ana", urn: str = HIVE) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = wire.good(SHOW, by, urn=urn)["assertions"]["assertions"]
    return found


def test_a_claim_is_shown_with_what_it_is_about(wire: Wire) -> None:
    urn = create_assertion(
        wire,
        fieldPaths=["id"],
        scope="DATASET_COLUMN",
        operator="BETWEEN",
        parameters={"minValue": {"value": "1", "type": "NUMBER"}},
        nativeParameters=[{"key": "mostly", "value": "0.9"}],
        externalUrl="https://x.test",
        logic="select 1",
    )
    (found,) = list_assertions(wire)
    info, custom = found["info"], found["info"]["customAssertion"]
    assert (found["urn"], info["type"], info["entityUrn"]) == (urn, "CUSTOM", HIVE)
    assert (info["description"], info["externalUrl"]) == ("is new", "https://x.test")
    assert custom["fields"] == [{"urn": ID, "path": "id"}]
    assert (custom["type"], custom["scope"]) == ("Freshness", "DATASET_COLUMN")
    assert (custom["operator"], custom["logic"]) == ("BETWEEN", "select 1")
    assert custom["parameters"]["minValue"] == {"value": "1", "type": "NUMBER"}
    assert info["source"]["created"]["actor"] == user("ana")
    assert wire.aspects("assertion", urn)["dataPlatformInstance"] == {"platform": GREAT}
    assert list_assertions(wire, urn=OTHER) == []


def test_a_claim_is_the_affair_of_who_may_edit_claims_about_the_asset(wire: Wire) -> None:
    urn = create_assertion(wire)
    assert wire.bad(UPSERT, "bob", i=claim()) == FORBIDDEN
    assert wire.bad(UPSERT, "bob", urn=urn, i=claim(OTHER)) == FORBIDDEN
    assert wire.bad(UPSERT, "ana", urn=urn, i=claim(OTHER)) == FORBIDDEN
    assert wire.bad(REPORT, "bob", urn=urn, i={"type": "SUCCESS"}) == FORBIDDEN
    assert wire.bad(DELETE, "bob", urn=urn) == FORBIDDEN
    assert wire.good(UPSERT, "ana", urn=urn, i=claim(description="is old")) == {"urn": urn}
    (found,) = list_assertions(wire)
    assert found["info"]["description"] == "is old"


def test_who_may_not_learns_nothing_of_claims_that_there_are(wire: Wire) -> None:
    unknown = "urn:li:assertion:none"
    assert wire.bad(DELETE, "bob", urn=unknown) == FORBIDDEN
    grant(wire, "cid", "EDIT_ENTITY_ASSERTIONS")
    assert wire.bad(DELETE, "cid", urn=unknown) == NOT_FOUND
    assert wire.bad(REPORT, "cid", urn=unknown, i={"type": "SUCCESS"}) == NOT_FOUND
    assert wire.bad(UPSERT, "cid", urn=unknown, i=claim()) == NOT_FOUND


def test_what_came_of_a_claim_is_shown_the_newest_first(wire: Wire) -> None:
    urn = create_assertion(wire)
    properties = [{"key": "rows", "value": "7"}]
    for time, type in ((1, "SUCCESS"), (2, "FAILURE")):
        asked = {"timestampMillis": time, "type": type, "severity": "HIGH"}
        assert wire.good(REPORT, "ana", urn=urn, i={**asked, "properties": properties})
    error = {"type": "UNKNOWN_ERROR", "message": "broken"}
    assert wire.good(REPORT, "ana", urn=urn, i={"type": "ERROR", "error": error})
    (found,) = list_assertions(wire)
    runs = found["runEvents"]
    assert (runs["total"], runs["succeeded"], runs["failed"], runs["errored"]) == (3, 1, 1, 1)
    results = [run["result"] for run in runs["runEvents"]]
    assert [one["type"] for one in results] == ["ERROR", "FAILURE", "SUCCESS"]
    assert [one["severity"] for one in results] == [None, "HIGH", None]
    assert results[0]["error"]["type"] == "UNKNOWN_ERROR"
    assert results[1]["nativeResults"] == [{"key": "rows"}]


def test_what_came_of_a_claim_is_for_who_may_read_what_is_timed(wire: Wire) -> None:
    urn = create_assertion(wire)
    wire.good(REPORT, "ana", urn=urn, i={"type": "SUCCESS"})
    (found,) = list_assertions(wire, "eve")
    assert found["runEvents"] is None


def test_a_claim_that_is_taken_away_is_gone(wire: Wire) -> None:
    urn = create_assertion(wire)
    assert wire.good(DELETE, "ana", urn=urn)
    assert list_assertions(wire) == []


@pytest.mark.parametrize(
    "odd",
    [
        {"platform": {}},
        {"platform": {"urn": HIVE}},
        {"entityUrn": "urn:li:chart:(looker,x)", "fieldPath": "id"},
    ],
)
def test_a_claim_that_makes_no_sense_is_not_kept(wire: Wire, odd: dict[str, Any]) -> None:
    assert wire.bad(UPSERT, "ana", i=claim(**odd)) == BAD


def test_a_claim_about_nothing_is_asked_about_itself(wire: Wire) -> None:
    urn = "urn:li:assertion:odd"
    wire.put("assertion", urn, "assertionInfo", {"type": "CUSTOM"})
    assert wire.bad(DELETE, "ana", urn=urn) == FORBIDDEN
    grant(wire, "cid", "EDIT_ENTITY", on=(urn,))
    assert wire.bad(REPORT, "cid", urn=urn, i={"type": "SUCCESS"}) == BAD
    assert wire.good(DELETE, "cid", urn=urn)


PROMISE = """mutation m($urn: String, $i: UpsertDataContractInput!) {
  upsertDataContract(urn: $urn, input: $i) { urn }
}"""


def test_a_dataset_has_one_contract_made_of_claims_about_it(wire: Wire) -> None:
    grant(wire, "bob", "EDIT_ENTITY_DATA_CONTRACT", on=(HIVE,))
    quality = [{"assertionUrn": create_assertion(wire)}]
    asked = {"entityUrn": HIVE, "id": "c", "dataQuality": quality}
    assert wire.bad(PROMISE, "ana", i=asked) == FORBIDDEN
    urn = "urn:li:dataContract:c"
    assert wire.good(PROMISE, "bob", i=asked) == {"urn": urn}
    contract = wire.good(document("platform_contract"), "eve", urn=HIVE)["contract"]
    assert contract["properties"]["entityUrn"] == HIVE
    clause = contract["properties"]["dataQuality"][0]
    assert clause["assertion"]["urn"] == quality[0]["assertionUrn"]
    assert contract["properties"]["freshness"] == []
    assert wire.good(PROMISE, "bob", i={"entityUrn": HIVE, "state": "PENDING"}) == {"urn": urn}
    assert wire.aspects("dataContract", urn)["dataContractStatus"]["state"] == "PENDING"


def test_a_contract_is_of_claims_of_the_right_type_about_its_dataset(wire: Wire) -> None:
    grant(wire, "bob", "EDIT_ENTITY_DATA_CONTRACT", on=(HIVE, OTHER))
    clause = [{"assertionUrn": create_assertion(wire)}]
    assert wire.bad(PROMISE, "bob", i={"entityUrn": OTHER, "dataQuality": clause}) == BAD
    assert wire.bad(PROMISE, "bob", i={"entityUrn": HIVE, "freshness": clause}) == BAD
    unknown = "urn:li:dataContract:none"
    assert wire.bad(PROMISE, "bob", urn=unknown, i={"entityUrn": HIVE}) == NOT_FOUND


def test_a_contract_that_is_moved_takes_the_right_to_both_datasets(wire: Wire) -> None:
    grant(wire, "ana", "EDIT_ENTITY_DATA_CONTRACT", on=(HIVE,))
    grant(wire, "bob", "EDIT_ENTITY_DATA_CONTRACT", on=(OTHER,))
    urn = wire.good(PROMISE, "ana", i={"entityUrn": HIVE})["urn"]
    assert wire.bad(PROMISE, "bob", urn=urn, i={"entityUrn": OTHER}) == FORBIDDEN


CREATE_TEST = input_of("CreateTestInput", "createTest")
UPDATE_TEST = """mutation m($urn: String!, $i: UpdateTestInput!) {
  updateTest(urn: $urn, input: $i)
}"""


def test_tests_are_made_by_some_and_seen_by_others(wire: Wire) -> None:
    grant(wire, "ana", "MANAGE_TESTS")
    grant(wire, "bob", "VIEW_TESTS")
    asked = {"id": "t", "name": "Owned", "category": "x", "definition": {"json": "{}"}}
    urn = "urn:li:test:t"
    assert wire.bad(CREATE_TEST, "bob", i=asked) == FORBIDDEN
    assert wire.good(CREATE_TEST, "ana", i=asked) == urn
    page = wire.good(document("platform_tests"), "bob", input={"query": "owned"})
    (found,) = page["tests"]
    assert (found["name"], found["category"]) == ("Owned", "x")
    assert found["definition"] == {"json": "{}"}
    changed = {"name": "Owned well", "category": "y", "definition": {}}
    assert wire.good(UPDATE_TEST, "ana", urn=urn, i=changed) == urn
    assert wire.bad(UPDATE_TEST, "bob", urn=urn, i=changed) == FORBIDDEN
    passed = {"passing": [{"test": urn, "type": "SUCCESS"}], "failing": []}
    wire.put("dataset", HIVE, "testResults", passed)
    results = wire.good(document("platform_test_results"), "eve", urn=HIVE)["testResults"]
    assert results["passing"] == [{"test": {"urn": urn}, "type": "SUCCESS"}]
    delete = f'mutation {{ deleteTest(urn: "{urn}") }}'
    assert wire.good(delete, "ana")
    assert wire.bad(delete, "ana") == NOT_FOUND
    results = wire.good(document("platform_test_results"), "eve", urn=HIVE)["testResults"]
    assert results["passing"] == [{"test": None, "type": "SUCCESS"}]
    for member in ("name", "definition { json }"):
        wire.put("test", urn, "testInfo", {"name": "x"})
        asked_of = f'query {{ entity(urn: "{urn}") {{ ... on Test {{ {member} }} }} }}'
        assert wire.bad(asked_of, "eve") == FORBIDDEN
