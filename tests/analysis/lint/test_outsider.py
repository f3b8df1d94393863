"""`outsider`: a role holder who is not a member of the role's container."""

from __future__ import annotations

from tests.analysis.lint.worlds import Seen, changed, fixes, found


def test_who_is_no_user_of_the_metalake_is_refused() -> None:
    assert found("outsider", "violating") == [
        Seen("role:lk:r", "is held by `eve`, who is not in `lk`, and therefore denied everything"),
    ]
    assert fixes("outsider") == [
        "add them to `lk`, or revoke the role",
    ]


def test_who_is_a_user_of_the_metalake_is_not() -> None:
    assert found("outsider", "clean") == []


def test_of_a_group_only_some_need_be_users() -> None:
    world = changed("outsider")
    world["members"] |= {"group:staff": ["user:ben", "user:eve"], "role:lk:r": ["group:staff"]}
    assert [one.severity for one in found("outsider", world)] == ["note"]


def test_a_group_of_which_nobody_is_a_user_is_found() -> None:
    world = changed("outsider")
    world["members"] |= {"group:staff": ["user:eve"], "role:lk:r": ["group:staff"]}
    assert [one.severity for one in found("outsider", world)] == ["warning"]
