"""`unowned-schema`: containers without owners, although ownership determines visibility."""

from __future__ import annotations

from tests.analysis.lint.worlds import Seen, changed, fixes, found


def test_owners_do_not_see_a_schema_that_nobody_owns() -> None:
    assert found("unowned-schema", "violating") == [
        Seen(
            "type:container",
            (
                "1 of 1 without an owner (`urn:li:container:dw`), and `own` grants read "
                "access to their owners"
            ),
            "note",
        ),
    ]
    assert fixes("unowned-schema") == [
        ("assign owners to containers as well; the transformer for datasets omits them"),
    ]


def test_a_schema_with_an_owner_is_seen() -> None:
    assert found("unowned-schema", "clean") == []


def test_where_owners_see_nothing_it_does_not_matter() -> None:
    assert found("unowned-schema", changed("unowned-schema", statement=[])) == []
