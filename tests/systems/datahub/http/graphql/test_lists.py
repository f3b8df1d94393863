"""The documents of lists, tokens and grants, sent unchanged."""

from __future__ import annotations

from tests.systems.datahub.http.graphql.wire import ROOT, Wire, document, user


def test_the_lists_of_people_say_how_many_there_are(wire: Wire) -> None:
    data = wire.ask(document("lists"), users={}, groups={}, roles={})["data"]
    assert {name: (page["start"], page["count"], page["total"]) for name, page in data.items()} == {
        "listUsers": (0, 4, 4),
        "listGroups": (0, 1, 1),
        "listRoles": (0, 3, 3),
    }


def test_what_root_was_granted_and_why_comes_in_one_document(wire: Wire) -> None:
    granted = {"actorUrn": user("ana"), "includeEvaluationDetails": True}
    data = wire.ask(document("granted"), input=granted, user=user("bob"))["data"]
    assert "GENERATE_PERSONAL_ACCESS_TOKENS" in data["getGrantedPrivileges"]["privileges"]
    assert {"policyName", "reason"} == set(data["getGrantedPrivileges"]["evaluationDetails"][0])
    assert data["debugAccess"]["roles"] == []


def test_a_token_is_listed_as_it_was_told_when_it_was_made(wire: Wire) -> None:
    input = {"type": "PERSONAL", "actorUrn": user("ana"), "duration": "ONE_DAY", "name": "x"}
    body = {"query": document("tokens"), "variables": {"input": input}, "operationName": "make"}
    made = wire.answer(body)["data"]["createAccessToken"]["metadata"]
    body = {"query": document("tokens"), "variables": {"input": {}}, "operationName": "tokens"}
    assert wire.answer(body)["data"]["listAccessTokens"]["tokens"] == [made]
    assert made["ownerUrn"] == user(ROOT)


def test_an_entity_of_any_type_is_shown_by_its_urn(wire: Wire) -> None:
    urn = "urn:li:ownershipType:x"
    wire.put("ownershipType", urn, "ownershipTypeInfo", {"name": "X", "description": "y"})
    shown = wire.good(document("others"), urn=urn)
    assert shown["info"] == {"name": "X", "description": "y"}
