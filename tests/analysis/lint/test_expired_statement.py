"""`expired-statement`: an expired statement that is still stored."""

from __future__ import annotations

from tests.analysis.lint.worlds import Seen, changed, fixes, found


def test_a_statement_whose_time_is_over_is_still_stored() -> None:
    assert found("expired-statement", "violating") == [
        Seen("statement:summer", "expired on 2020-09-13"),
    ]
    assert fixes("expired-statement") == [
        "delete it; the audit trail keeps what it did",
    ]


def test_a_statement_whose_time_is_now_counts() -> None:
    assert found("expired-statement", "clean") == []


def test_a_window_that_ends_before_it_begins_never_counts() -> None:
    world = changed("expired-statement", "clean")
    world["statement"][0]["valid_from"] = 1_900_000_000
    says = "ends before it begins, and never takes effect"
    assert found("expired-statement", world) == [Seen("statement:summer", says)]


def test_what_is_still_to_come_is_not_over() -> None:
    world = changed("expired-statement", "clean")
    world["statement"][0] |= {"valid_from": 1_750_000_000}
    assert found("expired-statement", world) == []


def test_a_moment_before_the_calendar_is_told_in_seconds() -> None:
    world = changed("expired-statement")
    world["statement"][0]["valid_until"] = -1e18
    says = "expired on second -1,000,000,000,000,000,000"
    assert found("expired-statement", world) == [Seen("statement:summer", says)]
