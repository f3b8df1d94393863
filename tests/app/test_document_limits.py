"""What callers have kept of one entity ends at a limit, in every dialect, in its own error form.

One real application without a socket, over a store in a file; `document_bytes` is small.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from lakewarden.app.build import Application
from lakewarden.config.settings import load
from tests.app.asgi import Asked, close
from tests.app.serving import Answer
from tests.wire.datahub.wire import proposal

LIMIT = 4_096
BIG = "ü" * (LIMIT // 2)  # in UTF-8 just the limit: with what stands around it, too much
FITS = "ü" * (LIMIT // 4)
TAG = "urn:li:tag:t"
INGEST = "/aspects?action=ingestProposal"


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Asked]:
    folder: Path = tmp_path_factory.mktemp("limits")
    given = {
        "database": f"sqlite:///{folder}/store",
        "limits": {"document_bytes": LIMIT},
        "datahub": {"entity_aspects": 3},
        "cdap": {"security": {"authorization": {"enabled": False}}},
    }
    one = Asked(Application(load(given=given, environment={})), asyncio.new_event_loop())
    one.application.open()
    yield one
    close(one)


def send(asked: Asked, method: str, path: str, body: object) -> Answer:
    return asked.ask(method, path, json.dumps(body).encode(), user="admin")


def refused(asked: Asked, method: str, path: str, body: object, setting: str) -> dict[str, Any]:
    """One request that is refused for the setting, and leaves nothing; its body."""
    before = asked.plane.store.revision()
    answer = send(asked, method, path, body)
    assert answer.status == 400, answer
    assert setting.encode() in answer.body
    assert b"at most" in answer.body
    assert asked.plane.store.revision() == before
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
