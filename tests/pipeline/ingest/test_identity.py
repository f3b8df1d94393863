"""Groups of the identity provider: members by id, leavers, and errors."""

from __future__ import annotations

import pytest

from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.toml_section import Section
from lakewarden.pipeline.ingest.identity import NO_MEMBER, People
from lakewarden.service.source_row import NOTES, Row
from lakewarden.service.system import load_system

SYSTEM = load_system("gravitino")

USERS = {
    "totalResults": 2,
    "Resources": [
        {"id": "7", "userName": "ana", "active": True},
        {"id": "8", "userName": "ben", "active": False},
    ],
}


def listed(*members: str) -> dict[str, object]:
    group = {"id": "9", "displayName": "staff", "members": [{"value": id} for id in members]}
    return {"totalResults": 1, "Resources": [group]}


def rows_of(*replies: tuple[str, dict[str, object]]) -> list[Row]:
    people = People()
    for path, reply in replies:
        people.add_reply(tuple(path.split("/")), Section(reply, "x.reply"))
    return list(people.rows(SYSTEM))


def test_members_are_found_by_the_ids_of_users() -> None:
    found = rows_of(("Users", USERS), ("Groups", listed("7")))
    members = [row.cells for row in found if row.table == "memberships"]
    assert members == [("user", "ana", "group", "staff")]
    stored = [row.cells for row in found if row.table == "principals"]
    assert stored == [("user", "ana"), ("user", "ben"), ("group", "staff")]


def test_the_order_of_the_two_lists_does_not_matter() -> None:
    one = rows_of(("Users", USERS), ("Groups", listed("7")))
    other = rows_of(("Groups", listed("7")), ("Users", USERS))
    assert sorted(one) == sorted(other)


def test_a_leaver_is_in_no_group() -> None:
    found = rows_of(("Users", USERS), ("Groups", listed("7", "8")))
    assert [row.cells[1] for row in found if row.table == "memberships"] == ["ana"]
    (note,) = (row for row in found if row.table == NOTES)
    assert note.cells == ("ben", "not active: left out of all groups")


def test_names_of_attributes_may_have_any_case() -> None:
    """According to RFC 7643: before, a leaver stayed in his groups."""
    leaver = {"ID": "8", "username": "ben", "Active": False}
    found = rows_of(("Users/8", leaver), ("Groups", listed("8")))
    assert not [row for row in found if row.table == "memberships"]


def test_a_group_may_be_a_member_of_a_group() -> None:
    outer: dict[str, object] = {"id": "1", "displayName": "all", "members": [{"value": "9"}]}
    found = rows_of(("Groups", listed()), ("Groups/1", outer))
    members = [row.cells for row in found if row.table == "memberships"]
    assert members == [("group", "staff", "group", "all")]


def test_a_member_that_nobody_is_is_set_aside() -> None:
    found = rows_of(("Groups", listed("12")))
    (row,) = (row for row in found if row.table == "memberships")
    assert (row.reason, row.detail) == (NO_MEMBER, "no user or group has the id `12`")


@pytest.mark.parametrize(
    ("path", "reply", "message"),
    [
        ("Roles", {"totalResults": 0}, "expected a reply of `Users` or `Groups`"),
        ("Users", {"Resources": []}, r"x\.reply\.totalResults: expected a list response"),
        (
            "Users",
            {"totalResults": 1, "Resources": [{"id": "1"}]},
            r"x\.reply\.Resources\[0\]\.userName: expected a non-empty string",
        ),
        (
            "Groups",
            {"totalResults": 1, "Resources": [{"id": "1", "displayName": "a", "members": [5]}]},
            r"x\.reply\.Resources\[0\]\.members\[0\]: expected a table",
        ),
        (
            "Groups",
            {"totalResults": 2, "Resources": [{"id": i, "displayName": "a"} for i in "12"]},
            r"x\.reply\.Resources\[1\]: the group `a` is both `1` and `2`",
        ),
        (
            "Groups",
            {"totalResults": 2, "Resources": [{"id": "1", "displayName": "a"}]},
            r"x\.reply\.totalResults: expected 2 resources, got 1: ask for all pages",
        ),
        (
            "Users/1",
            {"id": "1", "userName": "a", "USERNAME": "b"},
            r"x\.reply\.userName: is given twice",
        ),
        (
            "Users",
            {"totalResults": 2, "Resources": [{"id": "1", "userName": n} for n in "ab"]},
            r"x\.reply\.Resources\[1\]: `1` is both the user `a` and the user `b`",
        ),
    ],
)
def test_a_malformed_reply_is_refused(path: str, reply: dict[str, object], message: str) -> None:
    with pytest.raises(BadInput, match=message):
        rows_of((path, reply))
