"""Search terms: the words by which texts are found, in every engine."""

from __future__ import annotations

import pytest

from lakewarden.kernel.errors import BadInput
from lakewarden.service.search_terms import (
    LONGEST,
    MOST,
    Kind,
    SearchQuery,
    Term,
    check_search,
    name_term,
    parse_query,
    value_term,
    words,
)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("shop.daily_orders", ["shop", "daily", "orders"]),
        ("Größe ÉTÉ", ["grösse", "été"]),
        ("a-b/c:d(e)", ["a", "b", "c", "d", "e"]),
        ("\uff12nd \ufb01le", ["2nd", "file"]),
        ("表 one", ["表", "one"]),
        ("... __ --", []),
        ("", []),
    ],
)
def test_a_word_is_a_run_of_letters_and_digits_without_case(text: str, found: list[str]) -> None:
    assert words(text) == found


def test_a_word_counts_by_its_beginning() -> None:
    assert words("x" * 1000) == ["x" * LONGEST]
    assert words(f"{'é' * 1000} b") == ["é" * LONGEST, "b"]


@pytest.mark.parametrize("query", ["", "*", " * ", "**"])
def test_a_star_asks_for_everything(query: str) -> None:
    assert parse_query(query) is None


def test_the_last_word_may_go_on_and_so_may_starred_ones() -> None:
    assert parse_query("daily ord") == SearchQuery(("daily",), ("ord",))
    assert parse_query("da* orders") == SearchQuery((), ("da", "orders"))
    assert parse_query("shop.daily") == SearchQuery(("shop",), ("daily",))
    assert parse_query('"daily orders"') == SearchQuery(("daily",), ("orders",))
    assert parse_query("a a") == SearchQuery((), ("a",))


def test_a_query_without_words_asks_for_nothing() -> None:
    assert parse_query("???") == SearchQuery((), ())


def test_every_word_must_be_there_as_one_of_the_kinds() -> None:
    clauses = SearchQuery(("daily",), ("ord",)).clauses(Kind.NAME, Kind.TEXT)
    assert clauses == [
        [Term("ndaily"), Term("wdaily")],
        [Term("nord", True), Term("word", True)],
    ]


def test_a_name_as_one_has_no_separators() -> None:
    assert name_term("Shop.Daily_Orders") == name_term("shop daily orders") == "eshopdailyorders"
    assert name_term("...") == ""


def test_values_differ_by_field_and_case_unless_case_is_left_out() -> None:
    assert value_term("a", "x") != value_term("b", "x")
    assert value_term("a", "X") != value_term("a", "x")
    assert value_term("a", "X", folded=True) == value_term("a", "x", folded=True)
    assert value_term("a", "x").isalnum()


@pytest.mark.parametrize("between", [" ", "-", "_", "* "])
def test_a_search_has_a_bound_of_words_however_they_are_parted(between: str) -> None:
    check_search(between.join(["word"] * MOST), "query")
    with pytest.raises(BadInput, match="query: expected at most 64 words, got 65"):
        check_search(between.join(["word"] * (MOST + 1)), "query")


def test_marks_between_spaces_count_like_words() -> None:
    with pytest.raises(BadInput, match="got 20000"):
        check_search("- " * 20_000, "input")
