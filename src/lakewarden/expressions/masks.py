"""What a mask shows in place of a value, and which of several masks is the strictest.

=================  ==========================================================================
`null`             NULL
`redact`           `****`, 0, false or 1970-01-01: shows only whether the value is NULL
`constant 'x'`     a constant, for NULL too
`hash`             SHA-256 of a string, in hexadecimal digits
`year`             the first of January of the year of a date or a timestamp
`first4`, `last4`  `****` and the first or last four characters; `****` of up to eight
`sql '…'`          an expression over the columns of the table
=================  ==========================================================================

A mask that does not fit the type of its column acts as `null`, never as a weaker mask.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from lakewarden.expressions.checker import Table, check_expression
from lakewarden.expressions.nodes import Call, Cast, Column, Literal, Node
from lakewarden.expressions.parser import Expression, parse_expression
from lakewarden.expressions.types import NUMBERS, Type, is_constant
from lakewarden.kernel.errors import BadInput

STRICTEST_FIRST: Final = (
    "null",
    "redact",
    "constant",
    "hash",
    "year",
    "first4",
    "last4",
    "sql",
)
"""The kinds of masks. `first4` and `last4` are equally strict; the id decides between them."""

_RANKS: Final = {
    kind: STRICTEST_FIRST.index("first4" if kind == "last4" else kind) for kind in STRICTEST_FIRST
}
_TEXT: Final = re.compile(r"\s*(?P<kind>[a-z0-9]+)(?:\s+'(?P<argument>(?:[^']|'')*)')?\s*")
_HIDDEN: Final = "****"
_NULL: Final = Literal("", Type.NULL)
_REDACTED: Final = {
    Type.STRING: Literal(_HIDDEN, Type.STRING),
    Type.BOOLEAN: Literal("false", Type.BOOLEAN),
    Type.DATE: Literal("1970-01-01", Type.DATE),
    Type.TIMESTAMP: Literal("1970-01-01 00:00:00", Type.TIMESTAMP),
    **dict.fromkeys(NUMBERS, Literal("0", Type.INTEGER)),
}


@dataclass(frozen=True, slots=True)
class Mask:
    """A parsed mask; `argument` is that of `constant` or `sql`."""

    kind: str
    argument: str = ""
    expression: Expression | None = None

    def fits(self, type: Type) -> bool:
        """Whether the mask applies to a column of that type."""
        match self.kind:
            case "hash" | "first4" | "last4":
                return type is Type.STRING
            case "year":
                return type in (Type.DATE, Type.TIMESTAMP)
            case "redact":
                return type in _REDACTED
            case "constant":
                return _constant(self.argument, type) is not None
            case _:
                return True

    def value(self, column: str, type: Type) -> Node:
        """What is shown instead of the column's value; NULL if the mask does not fit."""
        if not self.fits(type):
            return _NULL
        value = Column(column)
        match self.kind:
            case "redact":
                return _unless_null(value, _REDACTED[type])
            case "constant":
                return _constant(self.argument, type) or _NULL
            case "hash":
                return Call("sha256", (value,))
            case "year":
                return Cast(Call("year_start", (value,)), type)
            case "first4":
                start = (Literal("1", Type.INTEGER), Literal("4", Type.INTEGER))
                return _partly(value, Call("||", (Call("substr", (value, *start)), _hidden())))
            case "last4":
                end = Call("last", (value, Literal("4", Type.INTEGER)))
                return _partly(value, Call("||", (_hidden(), end)))
            case "sql" if self.expression is not None:
                return self.expression.root
            case _:
                return _NULL


def parse_mask(text: str, where: str = "") -> Mask:
    """Parses a mask. Raises `BadInput`; `where` is the field that the text is from.

    >>> parse_mask("constant 'n/a'").argument
    'n/a'
    """
    match = _TEXT.fullmatch(text)
    kind = match["kind"] if match else ""
    if match is None or kind not in STRICTEST_FIRST:
        expected = "null, redact, constant 'x', hash, year, first4, last4 or sql '…'"
        raise BadInput(f"`{text[:60]}`: expected {expected}", where=where)
    takes_argument = kind in ("constant", "sql")
    if takes_argument != (match["argument"] is not None):
        problem = "takes a text in quotes" if takes_argument else "takes no argument"
        raise BadInput(f"`{kind}` {problem}", where=where)
    argument = (match["argument"] or "").replace("''", "'")
    return Mask(kind, argument, parse_expression(argument, where) if kind == "sql" else None)


def check_mask(
    mask: Mask, type: Type, table: Table, *, engines: Iterable[str] = (), where: str = ""
) -> None:
    """Raises `BadInput` for a mask that does not fit a column of that type."""
    if not mask.fits(type):
        raise BadInput(f"`{mask.kind}` does not fit a column of type {type}", where=where)
    if mask.expression is not None:
        result = None if type is Type.OTHER else type
        check_expression(mask.expression, table, result=result, engines=engines, where=where)


def strictest(masks: Iterable[tuple[str, Mask]]) -> tuple[str, Mask]:
    """The mask that applies if a column has several, with its id; there must be at least one.

    >>> strictest([("b", Mask("hash")), ("a", Mask("last4")), ("c", Mask("null"))])[0]
    'c'
    """
    return min(masks, key=lambda mask: (_RANKS[mask[1].kind], mask[0]))


def _hidden() -> Literal:
    return Literal(_HIDDEN, Type.STRING)


def _unless_null(value: Node, shown: Node) -> Node:
    return Call("case", (Call("is null", (value,)), _NULL, shown))


def _partly(value: Node, shown: Node) -> Node:
    """The mask of a text with more than eight characters; a shorter one is hidden completely."""
    is_long = Call(">", (Call("length", (value,)), Literal("8", Type.INTEGER)))
    return Call("case", (Call("is null", (value,)), _NULL, is_long, shown, _hidden()))


def _constant(text: str, type: Type) -> Literal | None:
    """The text as a constant of the type; None if it is not one."""
    if type is Type.STRING:
        return None if "\0" in text else Literal(text, type)
    if type not in (*NUMBERS, Type.BOOLEAN, Type.DATE) or not is_constant(text, type):
        return None
    return Literal(text, type)
