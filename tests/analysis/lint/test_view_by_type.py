"""`view-by-type`: all entities of a type are visible, although other policies restrict that."""

from __future__ import annotations

from tests.analysis.lint.worlds import Seen, changed, fixes, found


def test_editing_became_seeing() -> None:
    assert found("view-by-type", "violating") == [
        Seen(
            "statement:describe",
            (
                "makes every `dataset` visible, in a policy for editing, where other "
                "policies restrict visibility"
            ),
        ),
    ]
    assert fixes("view-by-type") == [
        ("remove VIEW_ENTITY_PAGE, and grant visibility of the edited assets in other policies"),
    ]


def test_editing_alone_shows_nothing() -> None:
    assert found("view-by-type", "clean") == []


def test_where_nothing_is_restricted_nothing_is_undone() -> None:
    world = changed("view-by-type")
    world["statement"].pop(0)
    assert found("view-by-type", world) == []


def test_vocabulary_is_for_everybody() -> None:
    world = changed("view-by-type")
    world["statement"][1]["where"][0]["values"] = ["domain", "tag", "glossaryTerm"]
    assert found("view-by-type", world) == []
