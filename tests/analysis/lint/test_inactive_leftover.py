"""`inactive-leftover`: a disabled statement that is still stored."""

from __future__ import annotations

from tests.analysis.lint.worlds import Seen, changed, fixes, found


def test_what_was_switched_off_is_still_there() -> None:
    assert found("inactive-leftover", "violating") == [
        Seen(
            "statement:half-written",
            "is not active, and would apply to everything if it were active",
        ),
    ]
    assert fixes("inactive-leftover") == [
        "delete it, or state in its title when to activate it",
    ]


def test_what_is_active_is_in_use() -> None:
    assert found("inactive-leftover", "clean") == []


def test_one_with_limits_would_not_cover_everything() -> None:
    world = changed("inactive-leftover")
    world["statement"][0]["where"] = [{"field": "TYPE", "values": ["dataset"]}]
    assert found("inactive-leftover", world) == [Seen("statement:half-written", "is not active")]


def test_what_is_shipped_may_be_switched_off() -> None:
    world = changed("inactive-leftover")
    world["statement"][0]["id"] = "urn:li:dataHubPolicy:view-entity-page-all"
    assert found("inactive-leftover", world) == []
