import base64

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakewarden.authn.header import Basic, Bearer, Nothing, Unreadable, read


def _basic(text: str | bytes) -> bytes:
    raw = text.encode() if isinstance(text, str) else text
    return b"Basic " + base64.b64encode(raw)


@pytest.mark.parametrize(
    ("values", "credentials"),
    [
        ([], Nothing()),
        ([b"Bearer lw_x"], Bearer("lw_x")),
        ([b"bearer  lw_x "], Bearer("lw_x")),
        ([_basic("ana:secret")], Basic("ana", "secret")),
        ([_basic("ana:")], Basic("ana", "")),
        ([_basic("ana:a:b")], Basic("ana", "a:b")),
        ([_basic("ánä:x")], Basic("ánä", "x")),
    ],
)
def test_what_can_be_read_is_read(values: list[bytes], credentials: object) -> None:
    assert read(values) == credentials


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"Bearer",
        b"Bearer a b",
        b"Bearer a,b",
        b"Bearer \xff",
        b"Bearer " + b"a" * 20_000,
        b"Basic",
        b"Basic %%%",
        b"Basic YW5h\n",
        _basic("ana"),
        _basic(":secret"),
        _basic(b"\xff:x"),
        _basic("a\nb:x"),
        _basic("a" * 300 + ":x"),
        b"Digest username=ana",
        b"ana",
    ],
)
def test_what_cannot_be_read_is_not_nothing(value: bytes) -> None:
    found = read([value])
    assert isinstance(found, Unreadable)
    assert not found.doubled


def test_two_headers_are_refused_even_when_they_agree() -> None:
    assert read([b"Bearer a", b"Bearer a"]) == Unreadable(
        "more than one Authorization header", doubled=True
    )


@given(st.lists(st.binary(max_size=40), max_size=2))
def test_no_bytes_make_it_fail(values: list[bytes]) -> None:
    read(values)
