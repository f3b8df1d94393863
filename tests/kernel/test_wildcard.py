"""The wildcard matcher: its syntax, its agreement with the definition, and its cost."""

from __future__ import annotations

import sys
from types import FrameType
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lakewarden.kernel import wildcard
from lakewarden.kernel.wildcard import is_pattern, matches

MATCHING = [
    ("", ""),
    ("*", ""),
    ("*", "anything at all"),
    ("**", ""),
    ("orders", "orders"),
    ("sa*s", "sales"),
    ("sa*s", "sas"),
    ("ds?", "ds1"),
    ("???", "a.b"),
    ("*.orders", "sales.orders"),
    ("sales*", "sales"),
    ("*a*b*c*", "xxaxxbxxcxx"),
    ("a?*?b", "axyb"),
    ("*a?c*", "aacabc"),
    ("*ab?d*", "ababcdx"),
    ("*a?*b", "axb"),
    ("*a?*b*", "xxaxbxx"),
    ("*é?", "café!"),
    ("[a-z].+", "[a-z].+"),
    ("a*", "a*"),
    ("a?", "a?"),
]

NOT_MATCHING = [
    ("", "a"),
    ("?", ""),
    ("?", "ab"),
    ("orders", "Orders"),
    ("orders", "orders1"),
    ("sa*s", "sale"),
    ("sa*s", "s"),
    ("ds?", "ds"),
    ("ab*ba", "aba"),
    ("a?*?b", "axb"),
    ("*a*b*a*", "bab"),
    ("*a?c*", "ac"),
    ("*a?c*", "xbc"),
    ("*a?c*", "cxc"),
    ("*a?*xb*", "axb"),
    ("*?x*", "x"),
    ("a*b?", "ab"),
    ("?b*", "ax"),
    ("[a-z]", "a"),
    ("a.c", "abc"),
    ("a%", "ab"),
    ("a_", "ab"),
]


@pytest.mark.parametrize(("pattern", "text"), MATCHING)
def test_text_of_the_pattern_s_form_matches(pattern: str, text: str) -> None:
    assert matches(pattern, text)


@pytest.mark.parametrize(("pattern", "text"), NOT_MATCHING)
def test_any_other_text_does_not_match(pattern: str, text: str) -> None:
    assert not matches(pattern, text)


def test_only_star_and_question_mark_make_a_pattern() -> None:
    assert is_pattern("a*")
    assert is_pattern("?")
    assert not is_pattern("")
    assert not is_pattern("a.b[c]%_\\")


def by_definition(pattern: str, text: str) -> bool:
    """The meaning of wildcards, one case per line; exponential."""
    if not pattern:
        return not text
    if pattern[0] == "*":
        return by_definition(pattern[1:], text) or (text != "" and by_definition(pattern, text[1:]))
    return text != "" and pattern[0] in ("?", text[0]) and by_definition(pattern[1:], text[1:])


@given(st.text("ab*?", max_size=9), st.text("ab*?", max_size=12))
@example("*a?b*", "aaabb")
@example("*?a*?b", "ababab")
def test_matching_equals_its_definition(pattern: str, text: str) -> None:
    assert matches(pattern, text) == by_definition(pattern, text)


@given(st.text("abc*?", max_size=12), st.data())
def test_text_made_from_a_pattern_matches_it(pattern: str, data: st.DataObject) -> None:
    fillings = {"*": st.text("abc*?é", max_size=5), "?": st.sampled_from("abc*?é")}
    text = "".join(data.draw(fillings[c]) if c in fillings else c for c in pattern)
    assert matches(pattern, text)


def steps(pattern: str, text: str) -> int:
    """The number of executed lines of the matcher for one call, including inner loops."""
    count = 0

    def trace(frame: FrameType, event: str, _: object) -> Any:
        nonlocal count
        if frame.f_code.co_filename != wildcard.__file__:
            return None
        count += event == "line"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        matches(pattern, text)
    finally:
        sys.settrace(before)
    return count


def test_a_piece_with_a_question_mark_is_found_where_it_begins() -> None:
    # The rest of the text decides whether the next piece fits.
    assert matches("*a?c*c*", "xxabcc")
    assert not matches("*a?c*c*", "xxabc")
    assert matches("*?b*b?*", "xabbx")
    assert not matches("*?b*b?*", "xxab")
    assert not matches("x*??*c?*", "xabc")


def test_the_next_piece_begins_behind_the_one_before() -> None:
    assert not matches("*ab*b*", "xxab")
    assert matches("*ab*b*", "xxabb")


@pytest.mark.parametrize(
    "shape",
    ["*a*a*a*b", "*a*a*a*", "*?a*?a*?b", "*a?a?a?a?b*", "?" * 30 + "*b", "*" * 50 + "b"],
)
def test_steps_grow_with_the_text_and_not_faster(shape: str) -> None:
    once, twice = (steps(shape, "a" * size) for size in (1_000, 2_000))
    assert once <= 10 * (1_000 + len(shape))
    assert twice <= 2 * once + 100


def test_steps_grow_with_pattern_and_text_together_and_not_with_their_product() -> None:
    pattern = "*" + "a?" * 1_000 + "b*"
    assert steps(pattern, "a" * 2_000) <= 10 * (len(pattern) + 2_000)
