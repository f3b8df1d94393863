"""`may-grant`: users who may grant privileges may grant them to themselves."""

from __future__ import annotations

from tests.analysis.lint.worlds import Seen, changed, example, fixes, found


def test_whoever_manages_grants_may_give_himself_anything() -> None:
    assert found("may-grant", "violating") == [
        Seen(
            "statement:delegate",
            (
                "allows MANAGE_GRANTS: `ana` may grant anything to any principal,"
                " including themselves"
            ),
        ),
    ]
    assert fixes("may-grant") == [
        "grant it to owners and administrators only",
    ]


def test_owning_and_making_roles_is_not_granting() -> None:
    assert found("may-grant", "clean") == []


def test_whoever_writes_policies_may_give_himself_anything() -> None:
    world = example("wrong-type", "clean")
    world["statement"][0]["privileges"] = ["MANAGE_POLICIES"]
    assert [one.place for one in found("may-grant", world)] == ["statement:manage"]


def test_a_privilege_that_nobody_holds_gives_nobody_anything() -> None:
    world = changed("may-grant")
    world["members"]["role:lk:r"] = []
    assert found("may-grant", world) == []
