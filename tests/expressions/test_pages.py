"""The page about expressions has the tables of the code."""

from __future__ import annotations

from tests.expressions import pages


def test_the_page_has_the_tables_of_the_code() -> None:
    text = pages.PAGE.read_text("utf-8")
    assert text == pages.page(text), "make docs"
    for name in pages.PARTS:
        assert f"<!-- {name} -->\n|" in text or name == "masks"
