"""`idle-deny`: a DENY that takes no access away."""

from __future__ import annotations

from tests.analysis.lint.worlds import Seen, changed, fixes, found


def test_a_deny_of_what_nobody_there_is_allowed_takes_nothing_away() -> None:
    assert found("idle-deny", "violating") == [
        Seen(
            "statement:no-writing",
            "denies MODIFY_TABLE to principals who are not allowed it anyway",
        ),
    ]
    assert fixes("idle-deny") == [
        "delete it, or apply it to principals who are allowed it",
    ]


def test_a_deny_inside_what_is_allowed_takes_something_away() -> None:
    assert found("idle-deny", "clean") == []


def test_what_another_role_of_the_same_user_allows_is_taken_away() -> None:
    world = changed("idle-deny")
    world["members"] |= {"role:lk:w": ["user:ana"]}
    world["statement"] += [
        {"id": "w", "privileges": ["MODIFY_TABLE"], "to": ["role:lk:w"], "on": "table:lk:c.s.t"}
    ]
    assert found("idle-deny", world) == []


def test_a_deny_to_nobody_is_left_to_another_rule() -> None:
    world = changed("idle-deny")
    world["members"]["role:lk:r"] = []
    assert found("idle-deny", world) == []


def test_a_privilege_that_is_asked_for_as_not_denied_counts_alone() -> None:
    world = changed("idle-deny")
    deny = {**world["statement"][1], "privileges": ["USE_CATALOG"], "on": "catalog:lk:c"}
    assert found("idle-deny", {**world, "statement": [deny]}) == []
