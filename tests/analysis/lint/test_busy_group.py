"""`busy-group`: a group that many statements name."""

from __future__ import annotations

from tests.analysis.lint.worlds import Seen, fixes, found


def test_twenty_one_statements_about_one_group_are_many() -> None:
    assert found("busy-group", "violating") == [
        Seen("group:urn:li:corpGroup:sales", "is in 21 statements", "note"),
    ]
    assert fixes("busy-group") == [
        "consolidate them, or split the group by task",
    ]


def test_twenty_are_not() -> None:
    assert found("busy-group", "clean") == []
