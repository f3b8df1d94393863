"""Plain names are stored unchanged, and have no special meaning."""

from __future__ import annotations

import pytest

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.names import plain


@pytest.mark.parametrize("text", ["record-1", "a.b:c/d", "urn:li:tag:x", " spaced ", "ü"])
def test_any_readable_text_is_a_name(text: str) -> None:
    assert plain.parse("record", text) == Entity("record", text)


@pytest.mark.parametrize(("type", "text"), [("record", ""), ("", "x"), ("record", "a\nb")])
def test_what_cannot_be_read_is_refused(type: str, text: str) -> None:
    with pytest.raises(BadInput):
        plain.parse(type, text)


def test_a_name_spells_no_parent_and_has_one_part() -> None:
    entity = Entity("record", "a.b")
    assert plain.parent(entity) is None
    assert plain.parts(entity) == ("a.b",)


def test_there_are_no_wildcards() -> None:
    with pytest.raises(BadInput, match=r"no wildcards, got `record:a\*`"):
        plain.pattern("record", "a*")
