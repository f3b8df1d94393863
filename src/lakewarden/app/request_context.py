"""The state of a request in progress, and the head of its response."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Final

from lakewarden.app import http_head as heads
from lakewarden.app.freshness import STALE
from lakewarden.app.http_head import Pair
from lakewarden.app.routing import RouteMatch
from lakewarden.http.exchange import JSON, Dialect, Exchange, Reply
from lakewarden.service.actor import Actor
from lakewarden.service.steps import Steps

REVISION: Final = "lakewarden-revision"
"""Response header: the revision of the state that answered."""

_TOLD_BYTES = 256
_JSON = (b"content-type", JSON.encode())
_ALWAYS = ((b"x-content-type-options", b"nosniff"), (b"cache-control", b"no-store"))
_REQUEST_ID, _REVISION, _STALE = heads.REQUEST_ID.encode(), REVISION.encode(), STALE.encode()


@dataclass(slots=True)
class RequestContext:
    """One request on its way.

    `begun` is a time of `time.perf_counter`; `certificate` are the names in the connection's
    certificate; `own` are the headers of this request alone; `steps` are recorded if requests are
    traced.
    """

    method: str
    raw_path: bytes
    begun: float
    peer: str = ""
    certificate: tuple[str, ...] = ()
    request_id: str = ""
    own: Mapping[bytes, bytes] | None = None
    match: RouteMatch | None = None
    dialect: Dialect | None = None
    operation: str = ""
    rate_class: str = ""
    realm: str | None = None
    model: str = ""
    forwarded: str | None = None
    revision: int | None = None
    stale: float | None = None
    actor: Actor | None = None
    exchange: Exchange | None = None
    extra: dict[str, str] = field(default_factory=dict)
    concealed: Callable[[Reply], Reply] | None = None
    steps: Steps | None = None

    def identify(self, own: Mapping[bytes, bytes]) -> None:
        """Reads the headers that identify the request."""
        self.own = own
        self.request_id = heads.request_id(own.get(heads.REQUEST_ID_BYTES))

    def shown(self, reply: Reply) -> Reply:
        """The reply that is sent: a different one if its status would disclose a token."""
        if self.concealed is None or reply.status == HTTPStatus.OK:
            return reply
        return self.concealed(reply)

    @property
    def path(self) -> str:
        """The beginning of the path as sent, for logs."""
        return self.raw_path[:_TOLD_BYTES].decode("latin-1")

    @property
    def wire(self) -> str:
        """The dialect's name."""
        return "none" if self.dialect is None else self.dialect.name

    def head(self, reply: Reply) -> list[Pair]:
        """The headers of the response; raises `ValueError` for one that cannot be sent."""
        kind = reply.content_type
        head: list[Pair] = []
        if reply.status != 204:
            head.append(_JSON if kind is JSON else (b"content-type", kind.encode("latin-1")))
            head.append((b"content-length", b"%d" % len(reply.body)))
        head.append((_REQUEST_ID, (self.request_id or heads.request_id(None)).encode("ascii")))
        head += _ALWAYS
        if self.revision is not None:
            head.append((_REVISION, b"%d" % self.revision))
        if self.stale is not None:
            head.append((_STALE, f"{self.stale:.3f}".encode()))
        if self.extra or reply.headers:
            head = _with(head, {**self.extra, **reply.headers})
        for cookie in reply.cookies:
            if not cookie.isprintable():
                raise ValueError("a cookie contains a control character")
            head.append((b"set-cookie", cookie.encode("ascii")))
        return head


def _with(head: list[Pair], more: dict[str, str]) -> list[Pair]:
    """The head with further headers, which replace those of the same name."""
    fields = dict(head)
    for name, value in more.items():
        if not value.isprintable():
            raise ValueError(f"the header {name} contains a control character")
        fields[name.lower().encode("latin-1")] = value.encode("latin-1")
    return list(fields.items())
