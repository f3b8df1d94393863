"""`dangling-principal`: a named principal that is not stored."""

from __future__ import annotations

from tests.analysis.lint.worlds import Seen, changed, example, fixes, found


def test_a_misspelt_user_is_found() -> None:
    assert found("dangling-principal", "violating") == [
        Seen("user:anna", "is named by `statement gone`, but is not stored"),
    ]
    assert fixes("dangling-principal") == [
        "correct the name, or add the user",
    ]


def test_a_stored_user_is_fine() -> None:
    assert found("dangling-principal", "clean") == []


def test_owners_and_members_that_are_gone_are_found() -> None:
    world = example("denied-owner", "clean")
    world["owners"] = {"table:lk:c.s.t": ["user:gone"]}
    world["members"]["group:staff"] = ["user:left"]
    assert [one.place for one in found("dangling-principal", world)] == ["user:gone", "user:left"]


def test_where_no_user_was_read_none_is_missing() -> None:
    assert found("dangling-principal", changed("dangling-principal", users=[])) == []
