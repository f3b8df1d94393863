"""Secrets and connections: stored sealed, named, and revealed to nobody."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from lakewarden.kernel.entity import Entity
from tests.systems.datahub.http.graphql.platform.granting import grant, input_of
from tests.systems.datahub.http.graphql.wire import (
    BAD,
    CONFLICT,
    FORBIDDEN,
    NOT_FOUND,
    REALM,
    Wire,
    document,
)

CREATE = input_of("CreateSecretInput", "createSecret")
UPDATE = input_of("UpdateSecretInput", "updateSecret")
UPSERT = input_of("UpsertDataHubConnectionInput", "upsertConnection", " { urn }")
CHANGE = input_of("UpdateDataHubConnectionInput", "updateConnection", " { urn }")
DELETE = input_of("DeleteDataHubConnectionInput", "deleteConnection")
URN = "urn:li:dataHubSecret:warehouse-password"
SLACK = "urn:li:dataPlatform:slack"
LINK = "urn:li:dataHubConnection:slack"
SESAME = "open sesame 4711"


@pytest.fixture(autouse=True)
def _managers(wire: Wire) -> None:
    grant(wire, "ana", "MANAGE_SECRETS")
    grant(wire, "bob", "MANAGE_CONNECTIONS")


def open_secret(wire: Wire, type: str, urn: str, key: str) -> str | None:
    """The sealed value, opened with this server's key."""
    with wire.service.reading() as reading:
        sealed = reading.secrets(REALM, Entity(type, urn)).get(key)
    assert wire.services.sealing is not None
    return None if sealed is None else wire.services.sealing.unseal(sealed)


def everything(wire: Wire) -> str:
    """Everything in the store: facts, documents, changes and events."""
    with wire.service.reading() as reading:
        feed = [row for row in reading.feed(0) if row.kind != "secret"]
        rows = [row.body for row in reading.audit()]
        documents = [
            (entity, body)
            for type in ("dataHubSecret", "dataHubConnection")
            for entity, body in reading.documents_of(REALM, type)
        ]
    return json.dumps([[str(row) for row in feed], rows, [str(one) for one in documents]])


def secret(**members: str) -> dict[str, str]:
    return {"name": "warehouse-password", "value": SESAME, "description": "of Hive", **members}


def test_a_secret_is_named_by_its_name_and_kept_sealed(wire: Wire) -> None:
    assert wire.good(CREATE, "ana", i=secret()) == URN
    assert open_secret(wire, "dataHubSecret", URN, "value") == SESAME
    listed = wire.good(document("platform_secrets"), "ana", input={})
    assert listed == {
        "start": 0,
        "count": 1,
        "total": 1,
        "secrets": [{"urn": URN, "name": "warehouse-password", "description": "of Hive"}],
    }


def test_no_way_leads_back_to_a_secret(wire: Wire) -> None:
    wire.good(CREATE, "ana", i=secret())
    asked = {"secrets": ["warehouse-password"]}
    values = wire.ask(document("platform_secret_values"), "ana", input=asked)
    (error,) = values["errors"]
    assert error["extensions"]["code"] == 403
    assert "sealed" in error["message"]
    assert SESAME not in json.dumps(values)
    assert wire.aspects("dataHubSecret", URN).keys() == {"dataHubSecretKey"}
    assert SESAME not in everything(wire)


def test_a_changed_secret_replaces_the_old_one(wire: Wire) -> None:
    wire.good(CREATE, "ana", i=secret())
    assert wire.bad(CREATE, "ana", i=secret()) == CONFLICT
    assert wire.good(UPDATE, "ana", i={"urn": URN, **secret(value="other")}) == URN
    assert open_secret(wire, "dataHubSecret", URN, "value") == "other"


def test_a_secret_goes_with_its_name(wire: Wire) -> None:
    wire.good(CREATE, "ana", i=secret())
    delete = f'mutation {{ deleteSecret(urn: "{URN}") }}'
    assert wire.good(delete, "ana") == URN
    assert open_secret(wire, "dataHubSecret", URN, "value") is None
    assert wire.bad(delete, "ana") == NOT_FOUND
    assert wire.bad(UPDATE, "ana", i={"urn": URN, **secret()}) == NOT_FOUND


def test_without_a_key_no_secret_is_kept(wire: Wire) -> None:
    wire.services = replace(wire.services, sealing=None)
    before = wire.service.state.revision
    assert wire.bad(CREATE, "ana", i=secret()) == BAD
    assert wire.service.state.revision == before


def test_a_secret_has_a_name(wire: Wire) -> None:
    assert wire.bad(CREATE, "ana", i=secret(name="")) == BAD


def test_secrets_are_not_the_affair_of_who_manages_connections(wire: Wire) -> None:
    assert wire.bad(CREATE, "bob", i=secret()) == FORBIDDEN


def connection(**members: object) -> dict[str, object]:
    blob = json.dumps({"token": SESAME})
    told = {"id": "slack", "type": "JSON", "platformUrn": SLACK, "json": {"blob": blob}}
    return {**told, "name": "Slack", **members}


def test_a_connection_says_everything_but_its_details(wire: Wire) -> None:
    assert wire.good(UPSERT, "bob", i=connection()) == {"urn": LINK}
    assert open_secret(wire, "dataHubConnection", LINK, "json") == json.dumps({"token": SESAME})
    answer = wire.ask(document("platform_connection"), "bob", urn=LINK)
    shown = answer["data"]["connection"]
    assert shown["details"] == {"type": "JSON", "name": "Slack", "json": None}
    assert shown["platform"] == {"urn": SLACK}
    (error,) = answer["errors"]
    assert (error["extensions"]["code"], error["path"][-1]) == (403, "json")
    assert SESAME not in json.dumps(answer) + everything(wire)


def test_a_connection_is_changed_in_the_parts_that_are_given(wire: Wire) -> None:
    wire.good(UPSERT, "bob", i=connection())
    assert wire.good(CHANGE, "bob", i={"urn": LINK, "name": "Chat"}) == {"urn": LINK}
    assert open_secret(wire, "dataHubConnection", LINK, "json") == json.dumps({"token": SESAME})
    wire.good(CHANGE, "bob", i={"urn": LINK, "json": {"blob": "{}"}})
    assert open_secret(wire, "dataHubConnection", LINK, "json") == "{}"
    assert wire.good(DELETE, "bob", i={"urn": LINK})
    assert wire.good(f'query {{ connection(urn: "{LINK}") {{ urn }} }}', "bob") is None
    assert wire.bad(CHANGE, "bob", i={"urn": LINK, "name": "x"}) == NOT_FOUND
    assert wire.bad(DELETE, "bob", i={"urn": LINK}) == NOT_FOUND


def test_a_connection_has_details(wire: Wire) -> None:
    assert wire.bad(UPSERT, "bob", i=connection(json=None)) == BAD
    assert wire.bad(UPSERT, "bob", i=connection(platformUrn=URN)) == BAD


def test_a_connection_found_otherwise_hides_its_details_as_well(wire: Wire) -> None:
    wire.good(UPSERT, "bob", i=connection())
    asked = (
        f'query {{ entity(urn: "{LINK}") {{ ... on DataHubConnection {{ details {{ name }} }} }} }}'
    )
    assert wire.bad(asked, "eve") == FORBIDDEN
