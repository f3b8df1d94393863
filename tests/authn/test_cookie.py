"""The session cookie: parsed strictly, and accepted only from our own pages and programs."""

from __future__ import annotations

import pytest

from lakewarden.authn.cookie import MAX_CHARACTERS, read
from lakewarden.authn.header import Nothing, Session, Unreadable

URL = "https://hub.test"
COOKIE = {"cookie": "PLAY_SESSION=lw_abc", "host": "inner:8787"}


@pytest.mark.parametrize(
    ("cookie", "found"),
    [
        ("", Nothing()),
        ("actor=urn:li:corpuser:ana", Nothing()),
        ("MY_PLAY_SESSION=x; play_session=y", Nothing()),
        ("PLAY_SESSION=lw_abc", Session("lw_abc")),
        ('a=b; PLAY_SESSION="lw_abc"; c=d', Session("lw_abc")),
        ("a=b, PLAY_SESSION=lw_abc", Session("lw_abc")),
    ],
)
def test_our_cookie_is_found_among_others(cookie: str, found: object) -> None:
    assert read({"cookie": cookie}, URL) == found


@pytest.mark.parametrize(
    "cookie",
    [
        "PLAY_SESSION=",
        "PLAY_SESSION=a b",
        "PLAY_SESSION=ä",
        "PLAY_SESSION=a.b",
        "PLAY_SESSION=" + "x" * (MAX_CHARACTERS + 1),
        "PLAY_SESSION=a; PLAY_SESSION=a",
        "PLAY_SESSION=a, PLAY_SESSION=b",
    ],
)
def test_what_cannot_be_a_session_is_not_taken_for_nothing(cookie: str) -> None:
    assert isinstance(read({"cookie": cookie}, URL), Unreadable)


@pytest.mark.parametrize(
    "said",
    [
        {"origin": "https://hub.test"},
        {"origin": "http://inner:8787"},
        {"sec-fetch-site": "same-origin"},
        {"sec-fetch-site": "none"},
        {},
    ],
)
def test_our_own_pages_and_programs_are_believed(said: dict[str, str]) -> None:
    assert read({**COOKIE, **said}, URL) == Session("lw_abc")


@pytest.mark.parametrize(
    "said",
    [
        {"origin": "https://evil.test"},
        {"origin": "https://hub.test.evil.test"},
        {"origin": "http://hub.test"},
        {"origin": "null"},
        {"origin": ""},
        {"origin": "file://inner:8787"},
        {"sec-fetch-site": "cross-site"},
        {"sec-fetch-site": "same-site"},
        {"origin": "https://hub.test", "sec-fetch-site": "cross-site"},
    ],
)
def test_foreign_pages_are_not(said: dict[str, str]) -> None:
    assert isinstance(read({**COOKIE, **said}, URL), Unreadable)
