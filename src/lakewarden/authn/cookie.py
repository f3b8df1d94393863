"""The cookie of a session, which counts only for requests that no foreign page can have sent.

A browser sends cookies along with whatever a page asks of us, so beside the cookie's own
`SameSite=Lax` a request has to look like one of our own pages, or of a program: where it says
where it comes from (`Origin`, `Sec-Fetch-Site`), that is us. What takes a session takes JSON
bodies only, which a foreign page cannot send without asking first, and CORS is off.

Source: security reference, R-55, R-57; `docs/decisions/0015`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from lakewarden.authn.header import Credentials, Nothing, Session, Unreadable
from lakewarden.authn.origin import is_own
from lakewarden.service.session import COOKIE

MAX_CHARACTERS: Final = 128

_TEXT: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")


def read(headers: Mapping[str, str], public_url: str) -> Credentials:
    """What the cookie of a request without an `Authorization` header says.

    >>> read({"cookie": "actor=x; PLAY_SESSION=abc"}, "http://h")
    Session(text='abc')
    >>> read({"cookie": "PLAY_SESSION=abc", "origin": "http://evil", "host": "h"}, "http://h").why
    'a session is believed from our own pages only'
    """
    values = _values(headers.get("cookie", ""))
    if not values:
        return Nothing()
    if len(values) > 1:
        return Unreadable("more than one session", doubled=True)
    if not is_own(headers, public_url):
        return Unreadable("a session is believed from our own pages only")
    text = values[0]
    if not text or len(text) > MAX_CHARACTERS or not _TEXT.issuperset(text):
        return Unreadable("the session is malformed")
    return Session(text)


def _values(cookie: str) -> list[str]:
    """The values of our cookie; it may stand among others, in whichever header."""
    pairs = (pair.partition("=") for part in cookie.split(", ") for pair in part.split(";"))
    return [value.strip().strip('"') for name, _, value in pairs if name.strip() == COOKIE]
