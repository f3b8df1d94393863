"""Request and response bodies: shared by all endpoints of Gravitino.

A request body is a `msgspec.Struct` (`rename="camel"`), parsed by `read`. Unknown members are
ignored; a wrong type or an unknown word is a 400 with code 1001. `ok` makes a reply: `{"code": 0,
…}`, without members that are None. Words that are Java enums are accepted in any case and returned
in lower case: `enum_word`.

    class Named(Body):
        name: str

    body = read(exchange, Named)
    return ok(names=["a", "b"])

SOURCE: gravitino reference 4.1 and 4.3.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from typing import TypeVar

import msgspec

from lakewarden.http.exchange import Exchange, Reply
from lakewarden.names.canonical import lower_word, quoted
from lakewarden.systems.gravitino.http.errors import illegal

T = TypeVar("T")

Json = dict[str, object]
"""A JSON object."""


class Body(msgspec.Struct, rename="camel"):
    """The base of request bodies: camel case members, unknown ones ignored."""


class Updates(Body):
    """The body of every PUT that alters an object: a list of `{"@type": …}` objects."""

    updates: list[Json]


class Switch(Body):
    """The body that enables or disables a metalake or a catalog."""

    in_use: bool


def read(exchange: Exchange, type: type[T]) -> T:
    """The request's body as a value of `type`; raises `Failure` 400, or `BadInput`."""
    return convert(exchange.json(), type)


def convert(value: object, type: type[T], where: str = "body") -> T:
    """Converts a JSON value to `type`; raises `Failure` 400 with the place that does not fit."""
    try:
        return msgspec.convert(value, type)
    except msgspec.ValidationError as error:
        text = str(error)
        raise illegal(f"{where}: {text[:1].lower()}{text[1:]}") from None


def enum_word(text: str, allowed: Collection[str], kind: str) -> str:
    """An enum word in lower case; raises `Failure` 400 for one that is not allowed.

    >>> enum_word("EXTERNAL", ("managed", "external"), "fileset type")
    'external'
    """
    lower = lower_word(text)
    if lower not in allowed:
        raise illegal(f"unknown {kind} {quoted(text)}; expected one of: {', '.join(allowed)}")
    return lower


def is_on(exchange: Exchange, parameter: str) -> bool:
    """Whether a query parameter is `true` (in any case); of several values the first counts."""
    return lower_word(exchange.one(parameter)) == "true"


def ok(**members: object) -> Reply:
    """A success: code 0 and the members that are not None."""
    body = {"code": 0, **{name: value for name, value in members.items() if value is not None}}
    return Reply(200, msgspec.json.encode(body))


def present(**members: object) -> Json:
    """The members that are not None, as a JSON object."""
    return {name: value for name, value in members.items() if value is not None}


def iso_time(seconds: float) -> str:
    """A timestamp in Gravitino's format: ISO 8601 in UTC.

    >>> iso_time(1_700_000_000.25)
    '2023-11-14T22:13:20.250Z'
    """
    moment = datetime.fromtimestamp(seconds, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def created(user: str, now: float) -> Json:
    """The `audit` of an object that `user` creates now."""
    return {"creator": user, "createTime": iso_time(now)}


def altered(audit: object, user: str, now: float) -> Json:
    """The `audit` of an object that `user` alters now; `audit` is the previous one."""
    before = audit if isinstance(audit, Mapping) else created("", 0)
    return {**before, "lastModifier": user, "lastModifiedTime": iso_time(now)}


def audit_of(document: Mapping[str, object]) -> object:
    """The `audit` of a stored object; without one (loaded in bulk), an empty creator."""
    return document.get("audit") or created("", 0)
