"""A policy in DataHub's notation, for readers of the realm and for policy managers."""

from __future__ import annotations

from typing import Any

import pytest

from tests.http.admin.api import Answer, Api

URN = "urn:li:dataHubPolicy:mine"
PATH = f"/realms/datahub/statements/{URN}/document"
VALUE: dict[str, Any] = {
    "displayName": "Mine",
    "description": "kept",
    "type": "PLATFORM",
    "state": "ACTIVE",
    "privileges": ["MANAGE_TESTS"],
    "actors": {"users": ["urn:li:corpuser:zoe"], "roles": ["urn:li:dataHubRole:Reader"]},
    "unknownMember": {"a": 1},
}


def write(api: Api, body: object) -> Answer:
    path = f"//r/datahub/openapi/v3/entity/dataHubPolicy/{URN}/dataHubPolicyInfo"
    return api.ask("POST", f"{path}?createIfNotExists=false", body, user="pia")


@pytest.fixture
def hub(api: Api) -> Api:
    """A policy is stored; `pia` has only `MANAGE_POLICIES`, `ana` nothing."""
    for user in ("pia", "ana", "reader"):
        api.must("PUT", f"/directories/main/users/{user}")
    manage = {"privileges": ["MANAGE_POLICIES"], "to": ["user:urn:li:corpuser:pia"]}
    api.must("PUT", "/realms/datahub/statements/managers", manage)
    read = {"privileges": ["READ_REALM"], "to": ["user:reader"], "on": "realm:datahub"}
    api.must("PUT", "/realms/_server/statements/reader", read)
    assert write(api, {"value": VALUE}).status < 300
    return api


def test_who_manages_policies_reads_a_policy_whole(hub: Api) -> None:
    for user in ("pia", "reader", "admin"):
        found = hub.must("GET", PATH, user=user)
        assert (found["id"], found["value"]) == (URN, VALUE)


def test_the_document_version_is_the_one_a_write_expects(hub: Api) -> None:
    version = hub.must("GET", PATH, user="pia")["version"]
    body = {"value": {**VALUE, "description": "new"}, "headers": {"If-Version-Match": version}}
    assert write(hub, body).status < 300
    assert write(hub, body).status == 412
    assert hub.must("GET", PATH, user="pia")["value"]["description"] == "new"


def test_the_document_is_hidden_from_everybody_else(hub: Api) -> None:
    absent = PATH.replace("mine", "none")
    refused = [hub.ask("GET", path, user="ana") for path in (PATH, absent)]
    assert [answer.status for answer in refused] == [403, 403]
    assert refused[0].body["operation"] == refused[1].body["operation"] == "statement.list"
    elsewhere = "/realms/gravitino/statements/x/document"
    assert hub.ask("GET", elsewhere, user="pia").status == 403


@pytest.mark.parametrize("id", ["none", "urn:li:dataHubPolicy:none", "urn:li:tag:x", "managers"])
def test_what_has_no_document_is_not_found(hub: Api, id: str) -> None:
    assert hub.ask("GET", f"/realms/datahub/statements/{id}/document").status == 404


def test_statements_of_other_systems_have_none(hub: Api) -> None:
    assert hub.ask("GET", "/realms/gravitino/statements/x/document").status == 404


def found(api: Api, q: str, **query: str) -> list[str]:
    answer = api.must("GET", "/realms/datahub/statements", query={"q": q, **query})
    return [row["id"] for row in answer["statements"]]


def test_statements_are_found_by_their_description(hub: Api) -> None:
    assert found(hub, "KEPT") == [URN]
    assert found(hub, "mine") == [URN]
    assert found(hub, "kept", id_prefix="urn:li:dataHubPolicy:x") == []
    assert found(hub, "nowhere") == []


def test_who_sees_only_what_concerns_them_does_not_find_by_descriptions(hub: Api) -> None:
    value = {
        **VALUE,
        "type": "METADATA",
        "privileges": ["VIEW_ENTITY_PAGE"],
        "actors": {"users": ["urn:li:corpuser:zoe"]},
    }
    assert write(hub, {"value": value}).status < 300
    hub.must("PUT", "/directories/main/users/zoe")
    table = "dataset:urn:li:dataset:(urn:li:dataPlatform:hive,t,PROD)"
    hub.must("PUT", "/realms/datahub/entity", {"entity": table})
    for user, q, ids in (
        ("admin", "kept", [URN]),
        ("zoe", "", [URN]),
        ("zoe", "mine", [URN]),
        ("zoe", "kept", []),
    ):
        query = {"reaching": table, "id_prefix": URN, "q": q}
        answer = hub.must("GET", "/realms/datahub/statements", query=query, user=user)
        assert [row["id"] for row in answer["statements"]] == ids, (user, q)
