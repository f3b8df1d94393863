"""`editable-criterion`: a policy whose holders may change the fields of its criteria."""

from __future__ import annotations

import pytest

from tests.analysis.lint.worlds import Seen, changed, fixes, found


def test_holders_change_what_covers_them_by_the_same_policy_or_by_another() -> None:
    assert found("editable-criterion", "violating") == [
        Seen("statement:sales", "selects by DOMAIN, which `sales` allows its holders to change"),
        Seen(
            "statement:see-personal-data",
            "selects by TAG, which `tagging` allows its holders to change",
        ),
    ]
    assert set(fixes("editable-criterion")) == {
        "select by a field that its holders cannot change, or revoke that privilege"
    }


def test_other_edits_other_people_and_limited_tags_change_nothing_of_it() -> None:
    assert found("editable-criterion", "clean") == []


@pytest.mark.parametrize("privilege", ["EDIT_DOMAINS_PRIVILEGE", "EDIT_ENTITY"])
def test_every_privilege_that_writes_the_field_is_reported(privilege: str) -> None:
    world = changed("editable-criterion")
    world["statement"][0]["privileges"] = [privilege]
    assert found("editable-criterion", world)[0].place == "statement:sales"


def test_what_covers_nothing_that_is_stored_lends_nothing() -> None:
    world = changed("editable-criterion")
    world["statement"][2]["where"] = [{"field": "TYPE", "values": ["chart"]}]
    assert [one.place for one in found("editable-criterion", world)] == ["statement:sales"]
