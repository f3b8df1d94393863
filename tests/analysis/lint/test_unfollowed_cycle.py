"""`unfollowed-cycle`: containers or memberships that form a cycle, or are too deep."""

from __future__ import annotations

from tests.analysis.lint.worlds import Seen, example, fixes, found


def test_groups_that_are_in_each_other_are_told() -> None:
    assert found("unfollowed-cycle", "violating") == [
        Seen(
            "group:a",
            ("`a`, `b` are members of themselves, and those memberships are not followed"),
            "error",
        ),
    ]
    assert fixes("unfollowed-cycle") == [
        "remove one of the memberships",
    ]


def test_a_group_in_a_group_is_followed() -> None:
    assert found("unfollowed-cycle", "clean") == []


def test_containers_that_lie_in_each_other_are_told() -> None:
    world = example("deep-container", "violating")
    world["placed"]["urn:li:container:dw"] = "urn:li:container:dw.sales"
    says = (
        "`container:urn:li:container:dw`, `container:urn:li:container:dw.sales` form a cycle"
        " of containers, and have no other parents"
    )
    assert found("unfollowed-cycle", world) == [
        Seen("container:urn:li:container:dw", says, "error")
    ]
