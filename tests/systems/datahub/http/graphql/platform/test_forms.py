"""Forms: questions about assets, and their answers."""

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
from tests.systems.datahub.http.graphql.wire import (
    BAD,
    FORBIDDEN,
    NOT_FOUND,
    Wire,
    document,
    group,
    user,
)

CREATE = input_of("CreateFormInput", "createForm", " { urn info { name } }")
UPDATE = input_of("UpdateFormInput", "updateForm", " { urn }")
DELETE = input_of("DeleteFormInput", "deleteForm")
ASSIGN = input_of("BatchAssignFormInput", "batchAssignForm")
UNASSIGN = input_of("BatchRemoveFormInput", "batchRemoveForm")
MATCH = input_of("CreateDynamicFormAssignmentInput", "createDynamicFormAssignment")
VERIFY = input_of("VerifyFormInput", "verifyForm")
ANSWER = """mutation m($urn: String!, $i: SubmitFormPromptInput!) {
  submitFormPrompt(urn: $urn, input: $i)
}"""
SHOW = document("platform_forms")
FORM = "urn:li:form:steward"
PROPERTY = "urn:li:structuredProperty:retention"
TYPE = "urn:li:ownershipType:steward"


@pytest.fixture(autouse=True)
def _world(wire: Wire) -> None:
    wire.built(_fill_realm)


def _fill_realm(wire: Wire) -> None:
    grant(wire, "ana", "MANAGE_DOCUMENTATION_FORMS")
    grant(wire, "bob", "EDIT_ENTITY_PROPERTIES", on=(HIVE,))
    dataset(wire, HIVE, "id", "name")
    dataset(wire, OTHER)
    definition = {
        "qualifiedName": "retention",
        "valueType": "urn:li:dataType:datahub.string",
        "entityTypes": [f"urn:li:entityType:datahub.{one}" for one in ("dataset", "schemaField")],
    }
    wire.put("structuredProperty", PROPERTY, "propertyDefinition", definition)


def prompt(id: str, type: str = "STRUCTURED_PROPERTY", **members: Any) -> dict[str, Any]:
    params = {"structuredPropertyParams": {"urn": PROPERTY}} if "PROPERTY" in type else {}
    return {"id": id, "title": id, "type": type, "required": True, **params, **members}


def create_form(wire: Wire, *prompts: dict[str, Any], **members: Any) -> None:
    asked = {"id": "steward", "name": "Steward", "prompts": list(prompts), **members}
    assert wire.good(CREATE, "ana", i=asked) == {"urn": FORM, "info": {"name": "Steward"}}
    assert wire.good(ASSIGN, "ana", i={"formUrn": FORM, "entityUrns": [HIVE]})


def answer(id: str, type: str = "STRUCTURED_PROPERTY", **members: Any) -> dict[str, Any]:
    params = {"structuredPropertyUrn": PROPERTY, "values": [{"stringValue": "1y"}]}
    told = {"promptId": id, "formUrn": FORM, "type": type, "structuredPropertyParams": params}
    return {**told, **members}


def get_forms(wire: Wire, by: str = "eve") -> dict[str, Any]:
    found: dict[str, Any] = wire.good(SHOW, by, urn=HIVE)["forms"]
    return found


def test_a_form_is_asked_about_the_assets_that_it_is_assigned_to(wire: Wire) -> None:
    actors = {"users": [user("cid")], "groups": [group("staff")]}
    create_form(wire, prompt("p"), prompt("q", required=False), actors=actors)
    (entry,) = get_forms(wire)["incompleteForms"]
    assert [one["id"] for one in entry["incompletePrompts"]] == ["p", "q"]
    assert entry["associatedUrn"] == HIVE
    info = entry["form"]["info"]
    assert (info["name"], info["type"]) == ("Steward", "COMPLETION")
    assert info["prompts"][0]["structuredPropertyParams"] is not None
    assert info["actors"]["owners"] is True
    assert info["actors"]["users"] == [{"urn": user("cid")}]
    mine = {
        by: get_forms(wire, by)["incompleteForms"][0]["form"]["info"]["actors"]["isAssignedToMe"]
        for by in ("cid", "bob", "eve")
    }
    assert mine == {"cid": True, "bob": True, "eve": False}
    assert wire.good(ASSIGN, "ana", i={"formUrn": FORM, "entityUrns": [HIVE]})
    assert len(get_forms(wire)["incompleteForms"]) == 1
    assert wire.good(UNASSIGN, "ana", i={"formUrn": FORM, "entityUrns": [HIVE]})
    assert get_forms(wire)["incompleteForms"] == []


def test_an_answer_takes_the_right_to_what_it_writes(wire: Wire) -> None:
    create_form(wire, prompt("p"), actors={"users": [user("eve")]})
    assert wire.bad(ANSWER, "eve", urn=HIVE, i=answer("p")) == FORBIDDEN
    assert wire.bad(ANSWER, "ana", urn=HIVE, i=answer("p")) == FORBIDDEN
    assert wire.good(ANSWER, "bob", urn=HIVE, i=answer("p"))
    (kept,) = wire.aspects("dataset", HIVE)["structuredProperties"]["properties"]
    assert kept["values"] == [{"string": "1y"}]


def test_a_form_is_complete_once_nothing_that_it_requires_is_open(wire: Wire) -> None:
    create_form(wire, prompt("p"), prompt("q", required=False), prompt("r"))
    wire.good(ANSWER, "bob", urn=HIVE, i=answer("p"))
    (entry,) = get_forms(wire)["incompleteForms"]
    assert [one["id"] for one in entry["completedPrompts"]] == ["p"]
    wire.good(ANSWER, "bob", urn=HIVE, i=answer("r"))
    forms = get_forms(wire)
    assert forms["incompleteForms"] == []
    (done,) = forms["completedForms"]
    assert [one["id"] for one in done["incompletePrompts"]] == ["q"]


def test_a_question_about_columns_is_answered_column_by_column(wire: Wire) -> None:
    kind = "FIELDS_STRUCTURED_PROPERTY"
    create_form(wire, prompt("p", kind))
    grant(wire, "cid", "EDIT_DATASET_COL_PROPERTIES", on=(HIVE,))
    assert wire.bad(ANSWER, "bob", urn=HIVE, i=answer("p", kind, fieldPath="id")) == FORBIDDEN
    assert wire.bad(ANSWER, "cid", urn=HIVE, i=answer("p", kind)) == BAD
    assert wire.good(ANSWER, "cid", urn=HIVE, i=answer("p", kind, fieldPath="id"))
    assert "structuredProperties" in wire.aspects("schemaField", ID)
    (entry,) = get_forms(wire)["incompleteForms"]
    (open_,) = entry["incompletePrompts"]
    (field,) = open_["fieldAssociations"]["completedFieldPrompts"]
    assert field["fieldPath"] == "id"
    assert wire.good(ANSWER, "cid", urn=HIVE, i=answer("p", kind, fieldPaths=["name"]))
    assert len(get_forms(wire)["completedForms"]) == 1


def test_a_question_about_owners_takes_the_right_to_edit_owners(wire: Wire) -> None:
    create_form(wire, prompt("p", "OWNERSHIP", ownershipParams={"cardinality": "SINGLE"}))
    owners = {"owners": [user("cid")], "ownershipTypeUrn": TYPE}
    asked = {"promptId": "p", "formUrn": FORM, "type": "OWNERSHIP", "ownershipParams": owners}
    assert wire.bad(ANSWER, "bob", urn=HIVE, i=asked) == FORBIDDEN
    grant(wire, "bob", "EDIT_ENTITY_OWNERS", on=(HIVE,))
    assert wire.bad(ANSWER, "bob", urn=HIVE, i={**asked, "ownershipParams": None}) == BAD
    assert wire.good(ANSWER, "bob", urn=HIVE, i=asked)
    (kept,) = wire.aspects("dataset", HIVE)["ownership"]["owners"]
    assert (kept["owner"], kept["typeUrn"]) == (user("cid"), TYPE)


def test_an_answer_to_what_nobody_asked_is_refused(wire: Wire) -> None:
    create_form(wire, prompt("p"))
    assert wire.bad(ANSWER, "bob", urn=HIVE, i=answer("other")) == BAD
    grant(wire, "bob", "EDIT_ENTITY_PROPERTIES", on=(OTHER,))
    assert wire.bad(ANSWER, "bob", urn=OTHER, i=answer("p")) == BAD
    assert "structuredProperties" not in wire.aspects("dataset", OTHER)


def test_a_form_verifies_once_it_is_complete(wire: Wire) -> None:
    create_form(wire, prompt("p"), type="VERIFICATION")
    verify = {"formUrn": FORM, "entityUrn": HIVE}
    assert wire.bad(VERIFY, "bob", i=verify) == BAD
    wire.good(ANSWER, "bob", urn=HIVE, i=answer("p"))
    assert wire.bad(VERIFY, "eve", i=verify) == FORBIDDEN
    assert wire.good(VERIFY, "bob", i=verify)
    (verified,) = get_forms(wire)["verifications"]
    assert verified["form"] == {"urn": FORM} or verified["form"]["urn"] == FORM
    assert verified["lastModified"]["time"] > 0


def test_a_changed_form_keeps_what_nobody_changed(wire: Wire) -> None:
    create_form(wire, prompt("p"), prompt("q"), actors={"users": [user("bob"), user("cid")]})
    change = {
        "urn": FORM,
        "description": "all of it",
        "promptsToRemove": ["p"],
        "promptsToAdd": [prompt("r")],
        "actors": {"usersToRemove": [user("bob")], "groupsToAdd": [group("staff")]},
    }
    assert wire.good(UPDATE, "ana", i=change) == {"urn": FORM}
    kept = wire.aspects("form", FORM)["formInfo"]
    assert [one["id"] for one in kept["prompts"]] == ["q", "r"]
    assert (kept["name"], kept["description"]) == ("Steward", "all of it")
    assert kept["actors"] == {"owners": True, "users": [user("cid")], "groups": [group("staff")]}
    assert wire.good(UPDATE, "ana", i={"urn": FORM, "prompts": []})
    assert wire.aspects("form", FORM)["formInfo"]["prompts"] == []


def test_a_form_is_kept_with_the_criteria_of_its_assets(wire: Wire) -> None:
    create_form(wire)
    criteria = [{"and": [{"field": "platform", "values": ["hive"]}]}]
    assert wire.good(MATCH, "ana", i={"formUrn": FORM, "orFilters": criteria})
    kept = wire.aspects("form", FORM)["dynamicFormAssignment"]["filter"]["or"]
    assert kept[0]["and"][0]["values"] == ["hive"]


def test_a_form_that_is_gone_is_gone(wire: Wire) -> None:
    create_form(wire)
    assert wire.good(f'query {{ form(urn: "{FORM}") {{ urn }} }}', "eve") == {"urn": FORM}
    assert wire.good(DELETE, "ana", i={"urn": FORM})
    assert wire.good(f'query {{ form(urn: "{FORM}") {{ urn }} }}', "eve") is None
    for mutation in (DELETE, UPDATE):
        assert wire.bad(mutation, "ana", i={"urn": FORM}) == NOT_FOUND
    assert wire.bad(ASSIGN, "ana", i={"formUrn": FORM, "entityUrns": [HIVE]}) == NOT_FOUND


def test_a_question_says_what_it_asks_for(wire: Wire) -> None:
    bare = {"title": "x", "type": "STRUCTURED_PROPERTY"}
    assert wire.bad(CREATE, "ana", i={"name": "x", "prompts": [bare]}) == BAD
