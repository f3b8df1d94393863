"""The `Authorization` header: at most one, parsed strictly.

Scheme names are compared case-insensitively, as in HTTP; everything else byte for byte. An invalid
header is `Unreadable`, which is not the same as no header.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass

from lakewarden.kernel.errors import BadInput
from lakewarden.names.canonical import MAX_USER_CHARACTERS, check_text

MAX_BEARER_CHARACTERS = 16_384
"""A longer bearer token is refused unread."""


@dataclass(frozen=True, slots=True)
class Nothing:
    """No header."""


@dataclass(frozen=True, slots=True)
class Basic:
    """A user name; the authenticator ignores the password if it trusts the name."""

    user: str
    password: str


@dataclass(frozen=True, slots=True)
class Bearer:
    """A token, as it was sent."""

    text: str


@dataclass(frozen=True, slots=True)
class EngineToken:
    """A token on a path for engines; in the query only tokens for engines are accepted."""

    text: str
    in_query: bool = False


@dataclass(frozen=True, slots=True)
class Session:
    """The cookie of a session, as it was sent."""

    text: str


@dataclass(frozen=True, slots=True)
class ProxyUser:
    """A user whom a trusted proxy names and has authenticated."""

    user: str


@dataclass(frozen=True, slots=True)
class Certified:
    """A user who is authenticated by the client certificate."""

    user: str


@dataclass(frozen=True, slots=True)
class Local:
    """The user whom the settings name for engines on this machine, which send no credentials."""

    user: str


@dataclass(frozen=True, slots=True)
class Unreadable:
    """An unusable header, and why; `doubled`: there are several; `basic`: its scheme is Basic."""

    why: str
    doubled: bool = False
    basic: bool = False


Credentials = (
    Nothing | Basic | Bearer | EngineToken | Session | ProxyUser | Certified | Local | Unreadable
)

_NOTHING = Nothing()


def read(values: Sequence[bytes]) -> Credentials:
    """The credentials of all `Authorization` headers of a request.

    >>> read([b"Bearer lw_x"])
    Bearer(text='lw_x')
    >>> read([b"Bearer a", b"Bearer a"]).doubled
    True
    """
    if not values:
        return _NOTHING
    if len(values) > 1:
        return Unreadable("more than one Authorization header", doubled=True)
    scheme, _, credentials = values[0].strip().partition(b" ")
    match scheme.lower():
        case b"bearer":
            return _bearer(credentials.strip())
        case b"basic":
            return _basic(credentials.strip())
        case _:
            return Unreadable("expected the scheme `Bearer` or `Basic`")


def _bearer(raw: bytes) -> Credentials:
    if not raw or len(raw) > MAX_BEARER_CHARACTERS or not _TOKEN.issuperset(raw):
        return Unreadable("the bearer token is malformed")
    return Bearer(raw.decode("ascii"))


_TOKEN = frozenset(b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~+/=")


def _basic(raw: bytes) -> Credentials:
    try:
        text = base64.b64decode(raw, validate=True).decode("utf-8")
    except (binascii.Error, UnicodeDecodeError):
        return Unreadable("the Basic credentials cannot be decoded", basic=True)
    user, colon, password = text.partition(":")
    if not colon:
        return Unreadable("the Basic credentials have no `:`", basic=True)
    try:
        check_text(user, "the user name")
    except BadInput as error:
        return Unreadable(str(error), basic=True)
    if len(user) > MAX_USER_CHARACTERS:
        return Unreadable("the user name is too long", basic=True)
    return Basic(user, password)
