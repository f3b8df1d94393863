"""A whole server without a socket: settings, file store, gate, authentication, our own API."""

from __future__ import annotations

import asyncio
import base64
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

import httpx

from lakewarden.app.build import Application
from lakewarden.config.settings import load
from lakewarden.service.decision_service import DecisionService
from tests.app.cheap_applications import cheap_application, open_cheaply
from tests.app.serving import PATIENT_LIMITS

ADMIN = "admin"


class Answer(NamedTuple):
    """Status, JSON body and headers of a response."""

    status: int
    body: Any
    headers: Mapping[str, str]


class Api:
    """The server; `ask` sends one request below `/api/v1` as a user."""

    def __init__(self, folder: Path, app: Application | None = None, **settings: object) -> None:
        own = {"database": f"sqlite:///{folder}/store", "limits": PATIENT_LIMITS}
        self.app = app or cheap_application(load(None, {**own, **settings}, {}))
        open_cheaply(self.app)
        self._runner = asyncio.Runner()
        transport = httpx.ASGITransport(self.app)
        self._client = httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1")

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._runner.run(self._client.aclose())
        self._runner.close()
        self.app.close()

    @property
    def service(self) -> DecisionService:
        """The server's decision service."""
        return self.app.parts.service

    def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        user: str | None = ADMIN,
        token: str | None = None,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """One request; `path` is below `/api/v1` unless it begins with two slashes."""
        address = path[1:] if path.startswith("//") else f"/api/v1{path}"
        sent = {**(headers or {}), **_authorization(user, token)}
        return self.at(method, address, body, query=query, headers=sent)

    def at(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        query: Mapping[str, str] | None = None,
        headers: Mapping[str, str] | None = None,
    ) -> Answer:
        """One request to any path, by default without credentials; bytes are sent unchanged."""
        content = {"content": body} if isinstance(body, bytes) else {"json": body}
        request = self._client.request(method, path, params=query, headers=headers, **content)
        reply = self._runner.run(request)
        self._client.cookies.clear()  # a request sends only the test's own headers
        form = reply.headers.get("content-type", "").partition(";")[0]
        is_json = reply.content and form.endswith(("/json", "+json"))
        read = reply.json() if is_json else reply.text or None
        return Answer(reply.status_code, read, reply.headers)

    def must(self, method: str, path: str, body: object = None, **rest: Any) -> Any:
        """The body of the response; fails if it is an error."""
        answer = self.ask(method, path, body, **rest)
        assert answer.status < 300, answer
        return answer.body


def _authorization(user: str | None, token: str | None) -> dict[str, str]:
    if token is not None:
        return {"authorization": f"Bearer {token}"}
    if user is None:
        return {}
    pair = base64.b64encode(f"{user}:".encode()).decode()
    return {"authorization": f"Basic {pair}"}
