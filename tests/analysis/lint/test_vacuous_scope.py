"""`vacuous-scope`: a statement whose scope contains no stored entity."""

from __future__ import annotations

from tests.analysis.lint.worlds import Seen, example, fixes, found


def test_a_pattern_that_matches_nothing_is_found() -> None:
    assert found("vacuous-scope", "violating") == [
        Seen("statement:temp", "matches no stored entity"),
    ]
    assert fixes("vacuous-scope") == [
        ("correct the pattern or the criteria, or delete it until an entity matches"),
    ]


def test_a_pattern_that_matches_something_is_fine() -> None:
    assert found("vacuous-scope", "clean") == []


def test_what_names_something_missing_is_left_to_another_rule() -> None:
    world = example("domain-boundary", "violating")
    world["statement"][0]["where"][0]["values"] = ["urn:li:domain:logistics"]
    assert found("vacuous-scope", world) == []


def test_criteria_that_no_entity_meets_are_found() -> None:
    world = example("domain-boundary", "violating")
    world["statement"][0]["where"] += [{"field": "TAG", "values": ["urn:li:tag:pii"]}]
    assert [one.place for one in found("vacuous-scope", world)] == ["statement:read-sales"]
