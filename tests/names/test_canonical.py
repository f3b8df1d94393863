"""Characters of names and segments of paths, accepted and refused."""

from __future__ import annotations

from urllib.parse import quote

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakewarden.kernel.errors import BadInput
from lakewarden.names.canonical import (
    MAX_NAME_BYTES,
    MAX_USER_CHARACTERS,
    check_identifier,
    check_text,
    check_user_name,
    escaped,
    lower_word,
    quoted,
    split_path,
)


def test_quoted_text_is_one_short_line_in_backticks() -> None:
    assert quoted("plain") == "`plain`"
    assert quoted("a\r\n\u2028\ud800\x00") == "`a\\r\\n\\u2028\\ud800\\x00`"
    assert len(quoted("x" * 10_000)) < 100


def test_escaping_leaves_readable_text_alone() -> None:
    assert escaped("héllo wörld") == "héllo wörld"
    assert escaped("a\x1b[31m") == "a\\x1b[31m"


def test_type_words_fold_in_ascii_only() -> None:
    assert lower_word("JOB_TEMPLATE") == "job_template"
    kelvin = "\u212a"
    assert kelvin.lower() == "k"
    assert lower_word(f"METALA{kelvin}E") == f"METALA{kelvin}E"


@pytest.mark.parametrize(
    "text", ["a", "Business Critical", "é", "名前", "\u00a0", "a\u200db", "%", "*"]
)
def test_any_readable_name_that_exists_can_be_read(text: str) -> None:
    check_text(text)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the name is empty"),
        ("a\x00", "the name holds the control character `\\x00`"),
        ("a\nb", "the name holds the control character `\\n`"),
        ("\x85", "the name holds the control character `\\x85`"),
        ("a\u2028", "the name holds the control character `\\u2028`"),
        ("\udc80", "the name holds the control character `\\udc80`"),
        ("x" * (MAX_NAME_BYTES + 1), "the name has 2049 bytes, at most 2048 are allowed"),
        ("é" * MAX_NAME_BYTES, "the name has 4096 bytes, at most 2048 are allowed"),
    ],
)
def test_text_that_no_engine_stores_is_refused(text: str, message: str) -> None:
    with pytest.raises(BadInput) as refusal:
        check_text(text)
    assert str(refusal.value) == message


def test_the_longest_name_is_counted_in_bytes() -> None:
    check_text("x" * MAX_NAME_BYTES)
    check_text("é" * (MAX_NAME_BYTES // 2))


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("", "the role name is empty"),
        ("a\tb", "the role name holds the control character `\\t`"),
        ("x" * 65, "the role name has 65 characters, at most 64 are allowed"),
        ("e\u0301", "the role name `e\u0301` is not in Unicode normal form NFC"),
        ("a\u200bb", "the role name holds the invisible character U+200B"),
        ("a\u202eb", "the role name holds the invisible character U+202E"),
        ("a\u2066b", "the role name holds the invisible character U+2066"),
        ("\ufeffa", "the role name holds the invisible character U+FEFF"),
        ("a\u00a0b", "the role name holds the invisible character U+00A0"),
        ("a\u3164b", "the role name holds the invisible character U+3164"),
        ("a\ufe0f", "the role name holds the invisible character U+FE0F"),
        ("a\u034fb", "the role name holds the invisible character U+034F"),
        (" a", "the role name ` a` begins or ends with a space"),
        ("a ", "the role name `a ` begins or ends with a space"),
    ],
)
def test_new_names_are_refused_for_what_a_reader_cannot_see(name: str, message: str) -> None:
    with pytest.raises(BadInput) as refusal:
        check_identifier(name, label="the role name", limit=64)
    assert str(refusal.value) == message


# The first and the last of each run of characters that Python calls printable but are invisible.
INVISIBLE = [
    (0x034F, 0x034F),
    (0x115F, 0x1160),
    (0x17B4, 0x17B5),
    (0x180B, 0x180F),
    (0x2800, 0x2800),
    (0x3164, 0x3164),
    (0xFE00, 0xFE0F),
    (0xFFA0, 0xFFA0),
    (0xE0100, 0xE01EF),
]


@pytest.mark.parametrize(("first", "last"), INVISIBLE)
def test_fillers_joiners_and_variation_selectors_count_as_invisible(first: int, last: int) -> None:
    for code in (first, last):
        with pytest.raises(BadInput, match="invisible character"):
            check_identifier(f"a{chr(code)}b", label="the name", limit=64)
    for code in (first - 1, last + 1):
        if chr(code).isprintable():
            check_identifier(f"a{chr(code)}b", label="the name", limit=64)


def test_a_new_name_may_be_in_any_script_and_hold_spaces_inside() -> None:
    check_identifier("Zoë 山田", label="the name", limit=64)
    check_identifier("x" * 64, label="the name", limit=64)


@pytest.mark.parametrize(
    "name",
    [
        *(
            "ana",
            "ana@corp.test",
            "ana.b-c+d",
            "O\u2019Hara",
            "山田 太郎",
            "x" * MAX_USER_CHARACTERS,
        ),
        *("/eng/data", "DOM\\user", "O'Hara", 'a"b', "a;b", "50%", "%2e%2e", "..a", "...", "a/.."),
    ],
)
def test_user_names_may_be_any_readable_text(name: str) -> None:
    check_user_name(name)


@pytest.mark.parametrize("name", [".", ".."])
def test_what_no_path_can_name_is_nobody(name: str) -> None:
    with pytest.raises(BadInput) as refusal:
        check_user_name(name)
    assert str(refusal.value) == f"the user name cannot be `{name}`"


def test_user_names_end_at_256_characters() -> None:
    with pytest.raises(BadInput):
        check_user_name("x" * (MAX_USER_CHARACTERS + 1))


@pytest.mark.parametrize(
    ("raw", "segments"),
    [
        ("/", ()),
        ("/a", ("a",)),
        ("/a/", ("a",)),
        ("/a/b%20c/d+e", ("a", "b c", "d+e")),
        (b"/a/b", ("a", "b")),
        ("/caf%C3%A9", ("café",)),
        ("/caf%c3%a9", ("café",)),
        ("/café", ("café",)),
        ("/a%252Fb", ("a%2Fb",)),
        ("/a..b/...", ("a..b", "...")),
        ("/%3B%3F%23", (";?#",)),
        ("/lk:c.s", ("lk:c.s",)),
    ],
)
def test_paths_are_split_before_each_segment_is_decoded_once(
    raw: str | bytes, segments: tuple[str, ...]
) -> None:
    assert split_path(raw) == segments


@pytest.mark.parametrize(
    ("raw", "message"),
    [
        ("", "path: expected a `/` at the beginning"),
        ("a/b", "path: expected a `/` at the beginning"),
        ("http://h/a", "path: expected a `/` at the beginning"),
        ("//", "path: `//` is not allowed"),
        ("/a//b", "path: `//` is not allowed"),
        ("/a//", "path: `//` is not allowed"),
        ("/a;v=1/b", "path: `;` is not allowed"),
        ("/a\\b", "path: `\\` is not allowed"),
        ("/a?b", "path: `?` is not allowed"),
        ("/a#b", "path: `#` is not allowed"),
        ("/a/./b", "path: `.` is not allowed"),
        ("/a/../b", "path: `..` is not allowed"),
        ("/a/..", "path: `..` is not allowed"),
        ("/%2e%2E/b", "path: `..` is not allowed"),
        ("/a%2Fb", "path: an encoded slash or backslash is not allowed"),
        ("/a%2fb", "path: an encoded slash or backslash is not allowed"),
        ("/a%5Cb", "path: an encoded slash or backslash is not allowed"),
        ("/a%00", "path: an encoded control character is not allowed"),
        ("/a%0d%0ab", "path: an encoded control character is not allowed"),
        ("/a\x00", "path: an encoded control character is not allowed"),
        ("/a%", "path: `%` without two hexadecimal digits"),
        ("/a%4", "path: `%` without two hexadecimal digits"),
        ("/a%zz", "path: `%` without two hexadecimal digits"),
        ("/a%+1", "path: `%` without two hexadecimal digits"),
        ("/a% 1", "path: `%` without two hexadecimal digits"),
        ("/a%u0041", "path: `%` without two hexadecimal digits"),
        ("/%ff", "path: not UTF-8"),
        ("/%c0%af", "path: not UTF-8"),
        ("/%ed%a0%80", "path: not UTF-8"),
        (b"/\xff", "path: not UTF-8"),
        ("/\ud800", "path: not UTF-8"),
    ],
)
def test_paths_that_two_readers_could_read_differently_are_refused(
    raw: str | bytes, message: str
) -> None:
    with pytest.raises(BadInput) as refusal:
        split_path(raw)
    assert str(refusal.value) == message


def test_a_route_may_declare_names_with_slashes_and_still_splits_nothing_at_them() -> None:
    assert split_path("/e/urn%3Ali%3Ax%3As3%2Fb%5Cc", encoded_slash=True) == (
        "e",
        "urn:li:x:s3/b\\c",
    )
    with pytest.raises(BadInput):
        split_path("/e/%2e%2e", encoded_slash=True)
    with pytest.raises(BadInput):
        split_path("/e/a\\b", encoded_slash=True)


READABLE = st.text(
    st.characters(exclude_categories=("Cs", "Cc", "Zl", "Zp")), min_size=1, max_size=20
).filter(lambda text: text not in (".", ".."))


@given(st.lists(READABLE, max_size=5))
def test_encoded_segments_come_back_as_they_were(segments: list[str]) -> None:
    raw = "/" + "/".join(quote(segment, safe="") for segment in segments)
    assert split_path(raw, encoded_slash=True) == tuple(segments)


@given(st.binary(max_size=40) | st.text(max_size=40))
def test_any_path_is_split_or_refused(raw: bytes | str) -> None:
    for path in (raw, b"/" + raw if isinstance(raw, bytes) else "/" + raw):
        outcome = split_or_refusal(path)
        if isinstance(outcome, BadInput):
            assert str(outcome).isprintable()
        else:
            assert not any("/" in segment or segment in ("", "..") for segment in outcome)


def split_or_refusal(path: bytes | str) -> tuple[str, ...] | BadInput:
    try:
        return split_path(path)
    except BadInput as refusal:
        return refusal
