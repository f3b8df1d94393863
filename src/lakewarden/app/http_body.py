"""Reads the body of a request within its limits of size and time."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, MutableMapping
from typing import Any

from lakewarden.http.exchange import Refused

Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]


class Disconnected(Exception):
    """The client disconnected."""


async def disconnected(receive: Receive) -> None:
    """Waits until the client disconnects, after the body was read."""
    while (await receive())["type"] != "http.disconnect":
        pass


async def read_body(
    receive: Receive, announced: bytes, limit_bytes: int, limit_seconds: float
) -> bytes:
    """The whole body; raises `Refused` 413 or 408, and `Disconnected`.

    `announced` is the `Content-Length` header as sent.
    """
    if announced.isdigit() and int(announced[:20]) > limit_bytes:
        raise _too_large(limit_bytes)
    try:
        async with asyncio.timeout(limit_seconds):
            message = await receive()
            if message["type"] != "http.request":
                raise Disconnected
            body = message.get("body", b"")
            if message.get("more_body", False):
                return await _rest(receive, body, limit_bytes)
    except TimeoutError:
        raise Refused(408, f"the body did not arrive within {limit_seconds:g} seconds") from None
    if len(body) > limit_bytes:
        raise _too_large(limit_bytes)
    return bytes(body)


async def _rest(receive: Receive, first: bytes, limit_bytes: int) -> bytes:
    chunks, size = [first], len(first)
    while True:
        if size > limit_bytes:
            raise _too_large(limit_bytes)
        message = await receive()
        if message["type"] != "http.request":
            raise Disconnected
        chunks.append(message.get("body", b""))
        size += len(chunks[-1])
        if not message.get("more_body", False):
            break
    if size > limit_bytes:
        raise _too_large(limit_bytes)
    return b"".join(chunks)


def _too_large(limit_bytes: int) -> Refused:
    return Refused(413, f"the body exceeds {limit_bytes} bytes")
