"""`deep-container`: assets shown by a container at the top of a deep chain."""

from __future__ import annotations

from tests.analysis.lint.worlds import Seen, changed, fixes, found


def test_a_database_holds_schemas() -> None:
    assert found("deep-container", "violating") == [
        Seen(
            "statement:warehouse",
            "makes assets visible through `urn:li:container:dw`, a container of containers",
        ),
    ]
    assert fixes("deep-container") == [
        "select by owner, or by the innermost containers",
    ]


def test_a_schema_holds_tables() -> None:
    assert found("deep-container", "clean") == []


def test_editing_by_a_database_is_no_view() -> None:
    world = changed("deep-container")
    world["statement"][0]["privileges"] = ["EDIT_ENTITY_DOCS"]
    assert found("deep-container", world) == []
