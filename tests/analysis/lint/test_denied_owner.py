"""`denied-owner`: a DENY that excludes owners from their own entities."""

from __future__ import annotations

from tests.analysis.lint.worlds import Seen, changed, fixes, found


def test_an_owner_needs_the_privileges_of_the_containers_too() -> None:
    assert found("denied-owner", "violating") == [
        Seen(
            "statement:not-s",
            ("denies USE_SCHEMA to `user:ana`, who owns `table:lk:c.s.t` and cannot use it"),
        ),
    ]
    assert fixes("denied-owner") == [
        "remove the owner from the role, or transfer the ownership",
    ]


def test_who_owns_nothing_there_loses_nothing() -> None:
    assert found("denied-owner", "clean") == []


def test_a_deny_of_what_owners_do_not_need_shuts_nobody_out() -> None:
    world = changed("denied-owner")
    world["statement"][0] |= {"privileges": ["SELECT_TABLE"], "on": "table:lk:c.s.t"}
    assert found("denied-owner", world) == []


def test_a_group_that_owns_is_an_owner() -> None:
    world = changed("denied-owner", owners={"table:lk:c.s.t": ["group:staff"]})
    world["members"]["role:lk:r"] = ["group:staff"]
    assert [one.place for one in found("denied-owner", world)] == ["statement:not-s"]
