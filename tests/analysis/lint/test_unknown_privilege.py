"""`unknown-privilege`: a privilege that the system does not have."""

from __future__ import annotations

from tests.analysis.lint.worlds import Seen, changed, fixes, found


def test_a_misspelt_privilege_is_told_with_the_one_that_was_meant() -> None:
    assert found("unknown-privilege", "violating") == [
        Seen("statement:typo", "names `VIEW_ENTITY_PAGES`, which DataHub does not have", "error"),
    ]
    assert fixes("unknown-privilege") == [
        "did you mean VIEW_ENTITY_PAGE?",
    ]


def test_a_known_one_is_fine() -> None:
    assert found("unknown-privilege", "clean") == []


def test_a_word_that_is_like_no_other_is_told_where_to_look() -> None:
    world = changed("unknown-privilege")
    world["statement"][0]["privileges"] = ["XYZZY"]
    assert fixes("unknown-privilege", world) == ["`lakewarden operations --privileges` lists them"]
