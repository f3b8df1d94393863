"""JSON files record by record: lists, sequences, places of errors, for all chunk sizes."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakewarden.kernel.errors import BadInput
from lakewarden.pipeline.ingest import json_file
from lakewarden.pipeline.ingest.json_file import Record, parse, records


def found(tmp_path: Path, text: str | bytes) -> list[Record]:
    file = tmp_path / "f.json"
    file.write_bytes(text if isinstance(text, bytes) else text.encode("utf-8"))
    return list(records(file, "f.json"))


def test_a_list_gives_its_members_with_line_and_index(tmp_path: Path) -> None:
    text = '[\n  {"a": 1},\n  {\n    "b": "}]"\n  } ]\n'
    assert found(tmp_path, text) == [
        Record(2, "[0]", {"a": 1}),
        Record(3, "[1]", {"b": "}]"}),
    ]


def test_a_sequence_gives_its_objects_with_their_lines(tmp_path: Path) -> None:
    assert found(tmp_path, '{"a": 1}\n\n{"b":\n2} {"c": 3}') == [
        Record(1, "", {"a": 1}),
        Record(3, "", {"b": 2}),
        Record(4, "", {"c": 3}),
    ]


def test_an_empty_list_has_no_records(tmp_path: Path) -> None:
    assert found(tmp_path, " [ ] ") == []


REFUSALS = {
    "empty": ("", "line 1, column 1: expected a list of records"),
    "a text": ('"x"', "line 1, column 1: expected a list of records"),
    "a byte order mark": ('\ufeff[{"a": 1}]', "line 1, column 1: expected a list of records"),
    "a list of texts": ('[\n"x"]', "line 2, column 1: expected an object"),
    "a text in a sequence": ('{"a": 1}\n"x"', "line 2, column 1: expected an object"),
    "no comma": ('[{"a": 1}\n {"b": 2}]', "line 2, column 2: expected `,` or `]`"),
    "comma at the end": ('[{"a": 1},\n]', "line 2, column 1: expecting value"),
    "not closed": ('[{"a": 1},\n{"b": 2}', "line 2, column 9: expected `,` or `]`"),
    "cut in an object": ('[{"a": 1},\n{"b": ', "line 2, column 7: expecting value"),
    "cut in a text": ('[\n{"b": "xyz', "line 2, column 7: unterminated string starting at"),
    "text behind": ("[]\nx", "line 2, column 1: text follows the list"),
    "a missing colon": ('[{"a": 1},\n {"b" 2}]', "line 2, column 7: expecting ':' delimiter"),
    "a repeated key": ('[\n {"a": {"b": 1, "b": 2}}]', "line 2, column 2: the key `b` is repeated"),
    "not a number": ('[{"a": NaN}]', "line 1, column 2: `NaN` is no JSON"),
    "infinity": ('{"a": -Infinity}', "line 1, column 1: `-Infinity` is no JSON"),
    "half a character": ('[{"a": "\\ud800"}]', "line 1, column 2: a lone surrogate is no text"),
    "half a character in a key": ('[{"\\uDFFF": 1}]', "a lone surrogate is no text"),
    "too deep": ("[" + '{"a":' * 100_000, "line 1, column 2: nested too deeply"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_a_malformed_file_is_refused_with_line_and_column(tmp_path: Path, name: str) -> None:
    text, message = REFUSALS[name]
    with pytest.raises(BadInput) as refused:
        found(tmp_path, text)
    assert message in str(refused.value)
    assert str(refused.value).startswith("f.json: ")


def test_both_halves_of_a_character_are_one(tmp_path: Path) -> None:
    assert found(tmp_path, '{"a": "\\ud83d\\ude00"}')[0].value == {"a": "😀"}


def test_what_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"f\.json: not UTF-8"):
        found(tmp_path, b'{"a": "\xff"}')


def test_a_file_that_is_not_there_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInput, match=r"g\.json: cannot be read: no such file"):
        list(records(tmp_path / "g.json", "g.json"))


def test_a_record_has_a_longest_size(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(json_file, "MAX_RECORD_CHARACTERS", 100)
    monkeypatch.setattr(json_file, "_PIECE", 10)
    assert len(found(tmp_path, '[{"a": "' + "x" * 50 + '"}]')) == 1
    with pytest.raises(BadInput, match="line 1, column 2: a record is longer than"):
        found(tmp_path, '[{"a": "' + "x" * 500 + '"}]')


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(st.characters(exclude_categories=["Cs"])),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab\n", max_size=3), inner),
    max_leaves=8,
)


@given(
    values=st.lists(st.dictionaries(st.text("xyz", max_size=2), JSON_VALUES), max_size=5),
    indent=st.sampled_from([None, 1, 4]),
    piece=st.integers(1, 40),
    is_list=st.booleans(),
)
def test_the_size_of_the_pieces_does_not_matter(
    tmp_path_factory: pytest.TempPathFactory,
    values: list[dict[str, object]],
    indent: int | None,
    piece: int,
    is_list: bool,
) -> None:
    if is_list:
        text = json.dumps(values, indent=indent)
    else:
        text = "\n".join(json.dumps(value, indent=indent) for value in values) or "[]"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(json_file, "_PIECE", piece)
        small = found(tmp_path_factory.mktemp("json"), text)
    whole = found(tmp_path_factory.mktemp("json"), text)
    assert small == whole
    assert [record.value for record in whole] == values


def test_a_text_inside_a_record_is_read_as_strictly() -> None:
    assert parse('{"a": 1}', "f") == {"a": 1}
    with pytest.raises(BadInput, match=r"f: line 2, column 1: expecting property name"):
        parse("{\nx", "f")
    with pytest.raises(BadInput, match="f: the key `a` is repeated"):
        parse('{"a": 1, "a": 1}', "f")
    with pytest.raises(BadInput, match="a lone surrogate"):
        parse('"\\udc00"', "f")
