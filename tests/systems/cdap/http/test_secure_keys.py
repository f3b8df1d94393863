"""Secure keys over the wire: who may read them, and that they are sealed."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from lakewarden.service.audit import Head
from lakewarden.store.secrets import Keys, new_key, rewrap
from tests.systems.cdap.http.wire import BOSS, Json, Wire

KEYS = "namespaces/sales/securekeys"
KEY = f"{KEYS}/dbpass"
ID = "securekey:sales.dbpass"
BODY: Json = {"description": "for the database", "data": "open sesame", "properties": {"k": "v"}}


@pytest.fixture
def safe(wire: Wire) -> Wire:
    """A namespace with one key, created by `maker`."""
    wire.grant(BOSS, "namespace:sales", "ADMIN")
    wire.good("PUT", "namespaces/sales")
    wire.grant("maker", ID, "ADMIN")
    wire.good("PUT", KEY, BODY, user="maker")
    return wire


def test_who_may_create_lists_and_does_not_read(safe: Wire) -> None:
    assert safe.good("GET", KEYS, user="maker") == {"dbpass": "for the database"}
    for path in (KEY, f"{KEY}/metadata"):
        status, text = safe.ask("GET", path, user="maker")
        assert status == 403
        assert f"to perform actions '[READ]' on entity '{ID}'" in text


def test_who_may_read_reads_and_cannot_delete(safe: Wire) -> None:
    safe.grant("dana", ID, "READ")
    reply = safe.send("GET", f"/v3/{KEY}", user="dana")
    assert (reply.body, reply.content_type) == (b"open sesame", "text/plain;charset=utf-8")
    told = safe.good("GET", f"{KEY}/metadata", user="dana")
    assert {**told, "createdEpochMs": 0} == {
        "name": "dbpass",
        "description": "for the database",
        "createdEpochMs": 0,
        "properties": {"k": "v"},
    }
    assert safe.status("DELETE", KEY, user="dana") == 403


def test_who_holds_nothing_is_told_nothing(safe: Wire) -> None:
    safe.grant("eve", "dataset:sales.other", "READ")
    assert safe.good("GET", KEYS, user="eve") == {}
    assert safe.status("GET", KEYS, user="zed") == 403
    absent = safe.ask("GET", f"{KEYS}/other", user="eve")
    there = safe.ask("GET", KEY, user="eve")
    assert there[0] == absent[0] == 403
    assert absent[1].replace("sales.other", "sales.dbpass") == there[1]


def test_refusals_of_a_creation_come_in_the_order_of_the_contract(safe: Wire) -> None:
    assert safe.status("PUT", KEY, b"no json", user="eve") == 403
    safe.grant("dana", "securekey:none.k", "ADMIN")
    assert safe.status("PUT", "namespaces/none/securekeys/k", {"data": ""}, user="dana") == 400
    assert safe.status("PUT", "namespaces/none/securekeys/k", BODY, user="dana") == 404
    assert safe.status("PUT", KEY, {"description": "no data"}, user="maker") == 400
    assert safe.ask("PUT", KEY, BODY, user="maker") == (409, f"'{ID}' already exists.")


def test_a_deleted_key_is_gone_and_may_be_made_again(safe: Wire) -> None:
    safe.grant("maker", ID, "READ")
    safe.good("DELETE", KEY, user="maker")
    for method in ("GET", "DELETE"):
        assert safe.ask(method, KEY, user="maker") == (404, f"'{ID}' was not found.")
    safe.good("PUT", KEY, {"data": "new"}, user="maker")
    assert safe.good("GET", KEY, user="maker") == "new"


def test_in_the_older_profile_write_on_the_namespace_creates_and_reading_takes_both(
    old: Wire,
) -> None:
    old.grant(BOSS, "instance:cdap", "WRITE")
    old.good("PUT", "namespaces/sales")
    old.good("PUT", KEY, BODY)
    assert old.good("GET", KEY) == "open sesame"
    old.grant("dana", ID, "READ")
    status, text = old.ask("GET", KEY, user="dana")
    assert (status, "'[READ]' on entity 'namespace:sales'" in text) == (403, True)
    old.grant("dana", "namespace:sales", "READ")
    assert old.good("GET", KEY, user="dana") == "open sesame"
    old.good("DELETE", KEY)
    assert len(old.good("GET", "security/authorization/user/dana/privileges", user="dana")) == 1


def test_the_secret_is_nowhere_in_the_clear(safe: Wire, tmp_path: Path) -> None:
    safe.status("PUT", KEY, BODY, user="maker")
    safe.grant("dana", ID, "READ")
    safe.good("GET", KEY, user="dana")
    for file in tmp_path.iterdir():
        assert b"open sesame" not in file.read_bytes(), file.name
    with safe.store.reading() as reading:
        assert all("open sesame" not in json.dumps(row.body) for row in reading.audit())


def test_another_key_rotates_in_while_the_server_goes_on(tmp_path: Path) -> None:
    first, second = new_key(), new_key()
    with Wire(tmp_path, keys=[first]) as wire:
        wire.grant(BOSS, "namespace:sales", "ADMIN")
        wire.good("PUT", "namespaces/sales")
        wire.grant(BOSS, "securekey:sales.*", "ADMIN", "READ")
        wire.good("PUT", KEY, BODY)
    with Wire(tmp_path, keys=[second, first]) as wire:
        assert wire.good("GET", KEY) == "open sesame"
        wire.good("PUT", f"{KEYS}/new", {"data": "sealed with the new one"})
        with wire.store.writing() as writing:
            assert rewrap(writing, Keys([second, first])) == 2
            writing.commit([])
    with Wire(tmp_path, keys=[second]) as wire:
        assert wire.good("GET", KEY) == "open sesame"
        assert wire.good("GET", f"{KEYS}/new") == "sealed with the new one"
    with Wire(tmp_path, keys=[first]) as wire:
        assert wire.status("GET", KEY) == 503


def test_what_was_written_after_a_revocation_is_not_told_to_who_asked_before(
    wire: Wire,
) -> None:
    key, stream = "namespaces/sales/securekeys/k", "namespaces/sales/streams/s"
    ids = ("securekey:sales.k", "stream:sales.s")
    for id in ("namespace:sales", *ids):
        wire.grant(BOSS, id)
    wire.good("PUT", "namespaces/sales")
    wire.good("PUT", key, {"data": "first"})
    wire.good("PUT", stream)
    for id in ids:
        wire.grant("dana", id, "READ")
    waiting = wire.service
    wire.reopened()
    for id in ids:
        wire.revoke("dana", id)
    wire.good("DELETE", key)
    wire.good("PUT", key, {"data": "second"})
    wire.good("POST", stream, b"second")
    for path in (key, f"{stream}/events"):
        wire.service = waiting
        stale = waiting.state
        assert wire.status("GET", path, user="dana") == 403
        assert waiting.state.revision > stale.revision
        waiting._adopt(stale, Head())
    assert wire.good("GET", key, user=BOSS) == "second"


def test_without_a_key_for_secrets_none_is_kept(safe: Wire) -> None:
    safe.services = type(safe.services)()
    safe.grant("maker", "securekey:sales.other", "ADMIN")
    assert safe.status("PUT", f"{KEYS}/other", BODY, user="maker") == 501
    assert list(safe.good("GET", KEYS, user="maker")) == ["dbpass"]
