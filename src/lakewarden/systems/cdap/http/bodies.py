"""Request bodies into values, values into replies: what every endpoint of CDAP shares.

A request body is a `msgspec.Struct`; `read` makes one of it. Unknown members are ignored, a
wrong type is a 400. Whatever the content type says, a body is JSON where JSON is expected.
Replies leave out what is null.

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
"""What JSON is also sent as: the original's client says nothing, so that Java calls a POST a form
and a PUT nothing at all; `curl -d` calls both a form. Nobody means text or a multipart form.
SOURCE: cdap-common-http, README ("a simple wrapper around HttpURLConnection")."""

ANY_TYPE: Final = ("*/*",)
"""Content types of routes whose body is a file, text or an event."""


class Body(msgspec.Struct):
    """What request bodies derive from; unknown members are ignored."""


def read(exchange: Exchange, type: type[T], *, longs: bool = False) -> T:
    """The request's body as a value of `type`; raises `Failure` 400, or `BadInput`.

    `longs`: with integers of 64 bits, where answers have them.
    """
    return convert(strict_json.read(exchange.body, longs=longs), type)


def read_optional(exchange: Exchange, type: type[T], *, longs: bool = False) -> T:
    """As `read`; a request without a body has an empty object."""
    return convert(strict_json.read(exchange.body or b"{}", longs=longs), type)


def convert(value: object, type: type[T], where: str = "body") -> T:
    """A JSON value as a value of `type`; raises `Failure` 400 that says where it does not fit."""
    try:
        return msgspec.convert(value, type)
    except msgspec.ValidationError as error:
        text = str(error)
        raise bad(f"{where}: {text[:1].lower()}{text[1:]}") from None


def text_of(exchange: Exchange) -> str:
    """The body as text; raises `BadInput` for what is not UTF-8."""
    try:
        return exchange.body.decode("utf-8")
    except UnicodeDecodeError:
        raise BadInput("expected UTF-8", where="body") from None


def is_on(exchange: Exchange, parameter: str) -> bool:
    """Whether a query parameter says `true` (in any case)."""
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
    """The strings of a stored object, by name; none where there is no such object."""
    if not isinstance(value, Mapping):
        return {}
    return {str(key): str(text) for key, text in value.items()}
