"""`bypassed-deny`: a DENY that another privilege, still open, bypasses for the same action."""

from __future__ import annotations

from tests.analysis.lint.worlds import Seen, changed, fixes, found


def test_a_deny_of_reading_leaves_reading_by_the_privilege_to_write() -> None:
    assert found("bypassed-deny", "violating") == [
        Seen(
            "statement:not-u",
            ("denies SELECT_TABLE, but MODIFY_TABLE remains allowed there and permits the same"),
        ),
    ]
    assert fixes("bypassed-deny") == [
        "deny MODIFY_TABLE as well, or revoke its ALLOW",
    ]


def test_both_denied_is_closed() -> None:
    assert found("bypassed-deny", "clean") == []


def test_a_stand_in_that_is_allowed_only_elsewhere_opens_nothing_there() -> None:
    world = changed("bypassed-deny")
    world["statement"][0]["on"] = "table:lk:c.s.t"
    world["statement"][0]["privileges"] = ["MODIFY_TABLE"]
    assert found("bypassed-deny", world) == []
