"""`policy-count`: more policies in force than anybody can read."""

from __future__ import annotations

from tests.analysis.lint.worlds import Seen, fixes, found


def test_a_hundred_and_one_policies_are_many() -> None:
    assert found("policy-count", "violating") == [
        Seen("realm:datahub", "101 policies are in force", "note"),
    ]
    assert fixes("policy-count") == [
        "start with the findings of `duplicate-statement`, `shadowed-statement` and"
        " `overlapping-domains`",
    ]


def test_a_hundred_are_not() -> None:
    assert found("policy-count", "clean") == []
