"""Exports with one bad place each: refused with the place, or ingested without anybody gaining.

A place is a cell of a table, a value of a JSON document, or the bytes of a file; KINDS say what
becomes of it. What is refused leaves nothing behind.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import pytest

from lakewarden.kernel.errors import WardenError
from lakewarden.kernel.model import WAYS
from lakewarden.pipeline.directory import load
from lakewarden.service.warden import Warden
from tests.systems.gravitino.ingest.test_catalog_exports import (
    BIGQUERY,
    GLUE,
    SNOWFLAKE,
    UNITY,
    ingested,
)

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Export = Mapping[str, str]
Access = frozenset[tuple[str, str, str]]
"""Who reaches what in which way."""


class Sample(NamedTuple):
    """An export of a source; `limits` are its files whose rows take access away."""

    kind: str
    export: Export
    limits: frozenset[str]
    catalog: str = ""


SAMPLES: Final = {
    "unity": Sample(
        "unity-catalog-file",
        UNITY,
        frozenset({"row_filters.csv", "column_masks.csv", "columns.csv", "tables.csv"}),
    ),
    "snowflake": Sample(
        "snowflake-file",
        SNOWFLAKE,
        frozenset({"policy_references.csv", "columns.csv", "users.csv", "tables.csv"}),
    ),
    "glue": Sample("glue-file", GLUE, frozenset({"tables-1.json", "tables-2.json"}), "aws"),
    "bigquery": Sample("bigquery-file", BIGQUERY, frozenset({"row-policies.json", "assets.json"})),
}
"""Files about tables take access away, too: what is no table of a kind has other limits."""

CELLS: Final[Mapping[str, str]] = {
    "empty": "",
    "spaces": "   ",
    "led by a space": " orders",
    "ended by a space": "orders ",
    "a tab": "or\tders",
    "a line break": "or\nders",
    "a carriage return": "or\rders",
    "NUL": "or\0ders",
    "a control character": "or\x01ders",
    "an escape": "\x1b[2J",
    "DEL": "or\x7fders",
    "a look-alike": "\u043erders",
    "a combining mark": "orde\u0301rs",
    "no width": "or\u200bders",
    "right to left": "\u202eorders",
    "a byte order mark": "\ufefforders",
    "an emoji": "\U0001f984",
    "a wildcard": "*",
    "SQL's wildcards": "%_",
    "a question mark": "?",
    "a dot": "shop.orders",
    "dots alone": "..",
    "a colon": "a:b",
    "a slash": "../orders",
    "a backslash": "a\\b",
    "a quote": "o'rders\"",
    "a backtick": "o`rders",
    "a comma": "a,b",
    "a semicolon": "a;b",
    "null": "null",
    "NULL": "NULL",
    "true": "true",
    "a number": "7",
    "a large number": "9" * 400,
    "a negative number": "-1",
    "NaN": "NaN",
    "a formula": "=1+1",
    "a name of the wrong kind": "FROBNICATE",
    "a template": "${env:HOME}",
    "ten thousand characters": "x" * 10_000,
}
VALUES: Final[Mapping[str, object]] = {
    "JSON null": None,
    "JSON true": True,
    "JSON zero": 0,
    "a fraction": 1.5,
    "JSON NaN": float("nan"),
    "JSON Infinity": float("inf"),
    "an empty list": [],
    "a list": ["orders"],
    "an empty object": {},
    "an object": {"name": "orders"},
    "half a character": "\ud800",
}
FILES: Final[Mapping[str, Callable[[bytes], bytes]]] = {
    "no bytes": lambda _: b"",
    "blanks": lambda _: b" \n\n",
    "the first line": lambda text: text.partition(b"\n")[0],
    "half of it": lambda text: text[: len(text) // 2],
    "without its last byte": lambda text: text.rstrip()[:-1],
    "UTF-16": lambda text: text.decode().encode("utf-16"),
    "no UTF-8": lambda text: text.replace(b"shop", b"sh\xffp", 1),
    "a byte order mark in front": lambda text: b"\xef\xbb\xbf" + text,
    "carriage returns": lambda text: text.replace(b"\n", b"\r\n"),
    "twice": lambda text: text + text,
    "a comment": lambda text: b"# export\n" + text,
    "semicolons": lambda text: text.replace(b",", b";"),
    "an open quote": lambda text: text + b'"',
    "a row too long": lambda text: text + b"x" + b",x" * 40 + b"\n",
    "a row too short": lambda text: text + b"x\n",
    "a deep nest": lambda _: b"[" * 100_000,
    "zip": lambda _: b"PK\x03\x04" + bytes(40),
}
KINDS: Final = (*CELLS, *VALUES, *FILES)


class Bad(NamedTuple):
    """An export with one bad place, and the file that has it."""

    file: str
    export: Mapping[str, bytes]


def spoiled(sample: Sample, kind: str, turn: int) -> Bad:
    """The export with one place of one of its files made bad; `turn` chooses the place."""
    files = sorted(sample.export)
    if kind in VALUES:
        files = [name for name in files if name.endswith(".json")] or files
    name = files[turn % len(files)]
    text = sample.export[name]
    if kind in FILES:
        bad = FILES[kind](text.encode())
    elif name.endswith(".csv"):
        bad = _table(text, CELLS.get(kind, str(VALUES.get(kind))), turn).encode("utf-8", "replace")
    else:
        value = CELLS[kind] if kind in CELLS else VALUES[kind]
        bad = _documents(text, value, turn).encode()
    return Bad(name, {n: t.encode() for n, t in sample.export.items()} | {name: bad})


def _table(text: str, cell: str, turn: int) -> str:
    """The table with another cell, of the header at times."""
    rows = list(csv.reader(io.StringIO(text)))
    row = rows[turn % len(rows)]
    row[turn // len(rows) % len(row)] = cell
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()


def _documents(text: str, value: object, turn: int) -> str:
    """The documents, one a line where there are several, with another value or name."""
    documents = [json.loads(line) for line in text.splitlines()]
    places = [(inside, key) for document in documents for inside, key in _places(document)]
    inside, key = places[turn * 5 % len(places)]
    if turn % 7 == 6 and isinstance(inside, dict) and isinstance(value, str):
        inside[value] = inside.pop(key)
    else:
        inside[key] = value
    return "\n".join(map(json.dumps, documents))


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Where values stand in a document: what they are in, and their key."""
    keys: Sequence[Any] = ()
    if isinstance(value, dict):
        keys = sorted(value)
    elif isinstance(value, list):
        keys = range(len(value))
    for key in keys:
        yield value, key
        yield from _places(value[key])


def access(directory: Path) -> Access:
    """Who reaches what, of all that is stored in an ingested directory."""
    loaded = load(directory)
    warden, model = Warden(loaded.system, loaded.facts), loaded.system.model
    return frozenset(
        (user, way, ":".join(row.entity))
        for row in loaded.facts.entities
        for way in WAYS
        for operation in [model.reaching(way, row.entity.type)]
        if operation is not None
        for user in warden.who(operation, ":".join(row.entity))
    )


def _no_gain(name: str, kind: str, turn: int, before: Access, after: Access) -> None:
    """Nobody who was there before reaches more of what was there before."""
    people, things = ({row[place] for row in before} for place in (0, 2))
    gained = {row for row in after - before if row[0] in people and row[2] in things}
    assert not gained, (name, kind, turn, sorted(gained)[:3])


def _loaded(
    sample: Sample, export: Mapping[str, bytes], folder: Path, spark: SparkSession
) -> Access | WardenError:
    place = folder / "in"
    place.mkdir(parents=True)
    for file, content in export.items():
        (place / file).write_bytes(content)
    try:
        ingested(sample.kind, place, folder / "out", spark, sample.catalog)
    except WardenError as error:
        return error
    return access(folder / "out")


def _is_taken(
    name: str, kind: str, turn: int, before: Access, folder: Path, spark: SparkSession
) -> bool:
    """Whether the bad export was ingested, which then opens nothing; else it was refused."""
    sample, bad = SAMPLES[name], spoiled(SAMPLES[name], kind, turn)
    end = _loaded(sample, bad.export, folder, spark)
    if isinstance(end, WardenError):
        assert bad.file in str(end), (name, kind, turn, str(end))
        assert not (folder / "out" / "manifest.json").exists()
    elif bad.file not in sample.limits:
        _no_gain(name, kind, turn, before, end)
    return not isinstance(end, WardenError)


def _each(name: str, turns: Callable[[int], Sequence[int]]) -> Iterator[tuple[str, int]]:
    for number, kind in enumerate(KINDS):
        yield from ((kind, turn) for turn in turns(number))


def _ends(
    name: str, turns: Callable[[int], Sequence[int]], folder: Path, spark: SparkSession
) -> set[bool]:
    """How bad exports of a source ended, with these turns of each kind, by its number."""
    whole = {file: text.encode() for file, text in SAMPLES[name].export.items()}
    before = _loaded(SAMPLES[name], whole, folder / "whole", spark)
    assert not isinstance(before, WardenError)
    return {
        _is_taken(name, kind, turn, before, folder / f"{number}-{turn}", spark)
        for number, kind in enumerate(KINDS)
        for turn in turns(number)
    }


@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_an_export_with_one_bad_place_is_refused_or_opens_nothing(
    name: str, unstarted: SparkSession, tmp_path: Path
) -> None:
    own = sorted(SAMPLES).index(name)
    ends = _ends(name, lambda n: [n * 3] if n % 4 == own else [], tmp_path, unstarted)
    assert ends == {True, False}


@pytest.mark.nightly
@pytest.mark.parametrize("name", sorted(SAMPLES))
def test_each_kind_of_bad_place_in_many_places_is_refused_or_opens_nothing(
    name: str, unstarted: SparkSession, tmp_path: Path
) -> None:
    assert _ends(name, lambda n: range(n % 3, 120, 3), tmp_path, unstarted) == {True, False}
