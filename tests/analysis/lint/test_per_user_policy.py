"""`per-user-policy`: a policy for single users instead of a group."""

from __future__ import annotations

from tests.analysis.lint.worlds import Seen, changed, example, fixes, found


def test_a_policy_for_one_user_is_found() -> None:
    assert found("per-user-policy", "violating") == [
        Seen("statement:ana", "applies to individual users: `urn:li:corpuser:ana`"),
    ]
    assert fixes("per-user-policy") == [
        "create a group for their task, and grant to that group",
    ]


def test_a_policy_for_a_group_is_fine() -> None:
    assert found("per-user-policy", "clean") == []


def test_where_nothing_is_chosen_by_criteria_it_is_a_note() -> None:
    world = example("dangling-entity", "clean")
    says = "applies to individual users: `ana`"
    assert found("per-user-policy", world) == [Seen("statement:orders", says, "note")]


def test_a_user_beside_a_group_is_fine() -> None:
    world = changed("per-user-policy")
    world["statement"][0]["to"] += ["group:urn:li:corpGroup:sales"]
    assert found("per-user-policy", world) == []
