"""`duplicate-statement`: one statement stored twice under two ids."""

from __future__ import annotations

from tests.analysis.lint.worlds import Seen, changed, fixes, found


def test_titles_and_ids_aside_it_is_the_same() -> None:
    assert found("duplicate-statement", "violating") == [
        Seen("statement:read-again", "is identical to `read`"),
    ]
    assert fixes("duplicate-statement") == [
        "delete it; `read` remains",
    ]


def test_another_privilege_is_another_statement() -> None:
    assert found("duplicate-statement", "clean") == []


def test_an_older_name_of_the_same_privilege_is_the_same() -> None:
    world = changed("duplicate-statement")
    older, newer = world["statement"]
    older["privileges"], newer["privileges"] = ["CREATE_MODEL"], ["REGISTER_MODEL"]
    assert [one.place for one in found("duplicate-statement", world)] == ["statement:read-again"]
