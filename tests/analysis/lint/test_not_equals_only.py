"""`not-equals-only`: a policy with only negative criteria."""

from __future__ import annotations

from tests.analysis.lint.worlds import Seen, changed, fixes, found


def test_what_is_only_excluded_covers_what_has_nothing() -> None:
    assert found("not-equals-only", "violating") == [
        Seen(
            "statement:not-pii",
            ("has only exclusions (TAG): it matches 4 entities, including those without a value"),
        ),
    ]
    assert fixes("not-equals-only") == [
        ("add an EQUALS criterion, such as a domain, container or owner"),
    ]


def test_a_domain_beside_it_narrows() -> None:
    assert found("not-equals-only", "clean") == []


def test_a_type_beside_it_narrows_too_little() -> None:
    world = changed("not-equals-only")
    world["statement"][0]["where"] += [{"field": "TYPE", "values": ["dataset"]}]
    assert [one.place for one in found("not-equals-only", world)] == ["statement:not-pii"]


def test_owners_are_limited_to_what_they_own() -> None:
    world = changed("not-equals-only")
    world["statement"][0]["to"] = ["owners"]
    assert found("not-equals-only", world) == []
