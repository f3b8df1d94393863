"""`empty-group`: privileges of a group without members."""

from __future__ import annotations

from tests.analysis.lint.worlds import Seen, example, fixes, found


def test_a_role_held_by_an_empty_group_waits() -> None:
    assert found("empty-group", "violating") == [
        Seen("role:lk:intern", "is held only by `interns`, which have no members"),
    ]
    assert fixes("empty-group") == [
        ("revoke its privileges, or add the missing members"),
    ]


def test_a_group_with_members_does_not_wait() -> None:
    assert found("empty-group", "clean") == []


def test_a_group_without_members_is_named_with_its_statements() -> None:
    world = example("many-groups", "clean")
    says = "has no members, and is named by `teams`"
    assert found("empty-group", world) == [Seen("group:urn:li:corpGroup:teams", says)]
