"""What callers have kept of one entity, and of one realm, ends at a limit, in every dialect.

Each answers in its own error form. One real application without a socket, over a store in a file;
`document_bytes` and `realm_bytes` are small.
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
from tests.app.asgi import Asked, close
from tests.app.serving import Answer
from tests.systems.datahub.http.wire import proposal

LIMIT = 4_096
REALM_LIMIT = 8 * LIMIT
BIG = "ü" * (LIMIT // 2)  # in UTF-8 just the limit: with what stands around it, too much
FITS = "ü" * (LIMIT // 4)
TAG = "urn:li:tag:t"
INGEST = "/aspects?action=ingestProposal"


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    folder: Path = tmp_path_factory.mktemp("limits")
    given = {
        "database": f"sqlite:///{folder}/store",
        "limits": {"document_bytes": LIMIT, "realm_bytes": REALM_LIMIT},
        "datahub": {"entity_aspects": 3},
        "cdap": {"security": {"authorization": {"enabled": False}}},
    }
    one = Asked(Application(load(options=given, environment={})), asyncio.new_event_loop())
    one.application.open()
    yield one
    close(one)


def send(asked: Asked, method: str, path: str, body: object) -> Answer:
    return asked.ask(method, path, json.dumps(body).encode(), user="admin")


def refused(asked: Asked, method: str, path: str, body: object, setting: str) -> dict[str, Any]:
    """One request that is refused for the setting, and leaves nothing; its body."""
    before = asked.service.store.revision()
    answer = send(asked, method, path, body)
    assert answer.status == 400, answer
    assert setting.encode() in answer.body
    assert b"at most" in answer.body
    assert asked.service.store.revision() == before
    found: dict[str, Any] = json.loads(answer.body) if answer.body[:1] == b"{" else {}
    return found


def test_gravitino_keeps_so_much_of_an_object(asked: Asked) -> None:
    made = {"name": "lk", "comment": FITS, "properties": {}}
    assert send(asked, "POST", "/api/metalakes", made).status == 200
    too_much = {"name": "lk2", "comment": "", "properties": {"a": BIG}}
    body = refused(asked, "POST", "/api/metalakes", too_much, "limits.document_bytes")
    assert body["code"] == 1001
    update = {"@type": "setProperty", "property": "p", "value": FITS + FITS}
    path = "/api/metalakes/lk"
    refused(asked, "PUT", path, {"updates": [update]}, "limits.document_bytes")


def test_cdap_keeps_so_much_of_an_entity(asked: Asked) -> None:
    assert send(asked, "PUT", "/v3/namespaces/ns", {"description": FITS}).status == 200
    for path in ("preferences", "metadata/properties"):
        body = {f"k{index}": "x" * 900 for index in range(6)}
        refused(asked, "PUT" if path == "preferences" else "POST", f"/v3/namespaces/ns/{path}",
                body, "limits.document_bytes")  # fmt: skip
    refused(asked, "PUT", "/v3/namespaces/ns2", {"description": BIG}, "limits.document_bytes")


def test_datahub_keeps_so_much_of_an_entity_and_so_many_aspects(asked: Asked) -> None:
    for name in ("one", "two"):
        item = proposal(TAG, name, {"a": FITS if name == "one" else ""})
        assert send(asked, "POST", INGEST, {"proposal": item}).status == 200
    more = proposal(TAG, "two", {"a": FITS + FITS})
    body = refused(asked, "POST", INGEST, {"proposal": more}, "limits.document_bytes")
    assert body["status"] == 400
    third = proposal(TAG, "three", {})
    refused(asked, "POST", INGEST, {"proposal": third}, "datahub.entity_aspects")
    in_time = proposal(TAG, "operation", {"timestampMillis": 1, "a": BIG})
    refused(asked, "POST", INGEST, {"proposal": in_time}, "limits.document_bytes")
    gone = proposal(TAG, "two", {}, "DELETE")
    assert send(asked, "POST", INGEST, {"proposal": gone}).status == 200
    assert send(asked, "POST", INGEST, {"proposal": third}).status == 200


def filled(asked: Asked, method: str, path: str, bodies: Iterator[tuple[str, object]]) -> str:
    """Writes one after the other until one is refused for the realm; the path of the last."""
    for _ in range(REALM_LIMIT // len(FITS)):
        rest, body = next(bodies)
        answer = send(asked, method, path + rest, body)
        if answer.status != 200:
            refused(asked, method, path + rest, body, "limits.realm_bytes")
            return rest
    raise AssertionError("nothing was refused")


def test_gravitino_keeps_so_much_of_a_realm(asked: Asked) -> None:
    bodies = (("", {"name": f"r{n}", "comment": FITS, "properties": {}}) for n in count())
    filled(asked, "POST", "/api/metalakes", bodies)
    off = {"updates": [{"@type": "updateComment", "newComment": ""}]}
    assert send(asked, "PUT", "/api/metalakes/r0", off).status == 200
    small = {"name": "small", "comment": "", "properties": {}}
    assert send(asked, "POST", "/api/metalakes", small).status == 200


def test_cdap_keeps_so_much_of_a_realm(asked: Asked) -> None:
    bodies = ((f"/r{n}", {"description": FITS}) for n in count())
    filled(asked, "PUT", "/v3/namespaces", bodies)
    assert send(asked, "PUT", "/v3/namespaces/r0/properties", {"description": ""}).status == 200
    assert send(asked, "PUT", "/v3/namespaces/small", {"description": ""}).status == 200


def test_datahub_keeps_so_much_of_a_realm_and_values_in_time_count(asked: Asked) -> None:
    def in_time(time: int) -> object:
        return {"proposal": proposal(TAG, "operation", {"timestampMillis": time, "a": FITS})}

    filled(asked, "POST", INGEST, (("", in_time(n + 1)) for n in count()))
    gone = {"proposal": proposal(TAG, "one", {}, "DELETE")}
    assert send(asked, "POST", INGEST, gone).status == 200
    assert send(asked, "POST", INGEST, {"proposal": proposal(TAG, "two", {"a": "s"})}).status == 200
