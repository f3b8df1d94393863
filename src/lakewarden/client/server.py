"""A server's API over HTTP.

Follows no redirect and uses no proxy: the token goes only to the given server.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager, nullcontext
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any, Final, NamedTuple
from urllib.parse import urlencode, urlsplit

from lakewarden.kernel.errors import BadInput, Unavailable

TIMEOUT: Final = 30.0
"""Seconds to wait for a connection, and for each part of a response."""

_PREFIX = "/api/v1"
_REVISION = "Lakewarden-Revision"
_LARGEST = 256 * 1024 * 1024

Json = Any

Waiting = Callable[[str], AbstractContextManager[object]]
"""A context that is active while waiting for a response, by the address of the server."""


class Answer(NamedTuple):
    """A response: its status, its body, and the revision that it is based on."""

    status: int
    body: Json
    revision: str


class Server:
    """A server's API: raises `Unavailable` on no response, `BadInput` on an error response.

    `waiting` is entered with the address while waiting for a response.
    """

    def __init__(
        self,
        address: str,
        *,
        token: str | None = None,
        user: str | None = None,
        waiting: Waiting = nullcontext,
    ) -> None:
        parts = urlsplit(address)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query:
            expected = "expected http://HOST:PORT or https://HOST:PORT"
            shown = address.rpartition("@")[2]  # the part before it may contain a password
            raise BadInput(f"{expected}, got `{shown}`", where="--server")
        self.address = address.rstrip("/")
        self._waiting = waiting
        self._host = parts.hostname
        try:
            self._port = parts.port
        except ValueError:
            raise BadInput(f"`{address}` has an invalid port", where="--server") from None
        self._path = parts.path.rstrip("/")
        self._connection = HTTPSConnection if parts.scheme == "https" else HTTPConnection
        self._headers = {"Accept": "application/json", **_authorization(token, user)}

    def ask(
        self,
        method: str,
        path: str,
        body: object = None,
        query: Mapping[str, str] | None = None,
    ) -> Json:
        """The body of the response, or None if it has none; `path` is below `/api/v1`."""
        target = self._path + _PREFIX + path + (f"?{urlencode(query)}" if query else "")
        content = None if body is None else json.dumps(body).encode()
        headers = self._headers if content is None else {**self._headers, **_JSON}
        with self._waiting(self.address):
            answer = self._send(method, target, content, headers)
        if answer.status < 300:
            return answer.body
        raise _refusal(answer.status, answer.body, self.address)

    def look(self, path: str, *, as_anybody: bool = False) -> Answer:
        """The response for any path of the server, including error responses.

        `as_anybody`: without a credential, which the server might not accept.
        """
        headers = {"Accept": "application/json"} if as_anybody else self._headers
        return self._send("GET", self._path + path, None, headers)

    @property
    def has_credential(self) -> bool:
        """Whether requests carry a credential."""
        return "Authorization" in self._headers

    def _send(
        self, method: str, target: str, body: bytes | None, headers: Mapping[str, str]
    ) -> Answer:
        connection = self._connection(self._host, self._port, timeout=TIMEOUT)
        try:
            connection.request(method, target, body, dict(headers))
            reply = connection.getresponse()
            read, revision = reply.read(_LARGEST), reply.getheader(_REVISION, "")
        except (OSError, HTTPException) as error:
            why = str(error) or type(error).__name__
            raise Unavailable(f"no answer from `{self.address}`: {why.lower()}") from None
        finally:
            connection.close()
        if reply.status == 204:
            return Answer(reply.status, None, revision)
        try:
            return Answer(reply.status, json.loads(read), revision)
        except ValueError:
            raise Unavailable(f"no lakewarden server answers at `{self.address}`") from None


_JSON = {"Content-Type": "application/json"}


def _authorization(token: str | None, user: str | None) -> dict[str, str]:
    if user is not None:
        if ":" in user:
            raise BadInput(f"expected a name without `:`, got `{user}`", where="--user")
        pair = base64.b64encode(f"{user}:".encode()).decode("ascii")
        return {"Authorization": f"Basic {pair}"}
    if token is None:
        return {}
    if not (token.isascii() and token.isprintable()) or " " in token:
        raise BadInput("the token contains invalid characters")
    return {"Authorization": f"Bearer {token}"}


def _refusal(status: int, problem: Json, address: str) -> BadInput | Unavailable:
    """The problem in a response, as an error."""
    if not isinstance(problem, dict) or "detail" not in problem:
        return Unavailable(f"`{address}` answers with status {status}")
    message = str(problem["detail"])
    if status >= 500:
        return Unavailable(f"`{address}`: {message}")
    if status == 401:
        message += "; give a token in LAKEWARDEN_TOKEN or with --token-file"
    granting = problem.get("may_grant")
    if granting:
        message += f"; it can be granted by {', '.join(map(str, granting))}"
    return BadInput(message)
