"""Recorded replies in files: the format of an exchange, and errors."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from lakewarden.kernel.errors import BadInput
from lakewarden.pipeline.ingest.exchange import Exchange, exchanges, rows
from lakewarden.service.source_row import ERRORS, Row, entity_row
from lakewarden.service.system import System, load_system

SYSTEM = load_system("cdap")


def file_of(folder: Path, *records: object) -> Path:
    """A file with a list of records."""
    file = folder / "x.json"
    file.write_text(json.dumps(list(records)), "utf-8")
    return file


def found(folder: Path, *records: object) -> list[Exchange]:
    return list(exchanges(file_of(folder, *records), "x.json"))


def test_a_path_is_split_and_decoded_and_its_query_is_left_out(tmp_path: Path) -> None:
    (one,) = found(tmp_path, {"path": "/v3/namespaces/a%20b?x=/y", "reply": {"name": "a"}})
    assert one.segments == ("v3", "namespaces", "a b")
    assert one.section().text("name") == "a"
    assert one.where == "x.json: line 1: [0].reply"


def test_a_slash_that_is_part_of_a_name_splits_nothing(tmp_path: Path) -> None:
    (one,) = found(tmp_path, {"path": "/v3/a/eve%2Fhost@R", "reply": []})
    assert one.segments == ("v3", "a", "eve/host@R")


def test_records_in_sequence_are_as_good_as_a_list(tmp_path: Path) -> None:
    file = tmp_path / "x.jsonl"
    file.write_text('{"path": "/a", "reply": 1}\n{"path": "/b", "reply": 2}\n', "utf-8")
    where = [(one.segments, one.where) for one in exchanges(file, "x.jsonl")]
    assert where == [(("a",), "x.jsonl: line 1.reply"), (("b",), "x.jsonl: line 2.reply")]


@pytest.mark.parametrize(
    ("record", "message"),
    [
        ({"reply": {}}, r"x\.json: line 1: \[0\]\.path: expected a non-empty string"),
        ({"path": 5, "reply": {}}, r"\[0\]\.path: expected a non-empty string"),
        ({"path": "/a"}, r"\[0\]\.reply: expected the reply"),
        ({"path": "/a", "reply": {}, "rely": {}}, r"\[0\]: unknown key `rely`"),
        ({"path": "a/b", "reply": {}}, r"\[0\]\.path: expected a `/`"),
        ({"path": "/a//b", "reply": {}}, r"\[0\]\.path: `//` is not allowed"),
        ({"path": "/a/%zz", "reply": {}}, r"\[0\]\.path: `%` without two hexadecimal digits"),
    ],
)
def test_a_malformed_exchange_is_refused_with_its_place(
    tmp_path: Path, record: object, message: str
) -> None:
    with pytest.raises(BadInput, match=message):
        found(tmp_path, record)


def test_a_reply_of_the_wrong_shape_is_refused() -> None:
    with pytest.raises(BadInput, match=r"x\.reply: expected an object"):
        Exchange((), [], "x.reply").section()
    with pytest.raises(BadInput, match=r"x\.reply: expected a list of objects"):
        Exchange((), {}, "x.reply").objects()
    with pytest.raises(BadInput, match=r"x\.reply\[1\]: expected a table"):
        Exchange((), [{}, 5], "x.reply").objects()


def one_entity(exchange: Exchange, _: System) -> Iterator[Row]:
    """A reader that refuses the path `/bad`."""
    if exchange.segments == ("bad",):
        raise BadInput("expected something else", where=exchange.where)
    yield entity_row(SYSTEM.entity("namespace:a"), "")


def test_rows_get_the_place_of_their_exchange(tmp_path: Path) -> None:
    file = file_of(tmp_path, {"path": "/a", "reply": {}})
    assert list(rows(file, "x.json", one_entity, SYSTEM)) == [
        Row("entities", ("namespace", "a"), "x.json: line 1: [0].reply")
    ]


def test_an_error_ends_a_file_as_a_row(tmp_path: Path) -> None:
    file = file_of(
        tmp_path, {"path": "/a", "reply": {}}, {"path": "/bad", "reply": {}}, {"path": "/a"}
    )
    good, bad = rows(file, "x.json", one_entity, SYSTEM)
    assert good.table == "entities"
    place = "x.json: line 1: [1].reply"
    assert bad == Row(ERRORS, ("expected something else",), place)
