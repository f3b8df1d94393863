"""`idle-obligation`: a filter or a mask without any stored entity."""

from __future__ import annotations

import pytest

from tests.analysis.lint.worlds import Seen, changed, fixes, found


def test_what_lies_on_nothing_stored_is_found() -> None:
    assert found("idle-obligation", "violating") == [
        Seen("statement:archived", "this mask applies to no stored table or column"),
        Seen("statement:own-rows", "this filter applies to no stored table or column"),
    ]
    assert fixes("idle-obligation") == [
        "correct its scope, or delete the mask",
        "correct its scope, or delete the filter",
    ]


def test_what_lies_above_tables_or_on_a_tag_that_is_there_is_fine() -> None:
    assert found("idle-obligation", "clean") == []


@pytest.mark.parametrize("ends", [{"active": False}, {"valid_until": 1}])
def test_what_is_not_in_force_is_not_looked_at(ends: dict[str, object]) -> None:
    world = changed("idle-obligation")
    world["statement"] = [{**one, **ends} for one in world["statement"]]
    assert found("idle-obligation", world) == []
