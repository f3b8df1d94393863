"""`empty-statement`: a statement for nobody, or about no privilege."""

from __future__ import annotations

from tests.analysis.lint.worlds import Seen, changed, fixes, found


def test_an_empty_list_of_ownership_types_is_for_nobody() -> None:
    assert found("empty-statement", "violating") == [
        Seen(
            "statement:custodians",
            ("has no principals: no user, group or role, and no owner of any ownership type"),
        ),
    ]
    assert fixes("empty-statement") == [
        ("name the principals; without ownership types it applies to owners of every type"),
    ]


def test_owners_of_any_type_are_somebody() -> None:
    assert found("empty-statement", "clean") == []


def test_a_statement_about_no_privilege_does_nothing() -> None:
    world = changed("empty-statement", "clean")
    world["statement"][0]["privileges"] = []
    assert found("empty-statement", world) == [Seen("statement:custodians", "has no privileges")]
