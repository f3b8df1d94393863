"""`set-aside`: a row that was read but has no effect."""

from __future__ import annotations

from tests.analysis.lint.worlds import Seen, fixes, found


def test_a_row_that_was_set_aside_is_told_with_its_place() -> None:
    assert found("set-aside", "violating") == [
        Seen(
            "row:owners.json: line 3",
            (
                "was set aside: dangling (no such table); ignored: owners "
                '["table","lk:c.s.x","user","ana",""]'
            ),
        ),
    ]
    assert fixes("set-aside") == [
        "correct it at its source, and ingest again",
    ]


def test_without_any_there_is_nothing_to_tell() -> None:
    assert found("set-aside", "clean") == []
