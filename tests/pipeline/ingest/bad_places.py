"""Damages one place of a file at a time: a cell of a table, a value of a document, the bytes.

KINDS defines the replacements.
"""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

_DIGITS: Final = "digits without end"
"""Represents a number that Python itself does not write."""

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
    "a number of five thousand digits": _DIGITS,
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
JSON: Final = (".json", ".jsonl")


class Bad(NamedTuple):
    """Files with one bad place, and the file that contains it."""

    file: str
    export: Mapping[str, bytes]


def spoiled(export: Mapping[str, str], kind: str, turn: int) -> Bad:
    """The files with one damaged place; `turn` chooses it."""
    files = sorted(export)
    if kind in VALUES:
        files = [name for name in files if name.endswith(JSON)] or files
    name = files[turn % len(files)]
    bad = spoiled_text(name, export[name], kind, turn)
    return Bad(name, {n: t.encode() for n, t in export.items()} | {name: bad})


def spoiled_text(name: str, text: str, kind: str, turn: int) -> bytes:
    """The bytes of a file with this text and one bad place."""
    if kind in FILES:
        return FILES[kind](text.encode())
    value = CELLS[kind] if kind in CELLS else VALUES[kind]
    if name.endswith(JSON):
        return _documents(text, value, turn).encode()
    cell = value if isinstance(value, str) else str(value)
    spoil = _table if name.endswith(".csv") else _entries
    return spoil(text, cell, turn).encode("utf-8", "replace")


def _entries(text: str, cell: str, turn: int) -> str:
    """The lines `name: value` with another value, or sometimes another name."""
    lines = text.split("\n")
    places = [number for number, line in enumerate(lines) if ": " in line]
    at = places[turn % len(places)]
    name, value = lines[at].split(": ", 1)
    lines[at] = f"{cell}: {value}" if turn % 7 == 6 else f"{name}: {cell}"
    return "\n".join(lines)


def _table(text: str, cell: str, turn: int) -> str:
    """The table with another cell, sometimes in the header."""
    rows = list(csv.reader(io.StringIO(text)))
    row = rows[turn % len(rows)]
    row[turn // len(rows) % len(row)] = cell
    out = io.StringIO()
    csv.writer(out, lineterminator="\n").writerows(rows)
    return out.getvalue()


def _documents(text: str, value: object, turn: int) -> str:
    """The documents, one per line if there are several, with another value or name."""
    documents = [json.loads(line) for line in text.splitlines()]
    places = [(inside, key) for document in documents for inside, key in _places(document)]
    inside, key = places[turn * 5 % len(places)]
    if turn % 7 == 6 and isinstance(inside, dict) and isinstance(value, str):
        inside[value] = inside.pop(key)
    else:
        inside[key] = value
    text = "\n".join(map(json.dumps, documents))
    return text.replace(json.dumps(_DIGITS), "9" * 5_000)


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """The places of values in a document: their container, and their key."""
    keys: Sequence[Any] = ()
    if isinstance(value, dict):
        keys = sorted(value)
    elif isinstance(value, list):
        keys = range(len(value))
    for key in keys:
        yield value, key
        yield from _places(value[key])
