"""The session cookie, which counts only for requests that no foreign page can send.

A browser attaches cookies to any request that a page makes to us. In addition to the cookie's
`SameSite=Lax`, a request must therefore look like one from our own pages, or from a program: if it
states its origin (`Origin`, `Sec-Fetch-Site`), the origin must be this server. Routes with a
session accept only JSON bodies, which a foreign page cannot send without a preflight, and CORS is
off.

Source: security reference, R-55, R-57; `docs/decisions/0015`.
"""

from __future__ import annotations

from collections.abc import Mapping
from hmac import compare_digest
from typing import Final

from lakewarden.authn.header import Credentials, Nothing, Session, Unreadable
from lakewarden.authn.origin import is_same_origin
from lakewarden.service.session import COOKIE, PAGES_COOKIE, SECURE_PAGES_COOKIE, csrf_of

CSRF: Final = "lakewarden-csrf"
"""The header with a value that a foreign page cannot know."""

MAX_CHARACTERS: Final = 128

_TEXT: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")


def read(headers: Mapping[str, str], public_url: str) -> Credentials:
    """The credentials in the cookie of a request without an `Authorization` header.

    >>> read({"cookie": "actor=x; PLAY_SESSION=abc"}, "http://h")
    Session(text='abc')
    >>> read({"cookie": "PLAY_SESSION=abc", "origin": "http://evil", "host": "h"}, "http://h").why
    'a session is accepted only from pages of this server'
    """
    return _read(headers, public_url, (COOKIE,))


def read_pages(headers: Mapping[str, str], public_url: str) -> Credentials:
    """Like `read`, for the cookie of the pages."""
    return _read(headers, public_url, (SECURE_PAGES_COOKIE, PAGES_COOKIE))


def is_confirmed(headers: Mapping[str, str], credentials: Session) -> bool:
    """Whether the request has the CSRF token of its session."""
    return compare_digest(headers.get(CSRF, "").encode(), csrf_of(credentials.text).encode())


def _read(headers: Mapping[str, str], public_url: str, names: tuple[str, ...]) -> Credentials:
    values = _values(headers.get("cookie", ""), names)
    if not values:
        return Nothing()
    if len(values) > 1:
        return Unreadable("more than one session cookie", doubled=True)
    if not is_same_origin(headers, public_url):
        return Unreadable("a session is accepted only from pages of this server")
    text = values[0]
    if not text or len(text) > MAX_CHARACTERS or not _TEXT.issuperset(text):
        return Unreadable("the session is malformed")
    return Session(text)


def _values(cookie: str, names: tuple[str, ...]) -> list[str]:
    """The values of the session cookie, from all cookie headers."""
    pairs = (pair.partition("=") for part in cookie.split(", ") for pair in part.split(";"))
    return [value.strip().strip('"') for name, _, value in pairs if name.strip() in names]
