"""`empty-criterion`: a criterion without values, or one that contradicts itself."""

from __future__ import annotations

from tests.analysis.lint.worlds import Seen, changed, example, fixes, found


def test_a_criterion_without_values_never_holds() -> None:
    assert found("empty-criterion", "violating") == [
        Seen("statement:read", "compares DOMAIN with no values, which never matches"),
    ]
    assert fixes("empty-criterion") == [
        "add values, or remove the criterion",
    ]


def test_one_with_values_may() -> None:
    assert found("empty-criterion", "clean") == []


def test_not_equal_to_nothing_always_holds() -> None:
    world = changed("empty-criterion")
    world["statement"][0]["where"][0]["condition"] = "NOT_EQUALS"
    says = "compares DOMAIN with no values, which always matches"
    assert found("empty-criterion", world) == [Seen("statement:read", says)]


def test_a_constraint_without_values_is_found_too() -> None:
    world = example("lifted-constraint", "clean")
    world["statement"][0]["constraint"][0]["values"] = []
    assert [one.place for one in found("empty-criterion", world)] == ["statement:season"]
