"""The documents of one entity, and of one realm, are limited, in every dialect.

Each responds in its own error format. One real application without a socket, over a store in a
file; `document_bytes` and `realm_bytes` are small.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from lakewarden.app.build import Application
from lakewarden.config.settings import load
from tests.app.asgi import AppClient, close
from tests.app.serving import Answer
from tests.systems.datahub.http.wire import proposal

LIMIT = 4_096
REALM_LIMIT = 8 * LIMIT
BIG = "ü" * (LIMIT // 2)  # in UTF-8 exactly the limit: too much, with the rest of the document
FITS = "ü" * (LIMIT // 4)
TAG = "urn:li:tag:t"
INGEST = "/aspects?action=ingestProposal"


@pytest.fixture(scope="module")
def client(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AppClient]:
    folder: Path = tmp_path_factory.mktemp("limits")
    given = {
        "database": f"sqlite:///{folder}/store",
        "limits": {"document_bytes": LIMIT, "realm_bytes": REALM_LIMIT},
        "datahub": {"entity_aspects": 3},
        "cdap": {"security": {"authorization": {"enabled": False}}},
    }
    one = AppClient(Application(load(options=given, environment={})), asyncio.new_event_loop())
    one.application.open()
    yield one
    close(one)


def send(client: AppClient, method: str, path: str, body: object) -> Answer:
    return client.ask(method, path, json.dumps(body).encode(), user="admin")


def refused(
    client: AppClient, method: str, path: str, body: object, setting: str
) -> dict[str, Any]:
    """One request that is refused for the setting, and stores nothing; returns its body."""
    before = client.service.store.revision()
    answer = send(client, method, path, body)
    assert answer.status == 400, answer
    assert setting.encode() in answer.body
    assert b"at most" in answer.body
    assert client.service.store.revision() == before
    found: dict[str, Any] = json.loads(answer.body) if answer.body[:1] == b"{" else {}
    return found


def test_gravitino_keeps_so_much_of_an_object(client: AppClient) -> None:
    made = {"name": "lk", "comment": FITS, "properties": {}}
    assert send(client, "POST", "/api/metalakes", made).status == 200
    too_much = {"name": "lk2", "comment": "", "properties": {"a": BIG}}
    body = refused(client, "POST", "/api/metalakes", too_much, "limits.document_bytes")
    assert body["code"] == 1001
    update = {"@type": "setProperty", "property": "p", "value": FITS + FITS}
    path = "/api/metalakes/lk"
    refused(client, "PUT", path, {"updates": [update]}, "limits.document_bytes")


def test_cdap_keeps_so_much_of_an_entity(client: AppClient) -> None:
    assert send(client, "PUT", "/v3/namespaces/ns", {"description": FITS}).status == 200
    for path in ("preferences", "metadata/properties"):
        body = {f"k{index}": "x" * 900 for index in range(6)}
        refused(client, "PUT" if path == "preferences" else "POST", f"/v3/namespaces/ns/{path}",
                body, "limits.document_bytes")  # fmt: skip
    refused(client, "PUT", "/v3/namespaces/ns2", {"description": BIG}, "limits.document_bytes")


def test_datahub_keeps_so_much_of_an_entity_and_so_many_aspects(client: AppClient) -> None:
    for name in ("one", "two"):
        item = proposal(TAG, name, {"a": FITS if name == "one" else ""})
        assert send(client, "POST", INGEST, {"proposal": item}).status == 200
    more = proposal(TAG, "two", {"a": FITS + FITS})
    body = refused(client, "POST", INGEST, {"proposal": more}, "limits.document_bytes")
    assert body["status"] == 400
    third = proposal(TAG, "three", {})
    refused(client, "POST", INGEST, {"proposal": third}, "datahub.entity_aspects")
    in_time = proposal(TAG, "operation", {"timestampMillis": 1, "a": BIG})
    refused(client, "POST", INGEST, {"proposal": in_time}, "limits.document_bytes")
    gone = proposal(TAG, "two", {}, "DELETE")
    assert send(client, "POST", INGEST, {"proposal": gone}).status == 200
    assert send(client, "POST", INGEST, {"proposal": third}).status == 200


def filled(client: AppClient, method: str, path: str, bodies: Iterator[tuple[str, object]]) -> str:
    """Writes in sequence until one is refused for the realm; returns the path of the last."""
    for _ in range(REALM_LIMIT // len(FITS)):
        rest, body = next(bodies)
        answer = send(client, method, path + rest, body)
        if answer.status != 200:
            refused(client, method, path + rest, body, "limits.realm_bytes")
            return rest
    raise AssertionError("nothing was refused")


def test_gravitino_keeps_so_much_of_a_realm(client: AppClient) -> None:
    bodies = (("", {"name": f"r{n}", "comment": FITS, "properties": {}}) for n in count())
    filled(client, "POST", "/api/metalakes", bodies)
    off = {"updates": [{"@type": "updateComment", "newComment": ""}]}
    assert send(client, "PUT", "/api/metalakes/r0", off).status == 200
    small = {"name": "small", "comment": "", "properties": {}}
    assert send(client, "POST", "/api/metalakes", small).status == 200


def test_cdap_keeps_so_much_of_a_realm(client: AppClient) -> None:
    bodies = ((f"/r{n}", {"description": FITS}) for n in count())
    filled(client, "PUT", "/v3/namespaces", bodies)
    assert send(client, "PUT", "/v3/namespaces/r0/properties", {"description": ""}).status == 200
    assert send(client, "PUT", "/v3/namespaces/small", {"description": ""}).status == 200


def test_datahub_keeps_so_much_of_a_realm_and_values_in_time_count(client: AppClient) -> None:
    def in_time(time: int) -> object:
        return {"proposal": proposal(TAG, "operation", {"timestampMillis": time, "a": FITS})}

    filled(client, "POST", INGEST, (("", in_time(n + 1)) for n in count()))
    gone = {"proposal": proposal(TAG, "one", {}, "DELETE")}
    assert send(client, "POST", INGEST, gone).status == 200
    assert (
        send(client, "POST", INGEST, {"proposal": proposal(TAG, "two", {"a": "s"})}).status == 200
    )
