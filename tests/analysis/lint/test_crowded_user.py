"""`crowded-user`: a user in many groups."""

from __future__ import annotations

from tests.analysis.lint.worlds import Seen, fixes, found


def test_sixteen_groups_around_one_user_are_many() -> None:
    assert found("crowded-user", "violating") == [
        Seen(
            "user:urn:li:corpuser:ana",
            (
                "is in 16 groups that have privileges: `urn:li:corpGroup:team-01`, "
                "`urn:li:corpGroup:team-02`, `urn:li:corpGroup:team-03` and 13 more"
            ),
            "note",
        ),
    ]
    assert fixes("crowded-user") == [
        "remove the user from groups of earlier jobs",
    ]


def test_fifteen_are_not() -> None:
    assert found("crowded-user", "clean") == []
