"""`repeated-privilege`: a privilege that many policies grant."""

from __future__ import annotations

from tests.analysis.lint.worlds import Seen, fixes, found


def test_eleven_policies_with_one_privilege_are_many() -> None:
    assert found("repeated-privilege", "violating") == [
        Seen("privilege:VIEW_ENTITY_PAGE", "is in 11 policies", "note"),
    ]
    assert fixes("repeated-privilege") == [
        "consolidate policies with the same privileges",
    ]


def test_ten_are_not() -> None:
    assert found("repeated-privilege", "clean") == []
