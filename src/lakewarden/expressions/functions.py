"""The functions and operators of expressions: the types that they accept and return.

A row gives the types of the arguments, position by position; with `is_variadic`, the last one
applies to all further arguments. `SAME` are arguments of one type, which is also the result type
if the result is `SAME`. Forms that differ between engines are in `renderer`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from lakewarden.expressions.types import NUMBERS, Type

ORDERED: Final = NUMBERS | {Type.STRING, Type.DATE, Type.TIMESTAMP, Type.INSTANT}
COMPARED: Final = ORDERED | {Type.BOOLEAN}
EVERY: Final = frozenset(Type)
STRING: Final = frozenset({Type.STRING})
TRUTH: Final = frozenset({Type.BOOLEAN})
INTEGER: Final = frozenset({Type.INTEGER})
DAY: Final = frozenset({Type.DATE, Type.TIMESTAMP})


@dataclass(frozen=True, slots=True)
class Function:
    """A function or operator.

    `takes` are the types that each argument may have; `result` is None if it is the type of the
    arguments, which must then agree (`is_uniform`). `literal` are the positions of arguments that
    must be constants.
    """

    title: str
    takes: tuple[frozenset[Type], ...]
    result: Type | None
    is_uniform: bool = False
    is_variadic: bool = False
    fewest: int = 0
    literal: tuple[int, ...] = ()


def _operator(title: str, takes: frozenset[Type], result: Type | None) -> Function:
    return Function(title, (takes, takes), result, is_uniform=True)


FUNCTIONS: Final[dict[str, Function]] = {
    "and": Function("a AND b", (TRUTH, TRUTH), Type.BOOLEAN),
    "or": Function("a OR b", (TRUTH, TRUTH), Type.BOOLEAN),
    "not": Function("NOT a", (TRUTH,), Type.BOOLEAN),
    "=": _operator("a = b", COMPARED, Type.BOOLEAN),
    "<>": _operator("a <> b", COMPARED, Type.BOOLEAN),
    "<": _operator("a < b", ORDERED, Type.BOOLEAN),
    "<=": _operator("a <= b", ORDERED, Type.BOOLEAN),
    ">": _operator("a > b", ORDERED, Type.BOOLEAN),
    ">=": _operator("a >= b", ORDERED, Type.BOOLEAN),
    "is null": Function("a IS NULL", (EVERY,), Type.BOOLEAN),
    "is distinct from": _operator("a IS DISTINCT FROM b", COMPARED, Type.BOOLEAN),
    "between": Function(
        "a BETWEEN b AND c", (ORDERED, ORDERED, ORDERED), Type.BOOLEAN, is_uniform=True
    ),
    "in": Function(
        "a IN (b, …)",
        (COMPARED, COMPARED),
        Type.BOOLEAN,
        is_uniform=True,
        is_variadic=True,
        fewest=2,
    ),
    "like": Function("a LIKE 'pattern' [ESCAPE 'c']", (STRING, STRING), Type.BOOLEAN, literal=(1,)),
    "+": _operator("a + b", NUMBERS, None),
    "-": _operator("a - b", NUMBERS, None),
    "*": _operator("a * b", NUMBERS, None),
    "negate": Function("-a", (NUMBERS,), None, is_uniform=True),
    "||": Function("a || b", (STRING, STRING), Type.STRING),
    "case": Function("CASE WHEN a THEN b … [ELSE c] END", (), None),
    "coalesce": Function(
        "coalesce(a, b, …)", (COMPARED, COMPARED), None, is_uniform=True, is_variadic=True, fewest=2
    ),
    "nullif": Function("nullif(a, b)", (COMPARED, COMPARED), None, is_uniform=True),
    "lower": Function("lower(a): the letters A to Z", (STRING,), Type.STRING),
    "upper": Function("upper(a): the letters a to z", (STRING,), Type.STRING),
    "trim": Function("trim(a): blanks at both ends", (STRING,), Type.STRING),
    "length": Function("length(a): characters", (STRING,), Type.INTEGER),
    "substr": Function(
        "substr(a, start, length)",
        (STRING, INTEGER, INTEGER),
        Type.STRING,
        fewest=2,
        literal=(1, 2),
    ),
    "replace": Function(
        "replace(a, 'old', 'new')", (STRING, STRING, STRING), Type.STRING, literal=(1, 2)
    ),
    "starts_with": Function("starts_with(a, 'text')", (STRING, STRING), Type.BOOLEAN, literal=(1,)),
    "abs": Function("abs(a)", (NUMBERS,), None, is_uniform=True),
    "year": Function("year(a)", (DAY,), Type.INTEGER),
    "month": Function("month(a)", (DAY,), Type.INTEGER),
    "day": Function("day(a)", (DAY,), Type.INTEGER),
    # Used by masks only; not available in expressions.
    "sha256": Function("SHA-256 in hexadecimal digits", (STRING,), Type.STRING),
    "year_start": Function("the first of January", (DAY,), None, is_uniform=True),
    "last": Function("the last characters", (STRING, INTEGER), Type.STRING, literal=(1,)),
}

CALLED: Final = sorted(
    name for name, function in FUNCTIONS.items() if function.title.startswith(f"{name}(")
)
"""The functions that are written as calls; the others are operators, or used by masks only."""
