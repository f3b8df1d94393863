"""Request and response bodies: shared by all endpoints of CDAP.

A request body is a `msgspec.Struct`, parsed by `read`. Unknown members are ignored, a wrong type is
a 400. If JSON is expected, the body is parsed as JSON regardless of the content type. Replies leave
out null members.

    class Named(Body):
        name: str

    body = read(exchange, Named)
    return ok({"name": body.name})

SOURCE: cdap reference 4.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, TypeVar

import msgspec

from lakewarden.http import strict_json
from lakewarden.http.exchange import Exchange, Reply
from lakewarden.kernel.errors import BadInput
from lakewarden.systems.cdap.http.errors import TEXT, bad

T = TypeVar("T")

Json = dict[str, object]
"""A JSON object."""

JSON_TYPES: Final = ("", "application/x-www-form-urlencoded")
"""Other content types under which JSON is sent: the original's client sets none, so Java calls a
POST a form and a PUT nothing at all; `curl -d` calls both a form. Text or a multipart form is never
meant. SOURCE: cdap-common-http, README ("a simple wrapper around HttpURLConnection")."""

ANY_TYPE: Final = ("*/*",)
"""Content types of routes whose body is a file, text or an event."""


class Body(msgspec.Struct):
    """The base of request bodies; unknown members are ignored."""


def read(exchange: Exchange, type: type[T], *, longs: bool = False) -> T:
    """The request's body as a value of `type`; raises `Failure` 400, or `BadInput`.

    `longs`: with 64-bit integers where responses have them.
    """
    return convert(strict_json.read(exchange.body, longs=longs), type)


def read_optional(exchange: Exchange, type: type[T], *, longs: bool = False) -> T:
    """As `read`; a missing body counts as an empty object."""
    return convert(strict_json.read(exchange.body or b"{}", longs=longs), type)


def convert(value: object, type: type[T], where: str = "body") -> T:
    """Converts a JSON value to `type`; raises `Failure` 400 with the place that does not fit."""
    try:
        return msgspec.convert(value, type)
    except msgspec.ValidationError as error:
        text = str(error)
        raise bad(f"{where}: {text[:1].lower()}{text[1:]}") from None


def text_of(exchange: Exchange) -> str:
    """The body as text; raises `BadInput` if it is not UTF-8."""
    try:
        return exchange.body.decode("utf-8")
    except UnicodeDecodeError:
        raise BadInput("expected UTF-8", where="body") from None


def is_on(exchange: Exchange, parameter: str) -> bool:
    """Whether a query parameter is `true` (in any case)."""
    return exchange.one(parameter).lower() == "true"


def ok(value: object) -> Reply:
    """200 and a JSON value."""
    return Reply(200, msgspec.json.encode(value))


def empty_reply() -> Reply:
    """200 without a body."""
    return Reply(200, b"", TEXT)


def text_reply(text: str) -> Reply:
    """200 and a text."""
    return Reply(200, text.encode(), TEXT)


def present(**members: object) -> Json:
    """The members that are not None, as a JSON object."""
    return {name: value for name, value in members.items() if value is not None}


def texts(value: object) -> dict[str, str]:
    """The strings of a stored object, by name; none if there is no such object."""
    if not isinstance(value, Mapping):
        return {}
    return {str(key): str(text) for key, text in value.items()}
