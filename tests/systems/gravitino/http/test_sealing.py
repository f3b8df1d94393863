"""Secrets in properties: none is ever revealed, logged or stored in clear text."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakewarden.http.exchange import Services
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.sealed_properties import is_secret
from lakewarden.systems.gravitino.http.sealing import split_secrets
from tests.systems.gravitino.http.small_lake import ML, S
from tests.systems.gravitino.http.wire import ADMIN, Wire

SECRET = "hunter2-is-not-told"

KEYS = (
    "jdbc-password",
    "JDBC-Password",
    "password",
    "gravitino.bypass.javax.jdo.option.ConnectionPassword",
    "s3-secret-access-key",
    "oss-access-key-secret",
    "fs.azure.account.key.x",
    "azure-storage-account-key",
    "client_secret",
    "auth.token",
    "accessToken",
    "api-key",
    "private_key",
)


@pytest.mark.parametrize("key", KEYS)
def test_keys_of_secrets_are_recognised(key: str) -> None:
    assert is_secret(key, "x")


@pytest.mark.parametrize(
    "key",
    [
        "jdbc-user",
        "credential-providers",
        "s3-access-key-id",
        "location",
        "key.deserializer",
        "token-provider",
        "partition-count",
        "authentication.kerberos.principal",
    ],
)
def test_other_keys_are_not(key: str) -> None:
    assert not is_secret(key, "x")


@pytest.mark.parametrize(
    "value",
    [
        "jdbc:mysql://h:3306/d?user=a&password=x",
        "jdbc:sqlserver://h;databaseName=d;user=a;password=x",
        "mysql://user:pass@h/d",
        "https://blob/x?sv=1&sig=abc",
    ],
)
def test_an_address_with_credentials_is_a_secret(value: str) -> None:
    assert is_secret("url", value)


def secrets_everywhere(lake: Wire) -> list[str]:
    """Replies to creating, altering, loading and listing objects with secret properties."""
    properties = dict.fromkeys(KEYS, SECRET)
    updates = [
        {"@type": "setProperty", "property": "plain", "value": "seen"},
        *({"@type": "setProperty", "property": key, "value": SECRET} for key in KEYS),
    ]
    files = f"{ML}/catalogs/fil/schemas/s/filesets"
    models = f"{ML}/catalogs/mod/schemas/s/models"
    made = (
        ("metalakes", {"name": "x"}),
        (f"{ML}/catalogs", {"name": "x", "type": "relational", "provider": "p"}),
        (f"{ML}/catalogs/rel/schemas", {"name": "x"}),
        (f"{S}/tables", {"name": "x", "columns": [{"name": "a", "type": "long"}]}),
        (files, {"name": "x", "storageLocation": "file:/x"}),
        (models, {"name": "x"}),
    )
    replies: list[bytes] = []
    for path, body in made:
        for method, at, sent in (
            ("POST", path, {**body, "properties": properties}),
            ("POST", path, {**body, "properties": properties}),
            ("PUT", f"{path}/x", {"updates": updates}),
            ("PUT", f"{path}/x", {"updates": [*updates, {"@type": "nonsense"}]}),
            ("GET", f"{path}/x", None),
            ("GET", f"{path}?details=true", None),
        ):
            status, answer = lake.ask(method, at, sent)
            assert status in (200, 400, 409), answer
            replies.append(repr(answer).encode())
        shown = lake.ask("GET", f"{path}/x")[1]
        assert next(v for k, v in shown.items() if k != "code")["properties"] == {"plain": "seen"}
    role = {"name": "x", "securableObjects": [], "properties": {**properties, "plain": "seen"}}
    for answer in (
        lake.good("POST", f"{ML}/roles", role),
        lake.good("GET", f"{ML}/roles/x"),
        lake.good("PUT", f"{ML}/permissions/roles/x/", {"overrides": []}),
    ):
        assert answer["role"]["properties"] == {"plain": "seen"}
        replies.append(repr(answer).encode())
    return [reply.decode() for reply in replies]


def test_no_reply_holds_a_secret(lake: Wire) -> None:
    assert not any(SECRET in reply for reply in secrets_everywhere(lake))


def test_no_row_of_the_store_holds_a_secret_in_the_clear(lake: Wire, tmp_path: Path) -> None:
    secrets_everywhere(lake)
    with sqlite3.connect(tmp_path / "store") as database:
        dump = "\n".join(database.iterdump())
    database.close()
    assert "jdbc-password" in dump
    assert SECRET not in dump


def test_a_secret_that_came_after_a_revocation_is_not_told_to_who_asked_before(lake: Wire) -> None:
    catalog, asked = f"{ML}/catalogs/rel", f"{ML}/objects/catalog/rel/credentials"

    def put(**properties: str) -> None:
        updates = [
            {"@type": "setProperty", "property": name.replace("_", "-"), "value": value}
            for name, value in properties.items()
        ]
        lake.good("PUT", catalog, {"updates": updates})

    def own(user: str) -> None:
        lake.good("PUT", f"{ML}/owners/catalog/rel", {"name": user, "type": "USER"})

    lake.good("POST", f"{ML}/users", {"name": "dana"})
    own("dana")
    put(credential_providers="s3-secret-key", s3_access_key_id="id", s3_secret_access_key="first")
    assert "first" in str(lake.good("GET", asked, user="dana"))
    waiting = lake.service
    lake.service = DecisionService(lake.store)
    lake.service.open()
    own(ADMIN)
    put(s3_secret_access_key="second")
    lake.service = waiting
    status, answer = lake.ask("GET", asked, user="dana")
    assert (status, "second" in str(answer)) == (403, False)


def test_a_secret_can_be_replaced_and_removed(lake: Wire) -> None:
    path = f"{ML}/catalogs/rel"
    entity = lake.service.state.realm("gravitino").system.entity("catalog:lk:rel")

    def stored() -> dict[str, str]:
        with lake.store.reading() as reading:
            found = reading.secrets("gravitino", entity)
        assert lake.services.sealing is not None
        return {key: lake.services.sealing.unseal(text) for key, text in found.items()}

    def update(type: str, **one: str) -> None:
        lake.good("PUT", path, {"updates": [{"@type": type, **one}]})

    update("setProperty", property="jdbc-password", value="one")
    update("setProperty", property="jdbc-password", value="two")
    assert stored() == {"jdbc-password": "two"}
    update("rename", newName="rel2")
    path, entity = f"{ML}/catalogs/rel2", entity._replace(name="lk:rel2")
    assert stored() == {"jdbc-password": "two"}
    update("removeProperty", property="jdbc-password")
    assert stored() == {}


def test_without_a_key_secrets_are_refused(lake: Wire) -> None:
    lake.services = Services()
    body = {"name": "x", "type": "model", "properties": {"password": SECRET}}
    unsupported = (405, 1006, "UnsupportedOperationException")
    assert lake.bad("POST", f"{ML}/catalogs", body) == unsupported


@given(st.dictionaries(st.text(min_size=1), st.text()))
def test_parting_loses_nothing(properties: dict[str, str]) -> None:
    shown, secret = split_secrets(properties)
    assert {**shown, **secret} == properties
    assert not shown.keys() & secret.keys()
