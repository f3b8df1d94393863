"""GraphQL through the whole server: every path, every caller, tokens from creation to the end."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest

from lakewarden.app.build import Application
from lakewarden.config.settings import Limits, Settings
from lakewarden.kernel.change import PrincipalChanged
from lakewarden.kernel.principal import USER, Principal
from lakewarden.service.actor import SYSTEM
from lakewarden.service.realm import DIRECTORY, people_of
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.datahub.http import DataHub
from lakewarden.systems.datahub.http.graphql.routes import PATHS
from lakewarden.systems.gravitino.http import Gravitino
from tests.app.asgi import AppClient, close
from tests.app.serving import PATIENT_LIMITS, Answer
from tests.systems.datahub.http.graphql.test_tokens import CREATE, REVOKE, token_input

ME = "{ me { corpUser { urn } platformPrivileges { managePolicies } } }"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[AppClient]:
    database = f"sqlite:///{tmp_path_factory.mktemp('served')}/store"
    settings = Settings(database=database, limits=Limits(**PATIENT_LIMITS))
    application = Application(settings, [Gravitino(), DataHub()])
    application.open()
    for name in ("ana", "bob"):
        application.parts.service.write(SYSTEM, partial(_add, name))
    one = AppClient(application, asyncio.new_event_loop())
    yield one
    close(one)


def _add(name: str, transaction: WriteTransaction) -> None:
    transaction.change(people_of(DIRECTORY), PrincipalChanged(Principal(USER, name), True))


def send(
    server: AppClient,
    query: str,
    user: str | None = "ana",
    token: str = "",
    path: str = PATHS[0],
    **variables: Any,
) -> Answer:
    body = json.dumps({"query": query, "variables": variables}).encode()
    headers = [("Authorization", f"Bearer {token}")] if token else []
    return server.ask("POST", path, body, headers, user=None if token else user)


@pytest.mark.parametrize("path", [*PATHS, *(f"/r/datahub{path}" for path in PATHS)])
def test_every_path_is_served_to_whoever_is_believed(server: AppClient, path: str) -> None:
    for user, manages in (("ana", False), ("admin", True)):
        answer = send(server, ME, user, path=path)
        assert answer.status == 200
        found = json.loads(answer.body)["data"]["me"]
        assert found["corpUser"]["urn"] == f"urn:li:corpuser:{user}"
        assert found["platformPrivileges"]["managePolicies"] is manages
    assert send(server, ME, None, path=path).status == 401


def test_only_posts_of_json_are_taken(server: AppClient) -> None:
    assert server.ask("GET", PATHS[0]).status == 405
    text = [("content-type", "application/graphql")]
    assert server.ask("POST", PATHS[0], ME.encode(), text).status == 415


def test_a_token_is_good_here_and_nowhere_else_until_it_is_revoked(server: AppClient) -> None:
    issued = json.loads(send(server, CREATE, input=token_input()).body)["data"]["createAccessToken"]
    token = issued["accessToken"]
    assert b'"urn:li:corpuser:ana"' in send(server, ME, token=token).body
    bearer = [("Authorization", f"Bearer {token}")]
    assert server.ask("GET", "/api/metalakes", b"", bearer, user=None).status == 401
    revoked = send(server, REVOKE, id=issued["metadata"]["id"])
    assert json.loads(revoked.body) == {"data": {"revokeAccessToken": True}}
    assert send(server, ME, token=token).status == 401
