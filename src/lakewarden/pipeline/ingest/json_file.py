"""The records of a JSON file, one by one: a list of objects, or objects in sequence.

A file is read in pieces, so its size does not matter; one record may have 64 MiB. Strict JSON: a
repeated key, `NaN`, a lone surrogate or text after the list makes the file invalid. Every error
names line and column.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from typing import IO, Final, NamedTuple, NoReturn

from lakewarden.kernel.errors import BadInput
from lakewarden.names.canonical import quoted
from lakewarden.pipeline.storage.location import Location
from lakewarden.pipeline.toml_file import unreadable

MAX_RECORD_CHARACTERS: Final = 64 * 1024 * 1024

_PIECE = 1024 * 1024
_LONGEST_TOKEN = 64
_SPACE = frozenset(" \t\r\n")
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


class Record(NamedTuple):
    """One record and its start: `path` is its index in a list, empty in a sequence."""

    line: int
    path: str
    value: dict[str, object]


class _Refused(ValueError):
    """A value contains something that is not strict JSON."""


def _check_surrogates(text: str, value: object) -> None:
    """Rejects lone surrogates: `text`, in UTF-8, spells `value`; only escapes can contain them."""
    if _SURROGATE.search(text):
        try:
            json.dumps(value, ensure_ascii=False).encode("utf-8")
        except UnicodeEncodeError:
            raise _Refused("a lone surrogate is no text") from None


def _unique(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) != len(pairs):
        keys: set[str] = set()
        for key, _ in pairs:
            if key in keys:
                raise _Refused(f"the key {quoted(key)} is repeated")
            keys.add(key)
    return members


def _constant(name: str) -> NoReturn:
    raise _Refused(f"`{name}` is no JSON")


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_constant)


def parse(text: str, where: str) -> object:
    """The value of a JSON text. Raises `BadInput` with line and column."""
    try:
        value: object = _DECODER.decode(text)
        _check_surrogates(text, value)
        return value
    except json.JSONDecodeError as error:
        at = f"{where}: line {error.lineno}, column {error.colno}"
        raise BadInput(error.msg.lower(), where=at) from None
    except (ValueError, RecursionError) as error:
        raise BadInput(_message(error), where=where) from None


def records(file: Location, name: str) -> Iterator[Record]:
    """The records of a file, called `name` in messages. Raises `BadInput`."""
    try:
        with file.open(encoding="utf-8", newline="") as stream:
            yield from _records(_Text(stream, name))
    except UnicodeDecodeError as error:
        raise BadInput(f"not UTF-8 at byte {error.start} of a piece", where=name) from None
    except OSError as error:
        raise unreadable(error, name) from None


def _records(text: _Text) -> Iterator[Record]:
    first = text.next()
    if first == "[":
        yield from _listed(text)
    elif first == "{":
        while text.next():
            yield text.record("")
    else:
        text.refuse("expected a list of records or records in sequence")


def _listed(text: _Text) -> Iterator[Record]:
    text.step()
    index = 0
    if text.next() != "]":
        while True:
            yield text.record(f"[{index}]")
            index += 1
            if text.next() != ",":
                break
            text.step()
            text.next()
    if text.next() != "]":
        text.refuse("expected `,` or `]`")
    text.step()
    if text.next():
        text.refuse("text follows the list")


class _Text:
    """A text that is read in pieces, and a position in it."""

    def __init__(self, stream: IO[str], name: str) -> None:
        self._stream = stream
        self._name = name
        self._text = ""
        self._at = 0
        # Line and column are those of this position.
        self._known = 0
        self._line = 1
        self._column = 1
        self._ended = False

    def next(self) -> str:
        """The next character that is not whitespace; empty at the end."""
        while True:
            while self._at < len(self._text):
                if self._text[self._at] not in _SPACE:
                    return self._text[self._at]
                self._at += 1
            if not self._read_piece():
                return ""

    def step(self) -> None:
        """Advances by one character."""
        self._at += 1

    def record(self, path: str) -> Record:
        """The object that begins here."""
        self._count_lines()
        line, column = self._line, self._column
        try:
            value = self._value()
        except (ValueError, RecursionError) as error:
            self._fail(line, column, _message(error))
        if not isinstance(value, dict):
            self._fail(line, column, "expected an object")
        return Record(line, path, value)

    def _value(self) -> object:
        while True:
            try:
                value, end = _DECODER.raw_decode(self._text, self._at)
            except json.JSONDecodeError as error:
                line, column = self._place(error.pos)
                if self._may_be_cut(error) and self._read_piece():
                    continue
                self._fail(line, column, error.msg.lower())
            _check_surrogates(self._text[self._at : end], value)
            self._at = end
            return value

    def _may_be_cut(self, error: json.JSONDecodeError) -> bool:
        """Whether the error may only mean that the piece ended too early."""
        if len(self._text) - self._at > MAX_RECORD_CHARACTERS:
            megabytes = MAX_RECORD_CHARACTERS // (1024 * 1024)
            self._fail(*self._place(self._at), f"a record is longer than {megabytes} MiB")
        near = error.pos >= len(self._text) - _LONGEST_TOKEN
        return not self._ended and (near or error.msg.startswith("Unterminated string"))

    def _read_piece(self) -> bool:
        """Reads the next piece, at least as long as the unread rest; drops what was read."""
        self._count_lines()
        unread = len(self._text) - self._at
        piece = self._stream.read(max(_PIECE, unread))
        self._text = self._text[self._at :] + piece
        self._at = self._known = 0
        self._ended = not piece
        return bool(piece)

    def _count_lines(self) -> None:
        """Counts the lines up to here, once."""
        self._line, self._column = self._place(self._at)
        self._known = self._at

    def _place(self, at: int) -> tuple[int, int]:
        """Line and column of a position at or after the last counted one."""
        lines = self._text.count("\n", self._known, at)
        if not lines:
            return self._line, self._column + at - self._known
        return self._line + lines, at - self._text.rfind("\n", self._known, at)

    def refuse(self, message: str) -> NoReturn:
        """Raises `BadInput` at this position."""
        self._fail(*self._place(self._at), message)

    def _fail(self, line: int, column: int, message: str) -> NoReturn:
        raise BadInput(message, where=f"{self._name}: line {line}, column {column}")


def _message(error: ValueError | RecursionError) -> str:
    if isinstance(error, _Refused):
        return str(error)
    # Python does not convert numbers of thousands of digits.
    is_deep = isinstance(error, RecursionError)
    return "nested too deeply" if is_deep else "a number has too many digits"
