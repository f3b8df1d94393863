"""`domain-boundary`: a domain as the boundary of the visibility of assets."""

from __future__ import annotations

from tests.analysis.lint.worlds import Seen, fixes, found


def test_a_domain_decides_who_sees_assets() -> None:
    assert found("domain-boundary", "violating") == [
        Seen(
            "statement:read-sales", "makes assets visible by domain (`urn:li:domain:sales`)", "note"
        ),
    ]
    assert fixes("domain-boundary") == [
        ("assign owners at ingestion and select by owner; use domains for the domain pages"),
    ]


def test_domain_pages_and_owners_are_as_advised() -> None:
    assert found("domain-boundary", "clean") == []
