"""Reading a table key by key: the permitted values of each kind, and the error messages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.toml_section import Section

OPTIONS = {"low": 1, "high": 2}


def section(**keys: Any) -> Section:
    return Section(keys, "tiny.toml")


@pytest.mark.parametrize("value", [None, 3, "text", ["a"]])
def test_only_a_table_is_a_section(value: object) -> None:
    with pytest.raises(BadInput) as refusal:
        Section(value, "tiny.toml")
    assert str(refusal.value) == "tiny.toml: expected a table"


def test_a_key_is_taken_once() -> None:
    read = section(a=1)
    assert read.take("a") == 1
    assert read.take("a") is None


def test_names_are_those_left_in_file_order() -> None:
    read = section(b=1, a=2, c=3)
    read.take("a")
    assert read.names() == ["b", "c"]


def test_values_of_the_right_kind_are_read() -> None:
    read = section(
        text="word", flag=True, number=2, real=0.5, one="a", many=["a", "b"], choice="high"
    )
    assert read.text("text") == "word"
    assert read.flag("flag") is True
    assert read.number("number") == 2.0
    assert read.number("real") == 0.5
    assert read.texts("one") == ("a",)
    assert read.texts("many") == ("a", "b")
    assert read.choice("choice", OPTIONS) == "high"
    read.close()


def test_what_is_absent_has_a_default_or_is_empty() -> None:
    read = section()
    assert read.text("text", "else") == "else"
    assert read.text("text", "") == ""
    assert read.flag("flag") is False
    assert read.flag("flag", default=True) is True
    assert read.number("number") is None
    assert read.texts("many") == ()
    assert read.choice("choice", OPTIONS, "low") == "low"
    assert read.tables("list") == []
    assert read.named("tables") == {}


def test_an_empty_text_counts_as_given_where_there_is_a_default() -> None:
    assert section(text="").text("text", "else") == ""


TAKES: dict[str, Callable[[Section], object]] = {
    "text": lambda section: section.text("key"),
    "text with a default": lambda section: section.text("key", ""),
    "flag": lambda section: section.flag("key"),
    "number": lambda section: section.number("key"),
    "texts": lambda section: section.texts("key"),
    "choice": lambda section: section.choice("key", OPTIONS),
    "tables": lambda section: section.tables("key"),
    "named": lambda section: section.named("key"),
}


@pytest.mark.parametrize(
    ("kind", "value", "expected"),
    [
        ("text", 3, "expected a non-empty string"),
        ("text", "", "expected a non-empty string"),
        ("text", None, "expected a non-empty string"),
        ("text with a default", 3, "expected a non-empty string"),
        ("flag", "yes", "expected true or false"),
        ("flag", 1, "expected true or false"),
        ("number", "1", "expected a number"),
        ("number", True, "expected a number"),
        ("texts", 3, "expected a string or a list of strings"),
        ("texts", ["a", 3], "expected a string or a list of strings"),
        ("choice", "mid", "unknown `mid`; expected one of: high, low"),
        ("tables", {}, "expected a list of tables"),
        ("named", [], "expected a table of tables"),
    ],
)
def test_a_value_of_another_kind_is_refused(kind: str, value: object, expected: str) -> None:
    keys = {} if value is None else {"key": value}
    with pytest.raises(BadInput) as refusal:
        TAKES[kind](Section(keys, "tiny.toml"))
    assert str(refusal.value) == f"tiny.toml.key: {expected}"


def test_tables_of_a_list_know_their_number() -> None:
    first, second = section(list=[{"a": "x"}, {"a": ""}]).tables("list")
    assert first.text("a") == "x"
    with pytest.raises(BadInput, match=r"^tiny\.toml\.list\[1\]\.a: expected a non-empty string$"):
        second.text("a")


def test_tables_of_a_list_are_tables() -> None:
    with pytest.raises(BadInput, match=r"^tiny\.toml\.list\[0\]: expected a table$"):
        section(list=[3]).tables("list")


def test_tables_of_a_table_know_their_name() -> None:
    named = section(tables={"b": {}, "a": {"key": 3}}).named("tables")
    assert list(named) == ["b", "a"]
    with pytest.raises(BadInput, match=r'^tiny\.toml\.tables\."a"\.key: expected true or false$'):
        named["a"].flag("key")


def test_whatever_nobody_took_is_refused() -> None:
    read = section(good=1, misspelt=2, also=3)
    read.take("good")
    with pytest.raises(BadInput) as refusal:
        read.close()
    assert str(refusal.value) == "tiny.toml: unknown key `also`, `misspelt`"


def test_choices_are_one_or_several_of_the_options() -> None:
    read = section(one="low", many=["low", "high"])
    assert read.choices("one", OPTIONS) == ("low",)
    assert read.choices("many", OPTIONS) == ("low", "high")
    assert read.choices("absent", OPTIONS, required=False) == ()


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (None, "expected a string or a list of strings"),
        ([], "expected a string or a list of strings"),
        (["low", "mid"], "unknown `mid`; expected one of: high, low"),
    ],
)
def test_choices_that_are_none_are_refused(value: object, message: str) -> None:
    with pytest.raises(BadInput, match=message) as refusal:
        section(level=value).choices("level", OPTIONS)
    assert str(refusal.value).startswith("tiny.toml.level: ")


@pytest.mark.parametrize("value", [10**400, float("inf"), float("nan")], ids=["long", "inf", "nan"])
def test_a_number_is_finite(value: float) -> None:
    with pytest.raises(BadInput, match=r"x\.a: expected a finite number"):
        Section({"a": value}, "x").number("a")
