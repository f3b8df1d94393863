"""Sends requests to an application without a network: their bytes arrive unchanged."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Iterable, MutableMapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from lakewarden.app.build import Application
from lakewarden.app.http_head import Pair
from lakewarden.service.decision_service import DecisionService
from tests.app.serving import Answer, basic


@dataclass
class AppClient:
    """An open application and its event loop; requests come from `peer`.

    `at_once` counts the requests that were answered at once.
    """

    application: Application
    loop: asyncio.AbstractEventLoop
    at_once: int = 0
    peer: str = "127.0.0.1"

    @property
    def service(self) -> DecisionService:
        return self.application.parts.service

    def ask(
        self,
        method: str,
        target: str | bytes,
        body: bytes = b"",
        headers: Iterable[tuple[str, str]] = (),
        *,
        user: str | None = "ana",
    ) -> Answer:
        """One request; `target` is the raw path with its query."""
        return self.loop.run_until_complete(self._ask(method, target, body, headers, user))

    def together(self, count: int, method: str, target: str) -> list[Answer]:
        """The same request `count` times concurrently."""

        async def run() -> list[Answer]:
            app_client = (self._ask(method, target, b"", (), "ana") for _ in range(count))
            return await asyncio.gather(*app_client)

        return self.loop.run_until_complete(run())

    async def _ask(
        self,
        method: str,
        target: str | bytes,
        body: bytes,
        headers: Iterable[tuple[str, str]],
        user: str | None,
    ) -> Answer:
        raw = target.encode() if isinstance(target, str) else target
        sent, json_of = await self._run(method, raw, body, headers, user)
        start = json_of[0]
        answer = _answer(
            start["status"], start["headers"], *(m.get("body", b"") for m in json_of[1:])
        )
        self._compare(method, raw, sent, body, answer)
        return answer

    async def _run(
        self,
        method: str,
        raw: bytes,
        body: bytes,
        headers: Iterable[tuple[str, str]],
        user: str | None,
    ) -> tuple[list[Pair], list[MutableMapping[str, Any]]]:
        """The sent headers, and the application's response."""
        path, _, query = raw.partition(b"?")
        sent = [(name.lower().encode(), value.encode("latin-1")) for name, value in headers]
        if user is not None:
            sent.append((b"authorization", basic(user).encode()))
        if body and not any(name == b"content-type" for name, _ in sent):
            sent.append((b"content-type", b"application/json"))
        scope = {
            "type": "http",
            "method": method,
            "path": path.decode("latin-1"),
            "raw_path": path,
            "query_string": query,
            "headers": sent,
            "client": (self.peer, 1),
        }
        # In two pieces, like a large body.
        half = len(body) // 2
        pieces = [
            {"type": "http.request", "body": body[:half], "more_body": True},
            {"type": "http.request", "body": body[half:], "more_body": False},
        ]
        json_of: list[MutableMapping[str, Any]] = []

        async def receive() -> MutableMapping[str, Any]:
            if pieces:
                return pieces.pop(0)
            await asyncio.Event().wait()  # the caller stays connected until the response
            return {"type": "http.disconnect"}

        async def send(message: MutableMapping[str, Any]) -> None:
            json_of.append(message)

        await self.application(scope, receive, send)
        return sent, json_of

    def _compare(
        self, method: str, url: bytes, headers: list[Pair], body: bytes, answer: Answer
    ) -> None:
        """Checks that the immediate answer equals the usual one."""
        once = None
        if method != "HEAD":
            once = self.application.immediate_response(method, url, headers, body, self.peer)
        if once is None:
            return
        self.at_once += 1
        found = _answer(*once)
        own = {"x-request-id": ""}
        assert {**found.headers, **own} == {**answer.headers, **own}
        assert (found.status, found.body) == (answer.status, answer.body)


def _answer(status: int, headers: Iterable[Pair], *bodies: bytes) -> Answer:
    pairs = [(name.decode(), value.decode("latin-1")) for name, value in headers]
    cookies = [value for name, value in pairs if name == "set-cookie"]
    return Answer(status, dict(pairs), b"".join(bodies), cookies)


def json_of(answer: Answer) -> dict[str, Any]:
    """The members of a JSON answer."""
    found: dict[str, Any] = json.loads(answer.body)
    return found


def close(app_client: AppClient) -> None:
    """Closes the application and its loop."""
    with suppress(RuntimeError):
        app_client.application.close()
    app_client.loop.run_until_complete(app_client.loop.shutdown_default_executor())
    app_client.loop.close()
