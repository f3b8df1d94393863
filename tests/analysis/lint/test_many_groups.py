"""`many-groups`: one policy that lists many groups."""

from __future__ import annotations

from tests.analysis.lint.worlds import Seen, fixes, found


def test_six_groups_are_many() -> None:
    assert found("many-groups", "violating") == [
        Seen(
            "statement:teams",
            (
                "lists 6 groups: `urn:li:corpGroup:team-1`, `urn:li:corpGroup:team-2`, "
                "`urn:li:corpGroup:team-3` and 3 more"
            ),
        ),
    ]
    assert fixes("many-groups") == [
        "create one group for this boundary, with the members of these groups",
    ]


def test_one_group_is_as_advised() -> None:
    assert found("many-groups", "clean") == []
