"""HTTP/1.1 on a connection: limits on incomplete requests, and immediate responses.

A caller that sends an endless or slow head is cut off: the pipeline in front of the dialects sees a
request only when its head is complete.

A request that arrived in one piece is offered to the application before a task is created for it
(`ImmediateResponder`). If the application answers it there, the response is also sent in one piece.
Otherwise the request takes the regular path, as if it had not been held.

Connections are limited in number (`connections`) and in time: for sending a head, for sending the
unread rest of a body, and for receiving a response.
"""

from __future__ import annotations

from asyncio import Transport
from asyncio.events import TimerHandle
from collections.abc import Callable, Sequence
from typing import Any, Final, Protocol, runtime_checkable

import httptools
from uvicorn.protocols.http.httptools_impl import STATUS_LINE, HttpToolsProtocol

from lakewarden.app.connections import Admission, Connections
from lakewarden.app.tls import CERTIFICATE, names_in

MAX_HEAD_BYTES: Final = 128 * 1024
"""The most bytes of an incomplete head; the exact limits are those of the pipeline."""

HEAD_SECONDS: Final = 10.0
"""A head must begin within this time after connecting, and be complete within it once begun."""

WRITE_SECONDS: Final = 30.0
"""A caller must accept part of a waiting response within this time."""

_TOO_LARGE = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"content-length: 0\r\nconnection: close\r\n\r\n"
)

_GOODBYE = b"CLOSE / HTTP/1."
"""Sent by Gravitino's Python client when it is closed: a method that no parser knows.
SOURCE: gravitino reference 5.1."""

_GOODBYE_REPLY = b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n"


_BUSY = (
    b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\n"
    b"content-length: 0\r\nconnection: close\r\n\r\n"
)

Headers = Sequence[tuple[bytes, bytes]]

Asking = Callable[
    [str, bytes, Headers, bytes, str, tuple[str, ...]], tuple[int, Headers, bytes] | None
]


@runtime_checkable
class ImmediateResponder(Protocol):
    """An application that can answer some requests without waiting for anything."""

    def immediate_response(
        self,
        method: str,
        url: bytes,
        headers: Headers,
        body: bytes,
        peer: str,
        certificate: tuple[str, ...] = (),
    ) -> tuple[int, Headers, bytes] | None:
        """Status, headers and body; None: use the regular path."""
        ...


@runtime_checkable
class Bounding(Protocol):
    """An application that limits its connections; reserve connections answer only some paths."""

    connections: Connections
    reserve_paths: frozenset[str]


class GuardedProtocol(HttpToolsProtocol):
    """The protocol of the server library, with limits on the head."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **named)
        application: object = self.app
        self._at_once: Asking | None = None
        if isinstance(application, ImmediateResponder):
            self._at_once = application.immediate_response
        self._certificate: tuple[str, ...] = ()
        self._held: list[bytes] | None = None
        self._in_head = True
        self._head_bytes = 0
        self._head_timer: TimerHandle | None = None
        self._write_timer: TimerHandle | None = None
        self._bounding = application if isinstance(application, Bounding) else None
        self._admission = Admission.FULL
        self._is_turned_away = False

    def connection_made(self, transport: Transport) -> None:  # type: ignore[override]  # as theirs
        super().connection_made(transport)
        certificate = transport.get_extra_info("peercert")
        if certificate:
            self._certificate = names_in(certificate)
        self._start_timer()
        if self._bounding is not None:
            address = self.client[0] if self.client else ""
            self._admission = self._bounding.connections.opened(self, address)
            if self._admission is Admission.REFUSED:
                self.end()

    def connection_lost(self, exc: Exception | None) -> None:
        self._stop_timer()
        self._stop_write_timer()
        if self._bounding is not None:
            self._bounding.connections.closed(self)
        super().connection_lost(exc)

    def end(self) -> None:
        """Closes the connection now, without sending the rest."""
        self.transport.abort()

    def data_received(self, data: bytes) -> None:
        if self._is_turned_away or self.transport.is_closing():
            return
        if self._in_head and not self._head_bytes and data.startswith(_GOODBYE):
            self.transport.write(_GOODBYE_REPLY)
            self.transport.close()
            return
        if self._in_head:
            self._head_bytes += len(data)
        super().data_received(data)
        if self._held is not None:
            self._release()
        if self._in_head and self._head_bytes and not self.transport.is_closing():
            if self._head_bytes > MAX_HEAD_BYTES:
                self.transport.write(_TOO_LARGE)
                self.transport.close()
            elif self._head_timer is None:
                self._start_timer()

    def _unsupported_upgrade_warning(self) -> None:
        """Logs nothing: an upgrade is never taken up, and the request is answered without it."""

    def on_message_begin(self) -> None:
        super().on_message_begin()
        if self._certificate:
            self.scope["extensions"] = {CERTIFICATE: self._certificate}  # type: ignore[dict-item]

    def on_headers_complete(self) -> None:
        self._in_head = False
        self._stop_timer()
        self._set_host()
        if self._admission is Admission.RESERVE and not self._is_reserved_path():
            self._is_turned_away = True
            self.transport.write(_BUSY)
            self.transport.close()
        elif self._may_hold():
            self._held = []
        else:
            self._begin()

    def _set_host(self) -> None:
        """Sets `Host` from an absolute request target, which takes precedence.

        An absolute target names the host, and overrides the header (RFC 9112, 3.2.2). HTTP/1.1
        without the header gets an empty one, which is refused (3.2).
        """
        is_absolute = not self.url.startswith((b"/", b"*"))
        named = [value for name, value in self.headers if name == b"host"]
        if is_absolute and len(named) <= 1:
            host = _authority(self.url)
        elif not named and self.parser.get_http_version() == "1.1":
            host = b""
        else:
            return
        # The scope references this list, so change it in place.
        self.headers[:] = [pair for pair in self.headers if pair[0] != b"host"]
        self.headers.append((b"host", host))

    def _is_reserved_path(self) -> bool:
        path = self.url.partition(b"?")[0].decode("latin-1")
        return self._bounding is not None and path in self._bounding.reserve_paths

    def on_body(self, body: bytes) -> None:
        if self._is_turned_away:
            return
        if self._held is None:
            super().on_body(body)
        else:
            self._held.append(body)

    def on_message_complete(self) -> None:
        if self._is_turned_away:
            return
        self._in_head = True
        self._head_bytes = 0
        self._stop_timer()
        if self._held is not None and self._at_once is not None:
            if self._is_answered(b"".join(self._held), self._at_once):
                self._held = None
                return
            self._release()
        super().on_message_complete()

    def _begin(self) -> None:
        """Starts the regular path of a request, during which the connection is not idle."""
        if self._bounding is not None:
            self._bounding.connections.busy(self)
        super().on_headers_complete()

    def _may_hold(self) -> bool:
        """Whether the request can be held until the data just read is processed."""
        if self._at_once is None or self.expect_100_continue or self.parser.should_upgrade():
            return False
        # None before the first request on the regular path.
        before: object = self.cycle
        return before is None or self.cycle.response_complete

    def _release(self) -> None:
        """Sends the held request on the regular path."""
        bodies, self._held = self._held or [], None
        self._begin()
        for body in bodies:
            super().on_body(body)

    def _is_answered(self, body: bytes, at_once: Asking) -> bool:
        method = self.parser.get_method()
        if (
            method == b"HEAD"
            or self.flow.write_paused
            or self.parser.get_http_version() != "1.1"
            or not self.parser.should_keep_alive()
        ):
            return False
        peer = self.client[0] if self.client else ""
        answer = at_once(
            method.decode("ascii"), self.url, self.headers, body, peer, self._certificate
        )
        if answer is None:
            return False
        status, headers, content = answer
        parts = [STATUS_LINE[status]]
        for name, value in (*self.server_state.default_headers, *headers):
            parts += (name, b": ", value, b"\r\n")
        parts += (b"\r\n", content)
        self.transport.write(b"".join(parts))
        self.on_response_complete()
        return True

    def on_response_complete(self) -> None:
        super().on_response_complete()
        cycle: Any = self.cycle
        is_idle = cycle is None or cycle.response_complete
        if cycle is not None and is_idle and cycle.more_body and self._head_timer is None:
            # Answered before the whole body arrived: the rest gets no more time than a head.
            self._start_timer()
        if self._bounding is not None and is_idle and not self.pipeline:
            self._bounding.connections.idle(self)

    def pause_writing(self) -> None:
        super().pause_writing()
        self._start_write_timer()

    def resume_writing(self) -> None:
        self._stop_write_timer()
        super().resume_writing()

    def timeout_keep_alive_handler(self) -> None:
        # A regular close waits until everything is sent, which may never happen.
        if self.transport.get_write_buffer_size():
            self.end()
        else:
            super().timeout_keep_alive_handler()

    def _start_write_timer(self) -> None:
        size = self.transport.get_write_buffer_size()
        self._write_timer = self.loop.call_later(WRITE_SECONDS, self._check_write_progress, size)

    def _stop_write_timer(self) -> None:
        if self._write_timer is not None:
            self._write_timer.cancel()
            self._write_timer = None

    def _check_write_progress(self, before: int) -> None:
        if self.transport.get_write_buffer_size() >= before:
            self.end()
        else:
            self._start_write_timer()

    def _start_timer(self) -> None:
        self._head_timer = self.loop.call_later(HEAD_SECONDS, self._on_head_timeout)

    def _stop_timer(self) -> None:
        if self._head_timer is not None:
            self._head_timer.cancel()
            self._head_timer = None

    def _on_head_timeout(self) -> None:
        self._head_timer = None
        if not self.transport.is_closing():
            self.transport.close()


def _authority(url: bytes) -> bytes:
    """The host of an absolute target, with its port if present; empty without a host."""
    try:
        parsed = httptools.parse_url(url)
    except httptools.HttpParserInvalidURLError:
        return b""
    host = parsed.host or b""
    if b":" in host:
        host = b"[" + host + b"]"
    return b"%b:%d" % (host, parsed.port) if parsed.port else host
