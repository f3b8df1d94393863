"""Read-only access to a running system: rate-limited, bounded, and exact about missing answers.

No redirect is followed and no proxy is used: the credential is only sent to the configured server.
A path that the server refuses permanently (403, 404 and the like) is recorded. A temporary failure
is retried, and finally ends the walk: an export must have no holes. Responses are bounded in size
and in time, however slowly they arrive.
"""

from __future__ import annotations

import base64
import json
import ssl
import time
from collections.abc import Callable, Container, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple, Self
from urllib.parse import quote, urlsplit

from lakewarden.kernel.errors import BadInput, LimitExceeded, Unavailable
from lakewarden.names.canonical import escaped
from lakewarden.pipeline.ingest.json_file import parse

if TYPE_CHECKING:
    import httpx

TRIES: Final = 6
"""How often a request is tried before the server counts as unavailable."""

LARGEST: Final = 64 * 1024 * 1024
"""The largest size of a response, in bytes."""

AT_ONCE: Final = 4
"""How many requests are sent concurrently."""

LONGEST_ANSWER: Final = 600.0
"""Seconds that one response may take from its first byte to its last."""

MOST: Final = 2_000_000
"""How many requests one walk makes at most."""

ABSENT: Final = frozenset({404, 405, 410, 501})
"""Statuses of resources that do not exist or are not served; other withheld paths may hide some."""

_AGAIN: Final = frozenset({408, 425, 429, 500, 502, 503, 504})
_WITHHELD: Final = ABSENT | {400, 403}
_ELSEWHERE: Final = frozenset({301, 302, 303, 307, 308})
_LONGEST_PAUSE: Final = 30.0
_SAID: Final = 200
_WINDOW: Final = 64


class Withheld(NamedTuple):
    """A path whose content the system did not return: its status, and its message."""

    path: str
    status: int
    why: str


@dataclass(frozen=True, slots=True)
class Credential:
    """The caller's credential: a bearer token, or a name with a password; neither: anonymous."""

    token: str | None = None
    user: str | None = None
    password: str = ""

    def header(self) -> dict[str, str]:
        """The authorization header."""
        if self.token is not None:
            return {"Authorization": f"Bearer {self.token}"}
        if self.user is None:
            return {}
        raw = f"{self.user}:{self.password}".encode()
        return {"Authorization": f"Basic {base64.b64encode(raw).decode()}"}


NOBODY: Final = Credential()


def no_progress(requests: int, path: str) -> None:
    """A progress that shows nothing."""


@dataclass
class Original:
    """A system at an address; `tell` receives the number of requests and the latest path."""

    address: str
    credential: Credential = NOBODY
    timeout: float = 30.0
    trusted: Path | None = None
    tell: Callable[[int, str], None] = no_progress
    pause: Callable[[float], None] = time.sleep
    limit: int = MOST
    withheld: list[Withheld] = field(default_factory=list)
    requests: int = 0

    def __post_init__(self) -> None:
        parts = urlsplit(self.address)
        if parts.username is not None:
            raise BadInput("a credential does not belong into the address")
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query:
            expected = "expected http://HOST:PORT or https://HOST:PORT"
            raise BadInput(f"{expected}, got `{self.address}`")
        self.address = self.address.rstrip("/")
        self._client = self._opened()

    def _opened(self) -> httpx.Client:
        import httpx

        file = None if self.trusted is None else str(self.trusted)
        return httpx.Client(
            headers={
                "Accept": "application/json",
                # Other encodings compress so strongly that one chunk could exceed all bounds.
                "Accept-Encoding": "gzip",
                **self.credential.header(),
            },
            timeout=self.timeout,
            verify=ssl.create_default_context(cafile=file),
            follow_redirects=False,
            trust_env=False,
            limits=httpx.Limits(max_connections=AT_ONCE),
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._client.close()

    def get(self, path: str, unserved: Container[int] = ()) -> Any:
        """The JSON response for a path, or None if it is withheld, which is recorded.

        A status in `unserved` says that there are no resources of this kind, and is not recorded.
        Raises `BadInput` for a rejected credential, a redirect, and a response that is not strict
        JSON; `LimitExceeded` for too much data; and `Unavailable` if there is no response after
        several tries.
        """
        return self._answer(path, None, unserved)

    def post(self, path: str, body: object, unserved: Container[int] = ()) -> Any:
        """Like `get`, for a query that has a body; it changes nothing."""
        return self._answer(path, json.dumps(body).encode(), unserved)

    def _answer(self, path: str, content: bytes | None, unserved: Container[int]) -> Any:
        status, body = self._persistently(path, content)
        if status == 200:
            return _json(body, path)
        if status == 401:
            raise BadInput(f"the original refuses the credential ({status})", where=path)
        if status in _ELSEWHERE:
            message = f"the original sends elsewhere ({status}), and no redirect is followed"
            raise BadInput(f"{message}; give the address that answers itself", where=path)
        if status in _WITHHELD:
            if status not in unserved:
                self.note(path, status, _message(body))
            return None
        raise Unavailable(f"{self.address}{path}: unexpected answer {status}")

    def add_header(self, name: str, value: str) -> None:
        """Sends this header with every further request."""
        self._client.headers[name] = value

    def note(self, path: str, status: int, why: str) -> None:
        """Records a withheld path."""
        self.withheld.append(Withheld(path, status, why))

    def withheld_lines(self) -> list[str]:
        """The withheld paths, one line each, for a report."""
        return [f"{one.path} ({one.status}): {one.why}" for one in sorted(self.withheld)]

    def each(self, paths: Iterable[str]) -> Iterator[tuple[str, Any]]:
        """The responses for many paths, in order, a few concurrently; without withheld ones."""
        rest = iter(paths)
        with ThreadPoolExecutor(AT_ONCE) as pool:
            while window := list(islice(rest, _WINDOW)):
                for path, reply in zip(window, pool.map(self.get, window), strict=True):
                    if reply is not None:
                        yield path, reply

    def _persistently(self, path: str, content: bytes | None) -> tuple[int, bytes]:
        import httpx

        problem = ""
        for attempt in range(TRIES):
            self.requests += 1
            if self.requests > self.limit:
                raise LimitExceeded(f"more than {self.limit:,} requests to the original")
            self.tell(self.requests, path)
            wait = 0.5 * 2**attempt
            try:
                status, body, after = self._attempt(path, content)
            except (httpx.TransportError, httpx.DecodingError) as error:
                problem = str(error) or type(error).__name__
            else:
                if status not in _AGAIN:
                    return status, body
                problem, wait = f"answer {status}", after or wait
            if attempt + 1 < TRIES:
                self.pause(min(wait, _LONGEST_PAUSE))
        raise Unavailable(f"{self.address}{path}: {escaped(problem)}, {TRIES} times")

    def _attempt(self, path: str, content: bytes | None) -> tuple[int, bytes, float]:
        """Status and body, and the `Retry-After` seconds (0: not given)."""
        method, headers = ("GET", {}) if content is None else ("POST", _WITH_BODY)
        address = self.address + path
        with self._client.stream(method, address, content=content, headers=headers) as reply:
            body = _whole(reply, path)
            after = reply.headers.get("retry-after", "")
            return reply.status_code, body, float(after) if after.isdecimal() else 0.0


_WITH_BODY: Final = {"Content-Type": "application/json"}


def _whole(reply: httpx.Response, path: str) -> bytes:
    """The whole body, within its bounds. Raises `LimitExceeded` and `Unavailable`."""
    encoding = reply.headers.get("content-encoding", "").lower()
    if encoding not in ("", "identity", "gzip"):
        raise Unavailable(f"{path}: an answer in an encoding that was not asked for")
    end = time.monotonic() + LONGEST_ANSWER
    body = bytearray()
    for piece in reply.iter_bytes():
        body += piece
        if len(body) > LARGEST:
            raise LimitExceeded(f"{path}: an answer of more than {LARGEST:,} bytes")
        if time.monotonic() > end:
            raise Unavailable(
                f"{path}: an answer that took more than {LONGEST_ANSWER:,.0f} seconds"
            )
    return bytes(body)


def _json(body: bytes, path: str) -> Any:
    """The value of a body. Raises `BadInput` unless it is strict JSON."""
    try:
        value = parse(body.decode("utf-8"), path)
    except UnicodeDecodeError:
        raise BadInput("the answer is no UTF-8", where=path) from None
    if value is None:
        raise BadInput("expected an answer, got `null`", where=path)
    return value


def segment(name: str, where: str) -> str:
    """A name as one path segment. Raises `BadInput` for one that would lead elsewhere."""
    if name in ("", ".", ".."):
        raise BadInput(f"`{name}` is no name that a path can have", where=where)
    return quote(name, safe="")


def _message(body: bytes) -> str:
    """The message of an error response, shortened."""
    text = body.decode("utf-8", "replace")
    try:
        message = parse(text, "")
    except BadInput:
        message = text
    if isinstance(message, dict):
        message = message.get("message") or message.get("error") or ""
    return " ".join(str(message)[: 10 * _SAID].split())[:_SAID]
