"""`lifted-constraint`: a constraint that another grant to the same principal lifts."""

from __future__ import annotations

from tests.analysis.lint.worlds import Seen, changed, fixes, found


def test_editing_anything_lifts_the_limit_on_tags() -> None:
    assert found("lifted-constraint", "violating") == [
        Seen(
            "statement:season",
            (
                "limits EDIT_ENTITY_TAGS to some sub-resources, but `edit` grants it to "
                "the same principals without limit"
            ),
        ),
    ]
    assert fixes("lifted-constraint") == [
        "remove the privilege, and EDIT_ENTITY, from the other policy",
    ]


def test_editing_docs_lifts_nothing() -> None:
    assert found("lifted-constraint", "clean") == []


def test_the_same_privilege_without_limit_lifts_it() -> None:
    world = changed("lifted-constraint")
    world["statement"][1]["privileges"] = ["EDIT_ENTITY_TAGS"]
    assert [one.place for one in found("lifted-constraint", world)] == ["statement:season"]
