"""Reads JSON as I-JSON: input that two parsers could read differently is refused.

Refused are duplicate members, NaN and infinities, lone surrogates, anything but UTF-8, a byte
order mark, integers beyond 2^53, text behind the value, and nesting below 64 levels. Source:
security reference, R-30.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from math import isfinite
from typing import Final, NoReturn

from lakewarden.kernel.errors import BadInput
from lakewarden.names.canonical import quoted

MAX_DEPTH: Final = 64
"""The maximum depth of nested objects and arrays."""

MAX_INTEGER: Final = 2**53
"""The largest magnitude that every JSON parser keeps exactly."""

LONG: Final = 2**63 - 1
"""The largest magnitude in a contract whose own responses contain 64-bit numbers."""

_MOST_DIGITS = 20

_WHERE = "body"


def read_object(body: bytes) -> dict[str, object]:
    """The JSON object in `body`; raises `BadInput`.

    >>> read_object(b'{"a": [1, true, null]}')
    {'a': [1, True, None]}
    """
    value = read(body)
    if not isinstance(value, dict):
        raise BadInput("expected a JSON object", where=_WHERE)
    return value


def read(body: bytes, *, longs: bool = False) -> object:
    """The one JSON value in `body`, as plain Python values; raises `BadInput`.

    `longs`: integers up to `LONG` are read, for bodies that may send back values of responses.
    """
    try:
        text = body.decode("utf-8")
    except UnicodeDecodeError:
        raise BadInput("expected UTF-8", where=_WHERE) from None
    if text.startswith("\ufeff"):
        raise BadInput("a byte order mark is not allowed", where=_WHERE)
    try:
        value: object = (_LONG_DECODER if longs else _DECODER).decode(text)
    except json.JSONDecodeError as error:
        reason = error.msg[:1].lower() + error.msg[1:]
        where = f"{_WHERE}: line {error.lineno}, column {error.colno}"
        raise BadInput(reason, where=where) from None
    except RecursionError:
        raise _too_deep() from None
    # Fewer brackets than levels allowed cannot nest too deep.
    if body.count(b"[") + body.count(b"{") > MAX_DEPTH:
        _check_depth(value)
    if b"\\u" in body:
        _check_surrogates(value)
    return value


def _members(pairs: list[tuple[str, object]]) -> dict[str, object]:
    members = dict(pairs)
    if len(members) != len(pairs):
        counted = Counter(name for name, _ in pairs)
        twice = next(name for name, count in counted.items() if count > 1)
        raise BadInput(f"the member {quoted(twice)} occurs twice", where=_WHERE)
    return members


def _integer(text: str) -> int:
    return _bounded(text, MAX_INTEGER, "2^53")


def _long(text: str) -> int:
    return _bounded(text, LONG, "2^63-1")


def _bounded(text: str, largest: int, bound: str) -> int:
    # The length first: parsing thousands of digits takes quadratic time.
    value = int(text) if len(text) <= _MOST_DIGITS else largest + 1
    if abs(value) > largest:
        raise BadInput(f"the integer {quoted(text)} is beyond {bound}", where=_WHERE)
    return value


def _number(text: str) -> float:
    value = float(text)
    if not isfinite(value):
        raise BadInput(f"the number {quoted(text)} is too large", where=_WHERE)
    return value


def _constant(constant: str) -> NoReturn:
    raise BadInput(f"`{constant}` is not allowed", where=_WHERE)


def _decoder(parse_int: Callable[[str], int]) -> json.JSONDecoder:
    return json.JSONDecoder(
        object_pairs_hook=_members,
        parse_int=parse_int,
        parse_float=_number,
        parse_constant=_constant,
    )


_DECODER = _decoder(_integer)
_LONG_DECODER = _decoder(_long)


def _too_deep() -> BadInput:
    return BadInput(f"nested deeper than {MAX_DEPTH} levels", where=_WHERE)


def _check_depth(value: object) -> None:
    level = [value] if isinstance(value, (dict, list)) else []
    for _ in range(MAX_DEPTH):
        if not level:
            return
        level = [
            inner
            for outer in level
            for inner in (outer.values() if isinstance(outer, dict) else outer)
            if isinstance(inner, (dict, list))
        ]
    if level:
        raise _too_deep()


def _check_surrogates(value: object) -> None:
    try:
        json.dumps(value, ensure_ascii=False).encode("utf-8")
    except UnicodeEncodeError:
        raise BadInput("an unpaired surrogate is not allowed", where=_WHERE) from None
