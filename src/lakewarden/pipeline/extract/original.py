"""A running system that is only read: polite, bounded, and exact about what it did not show.

No redirect is followed and no proxy is used: the credential goes to the server that was named.
What the server refuses for good (403, 404 and the like) is written down by its path; what it
cannot answer just now is asked again, and at last ends the walk: a hole is no export. Answers are
bounded in length and in time, however slowly they come.
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
"""How often a request is made before the server counts as unavailable."""

LARGEST: Final = 64 * 1024 * 1024
"""How long an answer may be."""

AT_ONCE: Final = 4
"""How many requests are under way at once."""

LONGEST_ANSWER: Final = 600.0
"""Seconds that one answer may take from its first byte to its last."""

MOST: Final = 2_000_000
"""How many requests one walk makes at most."""

ABSENT: Final = frozenset({404, 405, 410, 501})
"""Statuses of what is not there or not served; any other withheld path may hide something."""

_AGAIN: Final = frozenset({408, 425, 429, 500, 502, 503, 504})
_WITHHELD: Final = ABSENT | {400, 403}
_ELSEWHERE: Final = frozenset({301, 302, 303, 307, 308})
_LONGEST_PAUSE: Final = 30.0
_SAID: Final = 200
_WINDOW: Final = 64


class Withheld(NamedTuple):
    """A path that the original did not answer with what was asked: its status, and its words."""

    path: str
    status: int
    why: str


@dataclass(frozen=True, slots=True)
class Credential:
    """Who asks: a bearer token, or a name with a password; without either nobody."""

    token: str | None = None
    user: str | None = None
    password: str = ""

    def header(self) -> dict[str, str]:
        """The header that says it."""
        if self.token is not None:
            return {"Authorization": f"Bearer {self.token}"}
        if self.user is None:
            return {}
        raw = f"{self.user}:{self.password}".encode()
        return {"Authorization": f"Basic {base64.b64encode(raw).decode()}"}


NOBODY: Final = Credential()


def unheard(requests: int, path: str) -> None:
    """A progress that nobody sees."""


@dataclass
class Original:
    """A system at an address; `tell` hears how many requests were made, and the newest path."""

    address: str
    credential: Credential = NOBODY
    timeout: float = 30.0
    trusted: Path | None = None
    tell: Callable[[int, str], None] = unheard
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
                # Other encodings shrink so much that a piece of one would be past all bounds.
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
        """The JSON that answers a path, or None where it is withheld, which is written down.

        A status in `unserved` says that there is nothing of the kind, and is not written down.
        Raises `BadInput` where the credential is refused, for a redirect, and for what is no
        strict JSON, `LimitExceeded` for too much, and `Unavailable` where there is no answer
        after some tries.
        """
        return self._answer(path, None, unserved)

    def post(self, path: str, body: object, unserved: Container[int] = ()) -> Any:
        """As `get`, for a question that has a body; nothing is changed by it."""
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

    def always(self, name: str, value: str) -> None:
        """Sends this header with every request from now on."""
        self._client.headers[name] = value

    def note(self, path: str, status: int, why: str) -> None:
        """Writes down what was not shown."""
        self.withheld.append(Withheld(path, status, why))

    def not_shown(self) -> list[str]:
        """What was not shown, a line each, for a report."""
        return [f"{one.path} ({one.status}): {one.why}" for one in sorted(self.withheld)]

    def each(self, paths: Iterable[str]) -> Iterator[tuple[str, Any]]:
        """The answers to many paths, in their order, a few at once; the withheld are left out."""
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
        """Status and body, and how long the server says to wait (0: it does not say)."""
        method, headers = ("GET", {}) if content is None else ("POST", _WITH_BODY)
        address = self.address + path
        with self._client.stream(method, address, content=content, headers=headers) as reply:
            body = _whole(reply, path)
            after = reply.headers.get("retry-after", "")
            return reply.status_code, body, float(after) if after.isdecimal() else 0.0


_WITH_BODY: Final = {"Content-Type": "application/json"}


def _whole(reply: httpx.Response, path: str) -> bytes:
    """All of a body, within its bounds. Raises `LimitExceeded` and `Unavailable`."""
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
    """The value of a body. Raises `BadInput` for what is no strict JSON."""
    try:
        value = parse(body.decode("utf-8"), path)
    except UnicodeDecodeError:
        raise BadInput("the answer is no UTF-8", where=path) from None
    if value is None:
        raise BadInput("expected an answer, got `null`", where=path)
    return value


def segment(name: str, where: str) -> str:
    """A name as one part of a path. Raises `BadInput` for one that would lead elsewhere."""
    if name in ("", ".", ".."):
        raise BadInput(f"`{name}` is no name that a path can have", where=where)
    return quote(name, safe="")


def _message(body: bytes) -> str:
    """What a refusal says, in short."""
    text = body.decode("utf-8", "replace")
    try:
        message = parse(text, "")
    except BadInput:
        message = text
    if isinstance(message, dict):
        message = message.get("message") or message.get("error") or ""
    return " ".join(str(message)[: 10 * _SAID].split())[:_SAID]
