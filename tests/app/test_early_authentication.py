"""The sender of a large body is authenticated before the body is read, on a provably new state."""

import asyncio
from collections.abc import Iterator, MutableMapping
from pathlib import Path
from typing import Any

import pytest

from lakewarden.app.build import Application
from lakewarden.app.open_store import OpenStore, open_for_writing
from lakewarden.config.settings import Settings
from lakewarden.service import token as tokens
from lakewarden.service.actor import SYSTEM, Actor
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.realm import Realm
from lakewarden.service.realms import establish
from tests.app.asgi import AppClient, close
from tests.app.stub import Stub

LIMIT = 2 * 1024 * 1024


@pytest.fixture
def app_client(tmp_path: Path) -> Iterator[AppClient]:
    database = f"sqlite:///{tmp_path}/store"
    application = Application(Settings(database=database, auth="token"), [Stub()])
    application.open()
    made = AppClient(application, asyncio.new_event_loop())
    yield made
    close(made)


@pytest.fixture(params=["shared revision", "every question to the store"])
def elsewhere(
    request: pytest.FixtureRequest,
    app_client: AppClient,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[OpenStore]:
    """Another process on the same store; the tested one is notified of its writes, or not."""
    opened = open_for_writing(f"sqlite:///{tmp_path}/store")
    if request.param != "shared revision":
        for service in (opened.service, app_client.service):
            monkeypatch.setattr(service, "_shared_revision", None)
            monkeypatch.setattr(service, "_shared_cells", None)
    opened.service.open()
    yield opened
    opened.close()


def _minted(service: DecisionService, realm: str = "gravitino") -> tokens.Issued:
    return service.write(
        SYSTEM, lambda transaction: tokens.issue(transaction, "ana", realm, seconds=60)
    )


def _status(app_client: AppClient, token: str, path: str = "/stub/large") -> tuple[int, int]:
    """The status of the response, and the number of reads of the body."""
    reads: list[int] = []
    json_of: list[MutableMapping[str, Any]] = []
    sent = [(b"authorization", f"Bearer {token}".encode()), (b"content-type", b"application/json")]
    scope = {
        "type": "http",
        "method": "POST",
        "path": path,
        "raw_path": path.encode(),
        "query_string": b"",
        "headers": sent,
        "client": ("127.0.0.1", 1),
    }

    async def receive() -> MutableMapping[str, Any]:
        if len(reads) > 2:
            await asyncio.Event().wait()
        reads.append(1)
        return {"type": "http.request", "body": b"x", "more_body": len(reads) < 3}

    async def send(message: MutableMapping[str, Any]) -> None:
        json_of.append(message)

    app_client.loop.run_until_complete(app_client.application(scope, receive, send))
    return json_of[0]["status"], len(reads)


def test_a_token_made_elsewhere_is_good_for_a_large_body_at_once(
    app_client: AppClient, elsewhere: OpenStore
) -> None:
    for _ in range(3):
        assert _status(app_client, _minted(elsewhere.service).text) == (200, 3)


def test_for_a_token_revoked_elsewhere_a_large_body_is_not_read(
    app_client: AppClient, elsewhere: OpenStore
) -> None:
    made = _minted(elsewhere.service)
    assert _status(app_client, made.text) == (200, 3)
    own = Actor("ana")
    assert (
        elsewhere.service.write(own, lambda transaction: tokens.revoke(transaction, made.token.id))
        is None
    )
    assert _status(app_client, made.text) == (401, 0)


def test_a_realm_made_elsewhere_takes_a_large_body_at_once(
    app_client: AppClient, elsewhere: OpenStore
) -> None:
    elsewhere.service.write(
        SYSTEM, lambda transaction: establish(transaction, Realm("new", "gravitino"))
    )
    made = _minted(elsewhere.service, "new")
    assert _status(app_client, made.text, "/r/new/stub/large") == (200, 3)


def test_before_the_state_is_loaded_no_large_body_is_read(tmp_path: Path) -> None:
    database = f"sqlite:///{tmp_path}/store"
    application = Application(Settings(database=database, auth="token"), [Stub()])
    app_client = AppClient(application, asyncio.new_event_loop())
    assert _status(app_client, "lw_any") == (503, 0)
    close(app_client)
