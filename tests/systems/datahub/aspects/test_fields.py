"""Fields of JSON objects, in the two spellings that DataHub writes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from lakewarden.kernel.errors import BadInput
from lakewarden.systems.datahub.aspects.fields import Fields

FIELDS = Fields(
    {
        "text": "x",
        "tagged": {"string": "y"},
        "empty": "",
        "null": None,
        "flag": {"boolean": True},
        "list": {"array": ["a", {"string": "b"}]},
        "objects": [{"n": 1}, {"com.linkedin.common.Owner": {"n": 2}}],
        "one": {"com.linkedin.common.Status": {"removed": True}},
        "number": 3,
    },
    "f.json: line 1",
)


def test_a_value_may_stand_under_the_name_of_its_avro_type() -> None:
    assert (FIELDS.text("text"), FIELDS.text("tagged")) == ("x", "y")
    assert FIELDS.flag("flag")
    assert FIELDS.texts("list") == ["a", "b"]
    assert [item.raw("n") for item in FIELDS.objects("objects")] == [1, 2]
    one = FIELDS.object_or_none("one")
    assert one is not None
    assert one.flag("removed")


def test_what_is_null_or_missing_is_absent() -> None:
    assert FIELDS.text_or_none("null") is None
    assert FIELDS.text_or_none("missing") is None
    assert FIELDS.text_or_none("empty") is None
    assert not FIELDS.flag("missing")
    assert FIELDS.flag("missing", default=True)
    assert FIELDS.texts("missing") == []
    assert FIELDS.objects("null") == []
    assert FIELDS.object_or_none("null") is None


REFUSALS: dict[str, tuple[Callable[[], object], str]] = {
    "no text": (lambda: FIELDS.text("missing"), "missing: expected a string"),
    "a number for a text": (lambda: FIELDS.text("number"), "number: expected a string"),
    "a text for a flag": (lambda: FIELDS.flag("text"), "text: expected true or false"),
    "a text for a list": (lambda: FIELDS.texts("text"), "text: expected a list"),
    "a member that is no text": (lambda: FIELDS.texts("objects"), r"objects[0]: expected a string"),
    "a member that is no object": (lambda: FIELDS.objects("list"), "list[0]: expected an object"),
    "a text for an object": (lambda: FIELDS.object_or_none("text"), "text: expected an object"),
    "a list for the whole": (lambda: Fields([], "f.json"), "f.json: expected an object"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_a_refusal_says_where_and_what_was_expected(name: str) -> None:
    ask, message = REFUSALS[name]
    with pytest.raises(BadInput) as refused:
        ask()
    assert str(refused.value).endswith(message)
    assert str(refused.value).startswith("f.json")
