"""The head of a request, read once and within its limits, before any lookup.

Refused: an address over 8 KiB, headers over 32 KiB in total, a deciding header that occurs twice, a
body that is compressed or of a content type that its route does not accept.
Source: security reference, R-31, R-53, 5.6.
"""

from __future__ import annotations

import itertools
import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final
from urllib.parse import parse_qsl

from lakewarden.http.exchange import JSON, Refused, Route
from lakewarden.kernel.errors import BadInput
from lakewarden.registry import registry

REQUEST_ID: Final = "x-request-id"
REQUEST_ID_BYTES: Final = REQUEST_ID.encode()

MAX_QUERY_FIELDS: Final = 200

_COUNTER = itertools.count(1)
_OVERHEAD = 4  # `: ` and the end of the line
_MAX_REQUEST_ID = 128
_REQUEST_ID = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_.:/+=")

Pair = tuple[bytes, bytes]
"""A header: its name in lower case, and its value."""

OF_ONE = frozenset({b"content-length", b"x-request-id", b"traceparent", b"tracestate"})
"""Headers that differ between otherwise equal requests; handlers do not see them."""

_ONCE = frozenset(
    {
        b"content-type",
        b"content-encoding",
        b"host",
        b"lakewarden-at-least",
        b"lakewarden-consistency",
        *(
            name.encode()
            for system in registry().systems.values()
            for name in system.single_headers
        ),
    }
)
"""Headers that affect the decision: two of one name would be ambiguous."""


@dataclass(frozen=True, slots=True)
class Head:
    """Headers by lower-case name, all `Authorization` headers separately, and the size in bytes."""

    headers: Mapping[str, str]
    authorization: Sequence[bytes]
    size: int


def parted(raw: Iterable[Pair]) -> tuple[dict[bytes, bytes], list[Pair]]:
    """The headers of this request alone, and those that others may share; raises `Refused`.

    >>> parted([(b"host", b"h"), (b"x-request-id", b"1")])
    ({b'x-request-id': b'1'}, [(b'host', b'h')])
    """
    own: dict[bytes, bytes] = {}
    shared = []
    for pair in raw:
        name = pair[0]
        if name not in OF_ONE:
            shared.append(pair)
        elif name in own:
            raise Refused(400, f"the header `{name.decode()}` occurs twice")
        else:
            own[name] = pair[1]
    return own, shared


def read(raw: Sequence[Pair], limit_bytes: int) -> Head:
    """The shared headers of a request; raises `Refused`."""
    size = size_of(raw)
    check_size(size, limit_bytes)
    headers: dict[str, str] = {}
    several: dict[str, list[str]] = {}
    authorization: list[bytes] = []
    for name, value in raw:
        if name == b"authorization":
            authorization.append(value)
            continue
        key = name.decode("latin-1")
        if key not in headers:
            headers[key] = value.decode("latin-1")
        elif name in _ONCE:
            raise Refused(400, f"the header `{key}` occurs twice")
        else:
            several.setdefault(key, [headers[key]]).append(value.decode("latin-1"))
    for key, values in several.items():
        headers[key] = ", ".join(values)
    return Head(headers, authorization, size)


def size_of(raw: Iterable[Pair]) -> int:
    """The bytes of the headers on the wire."""
    return sum(len(name) + len(value) + _OVERHEAD for name, value in raw)


def check_size(size: int, limit_bytes: int) -> None:
    """Refuses headers that are too large in total."""
    if size > limit_bytes:
        raise Refused(431, f"the headers exceed {limit_bytes} bytes")


def request_id(received: bytes | None) -> str:
    """The request id from the caller if it is valid, else a new one.

    >>> request_id(b"a-1"), len(request_id(b"no way"))
    ('a-1', 24)
    """
    if received and len(received) <= _MAX_REQUEST_ID and _REQUEST_ID.issuperset(received):
        return received.decode("ascii")
    return f"{_process()}{next(_COUNTER):08x}"


@cache
def _process() -> str:
    """The unique prefix of the request ids of this process."""
    return secrets.token_hex(8)


def check_address(raw_path: bytes, query: bytes, limit_bytes: int) -> None:
    """Refuses an address that is too long."""
    if len(raw_path) + len(query) + 1 > limit_bytes:
        raise Refused(414, f"the address exceeds {limit_bytes} bytes")


def query_of(raw: bytes) -> Mapping[str, tuple[str, ...]]:
    """The fields of the query, each decoded once; raises `BadInput`."""
    if not raw:
        return {}
    try:
        pairs = parse_qsl(
            raw.decode("ascii"),
            keep_blank_values=True,
            errors="strict",
            max_num_fields=MAX_QUERY_FIELDS,
        )
    except UnicodeDecodeError:
        raise BadInput("not UTF-8", where="query") from None
    except ValueError:
        raise BadInput(f"more than {MAX_QUERY_FIELDS} fields", where="query") from None
    parameters: dict[str, list[str]] = {}
    for name, value in pairs:
        if "\0" in name or "\0" in value:
            raise BadInput("an encoded control character is not allowed", where="query")
        parameters.setdefault(name, []).append(value)
    return {name: tuple(values) for name, values in parameters.items()}


def is_accepted(headers: Mapping[str, str], route: Route) -> bool:
    """Whether the route accepts the content type of a body."""
    if "*/*" in route.accepts:
        return True
    content_type = headers.get("content-type", "").partition(";")[0].strip().lower()
    is_json = content_type == JSON or (
        content_type.startswith("application/") and content_type.endswith("+json")
    )
    return is_json or content_type in route.accepts


def check_encoding(headers: Mapping[str, str]) -> None:
    """Refuses a compressed body."""
    if headers.get("content-encoding", "identity").strip().lower() != "identity":
        raise Refused(415, "compressed bodies are not supported")
