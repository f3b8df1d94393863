"""`unowned-container`: a container without an owner, although its siblings have one."""

from __future__ import annotations

from tests.analysis.lint.worlds import Seen, changed, fixes, found


def test_the_one_schema_without_owner_stands_out() -> None:
    assert found("unowned-container", "violating") == [
        Seen(
            "schema:lk:c.scratch",
            ("has no owner, and neither do the 1 entities inside it; its siblings have owners"),
        ),
    ]
    assert fixes("unowned-container") == [
        "assign an owner, or drop it if unused",
    ]


def test_a_schema_with_an_owner_does_not() -> None:
    assert found("unowned-container", "clean") == []


def test_what_is_owned_nowhere_beside_it_does_not_stand_out() -> None:
    assert found("unowned-container", changed("unowned-container", owners={})) == []


def test_something_owned_inside_is_enough() -> None:
    world = changed("unowned-container")
    world["owners"] |= {"table:lk:c.scratch.copy": ["user:ana"]}
    assert found("unowned-container", world) == []
