"""`deep-domain`: a policy by a domain at the top of a deep tree."""

from __future__ import annotations

from tests.analysis.lint.worlds import Seen, fixes, found


def test_four_levels_below_one_domain_are_deep() -> None:
    assert found("deep-domain", "violating") == [
        Seen("statement:top", "selects by `urn:li:domain:a`, the top of 4 levels of domains"),
    ]
    assert fixes("deep-domain") == [
        "flatten the domains to 3 levels, or select by owner",
    ]


def test_three_levels_are_not() -> None:
    assert found("deep-domain", "clean") == []
