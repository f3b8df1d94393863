import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakewarden.http.strict_json import LONG, MAX_DEPTH, MAX_INTEGER, read, read_object
from lakewarden.kernel.errors import BadInput


def _nested(levels: int) -> bytes:
    return b'{"a":' + b"[" * (levels - 1) + b"]" * (levels - 1) + b"}"


@pytest.mark.parametrize(
    "body",
    [
        pytest.param(b'{"a": 1, "a": 1}', id="a member twice"),
        pytest.param(b'{"a": 1, "\\u0061": 2}', id="a member twice, once escaped"),
        pytest.param(b'{"x": {"a": 1, "b": 2, "a": 3}}', id="a member twice further in"),
        pytest.param(b'{"a": NaN}', id="NaN"),
        pytest.param(b'{"a": Infinity}', id="infinity"),
        pytest.param(b'{"a": -Infinity}', id="minus infinity"),
        pytest.param(b'{"a": 1e999}', id="a number that becomes infinite"),
        pytest.param(b'{"a": "\\ud800"}', id="an unpaired surrogate"),
        pytest.param(b'{"\\udc00": 1}', id="an unpaired surrogate in a name"),
        pytest.param(b'{"a": "\xed\xa0\x80"}', id="a surrogate in UTF-8"),
        pytest.param(b'{"a": "\xff"}', id="not UTF-8"),
        pytest.param(b"\xef\xbb\xbf{}", id="a byte order mark"),
        pytest.param('{"a": 1}'.encode("utf-16"), id="UTF-16"),
        pytest.param('{"a": 1}'.encode("utf-16-le"), id="UTF-16 without a mark"),
        pytest.param('{"a": 1}'.encode("utf-32"), id="UTF-32"),
        pytest.param(b'{"a": 9007199254740993}', id="an integer beyond 2^53"),
        pytest.param(b'{"a": -9007199254740993}', id="an integer below -2^53"),
        pytest.param(b'{"a": ' + b"9" * 5_000 + b"}", id="an integer of 5000 digits"),
        pytest.param(b"{} {}", id="two values"),
        pytest.param(b"{}x", id="text behind"),
        pytest.param(b"{}\0", id="NUL behind"),
        pytest.param(_nested(MAX_DEPTH + 1), id="too deep"),
        pytest.param(b"[" * 100_000, id="much too deep"),
        pytest.param(b'{"a":' * 50_000, id="much too deep in objects"),
        pytest.param(b"", id="nothing"),
        pytest.param(b"[]", id="an array"),
        pytest.param(b'"a"', id="a text"),
        pytest.param(b"null", id="null"),
        pytest.param(b"{'a': 1}", id="single quotes"),
        pytest.param(b'{"a": 1,}', id="a comma too many"),
        pytest.param(b'{"a": 01}', id="a leading zero"),
        pytest.param(b'{"a": "\x01"}', id="a control character"),
        pytest.param(b'{"a": 1 /* b */}', id="a comment"),
    ],
)
def test_what_two_readers_could_understand_differently_is_refused(body: bytes) -> None:
    with pytest.raises(BadInput):
        read_object(body)


def test_what_is_at_a_limit_is_read() -> None:
    assert read_object(_nested(MAX_DEPTH))
    assert read_object(b'{"a": %d}' % MAX_INTEGER) == {"a": MAX_INTEGER}
    assert read_object(b'{"a": -%d}' % MAX_INTEGER) == {"a": -MAX_INTEGER}


def test_integers_of_64_bits_are_read_where_answers_have_them() -> None:
    for integer in (LONG, -LONG):
        assert read(b"[%d]" % integer, longs=True) == [integer]
        for beyond in (b"[%d]" % integer, b"[%d0]" % integer):
            with pytest.raises(BadInput):
                read(beyond, longs=beyond.endswith(b"0]"))


def test_many_brackets_side_by_side_are_not_deep() -> None:
    assert read_object(b'{"a": [' + b"{}," * 999 + b"{}]}") == {"a": [{}] * 1_000}


def test_brackets_inside_text_are_not_deep() -> None:
    assert read_object(b'{"a": "' + b"[" * 200 + b'"}') == {"a": "[" * 200}


def test_a_whole_surrogate_pair_is_text() -> None:
    assert read_object(b'{"a": "\\ud83d\\ude00"}') == {"a": "\N{GRINNING FACE}"}


def test_the_message_names_the_member_and_the_place() -> None:
    with pytest.raises(BadInput, match=r"^body: the member `a` occurs twice$"):
        read_object(b'{"a": 1, "a": 2}')
    with pytest.raises(BadInput, match=r"^body: line 2, column 1: "):
        read_object(b'{"a":\n}')


_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-MAX_INTEGER, MAX_INTEGER)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: (
        st.lists(inner) | st.dictionaries(st.text(st.characters(exclude_categories=["Cs"])), inner)
    ),
    max_leaves=20,
)


@given(_VALUES, st.booleans())
def test_every_other_value_is_read_as_it_was_written(value: object, ascii_only: bool) -> None:
    assert read(json.dumps(value, ensure_ascii=ascii_only).encode()) == value


@given(st.binary(max_size=64))
def test_no_bytes_make_it_fail_otherwise(body: bytes) -> None:
    with suppress(BadInput):
        read(body)
