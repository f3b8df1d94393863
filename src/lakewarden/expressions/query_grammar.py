"""The parts that a query may have: everything not listed here is rejected.

A part is a class of sqlglot's nodes. Parts that read tables, or combine them, also have the
list of their allowed arguments.
"""

from __future__ import annotations

import re
from typing import Final

from sqlglot import exp

from lakewarden.kernel.errors import BadInput

DIALECTS: Final = ("duckdb", "spark")
"""The dialects of queries; both ignore the case of names."""

_QUERY: Final = "this expression with_ order limit offset"
_PLACES: Final[dict[type[exp.Expr], str]] = {
    exp.Select: "expressions from_ joins laterals where group having qualify windows order limit"
    " offset distinct with_",
    exp.Union: f"{_QUERY} distinct by_name",
    exp.Except: f"{_QUERY} distinct by_name",
    exp.Intersect: f"{_QUERY} distinct by_name",
    exp.Subquery: "this alias with_ order limit offset joins",
    exp.With: "expressions",
    exp.CTE: "this alias",
    exp.From: "this",
    exp.Table: "this db catalog alias joins",
    exp.Join: "this on using side kind method",
    exp.Lateral: "this view outer alias",
    exp.Unnest: "expressions alias",
    exp.TableAlias: "this columns",
    exp.Column: "this table db catalog",
    exp.Identifier: "this quoted",
    exp.Star: "except_ replace",
    exp.Distinct: "expressions",
    exp.Limit: "expression",
    exp.Offset: "expression",
    exp.Dot: "this expression",
    exp.Anonymous: "this expressions",
}
"""The parts that are checked closely, with the allowed arguments of each."""

_SOURCES: Final = (exp.Table, exp.Subquery, exp.Unnest, exp.Lateral)
_EXPLODED: Final = (exp.Subquery, exp.Unnest, exp.Explode, exp.Posexplode)
_QUERIES: Final = (exp.Select, exp.Union, exp.Except, exp.Intersect, exp.Subquery)
_JOINS: Final = {
    "method": ("", "NATURAL"),
    "kind": ("", "INNER", "CROSS", "OUTER", "SEMI", "ANTI"),
    "side": ("", "LEFT", "RIGHT", "FULL"),
}

_OTHER_NAMES: Final = """
    Where Group Having Qualify Order Ordered Window WindowSpec Filter Alias Paren Tuple Rollup Cube
    GroupingSets Grouping Literal Boolean Null And Or Not EQ NEQ NullSafeEQ NullSafeNEQ GT GTE LT
    LTE Is In Between Like ILike Escape Exists Any All Add Sub Mul Div IntDiv Mod Neg DPipe Case If
    Coalesce Nullif Greatest Least Cast TryCast DataType DataTypeParam Interval Var
    Count CountIf Sum Avg Min Max Stddev StddevPop StddevSamp Variance VariancePop Median
    ApproxDistinct AnyValue ArgMax ArgMin ArrayAgg GroupConcat LogicalAnd LogicalOr
    RowNumber Rank DenseRank PercentRank CumeDist Ntile Lag Lead FirstValue LastValue NthValue
    Abs Ceil Floor Round Sign Sqrt Pow Exp Ln Log
    Lower Upper Trim Length Substring Replace Concat ConcatWs StartsWith EndsWith Contains Left
    Right StrPosition Reverse SHA2
    CurrentDate CurrentTimestamp Extract Year Month Day Hour Minute Second Quarter Week DateDiff
    DateAdd DateSub DateTrunc TimestampTrunc TsOrDsToDate
    Explode Posexplode
"""
_OTHERS: Final = frozenset(_OTHER_NAMES.split())
"""The other parts: clauses, operators and functions. None reads a file, a setting or a session."""

_CALLED: Final = frozenset({"even", "ucase", "lcase", "char_length"})
"""Functions that sqlglot has no class for."""

_TYPE_NAMES: Final = """
    BOOLEAN TINYINT SMALLINT INT BIGINT DECIMAL FLOAT DOUBLE TEXT VARCHAR CHAR DATE TIMESTAMP
    TIMESTAMPTZ TIMESTAMPNTZ TIMESTAMPLTZ TIME
"""
TYPES: Final = frozenset(_TYPE_NAMES.split())

_WORD: Final = re.compile(r"[A-Za-z_]+")
_ALIAS: Final = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)?")
_TABLE: Final = re.compile(r"\w[\w $-]*")
_FORMAT_NAMES: Final = """
    avro binaryfile csv delta hudi iceberg image jdbc json libsvm orc parquet text xml
"""
_FORMATS: Final = frozenset(_FORMAT_NAMES.split())
"""Schemas that Spark reads as a file format, with the table as the file's path."""


def refused(message: str, node: exp.Expr) -> BadInput:
    """The error for a part of a query, with its place in the text."""
    return BadInput(message, where=position(node))


def position(node: exp.Expr) -> str:
    """The position of the node in the text, if sqlglot knows it."""
    for part in node.walk():
        if "line" in part.meta:
            return f"line {part.meta['line']}, column {part.meta['col']}"
    return ""


def check_grammar(root: exp.Expr, dialect: str, most: int) -> None:
    """Raises `BadInput` for an unknown part, or for more than `most` nodes."""
    if not isinstance(root, _QUERIES):
        raise refused(f"expected a query, got {_title(root)}", root)
    for count, node in enumerate(root.walk(), 1):
        if count > most:
            raise BadInput(f"expected at most {most} parts")
        _check_part(node)
        _check_place(node, dialect)


def _check_part(node: exp.Expr) -> None:
    places = _PLACES.get(type(node))
    if places is None:
        if type(node).__name__ not in _OTHERS:
            raise refused(f"{_title(node)} is not part of governed queries", node)
        return
    for name, value in node.args.items():
        if value and name not in places.split():
            raise refused(f"{_title(node)} takes no {name.strip('_').upper()}", node)


def _check_place(node: exp.Expr, dialect: str) -> None:
    match node:
        case exp.Table():
            _check_table(node, dialect)
        case exp.Select() if not node.expressions:
            raise refused("expected columns after SELECT", node)
        case exp.From() if not isinstance(node.this, _SOURCES):
            raise refused(f"{_title(node.this)} is no table", node)
        case exp.Join():
            _check_join(node)
        case exp.Lateral() if not isinstance(node.this, _EXPLODED):
            raise refused(f"{_title(node.this)} is no table", node)
        case exp.Lateral() if not _ALIAS.fullmatch(node.alias):
            raise refused(f"`{node.alias}` is no name of a LATERAL", node)  # written unquoted
        case exp.CTE() if not isinstance(node.this, _QUERIES):
            raise refused("expected a query after WITH", node)
        case exp.Subquery() if not isinstance(node.this, (*_QUERIES, exp.Table)):
            raise refused("expected a query in parentheses", node)
        case exp.Dot() if not isinstance(node.expression, exp.Identifier):
            raise refused("a function takes no name in front", node)
        case exp.Anonymous() if str(node.this).lower() not in _CALLED:
            raise refused(f"the function `{node.this}` is not part of governed queries", node)
        case exp.DataType() if node.this.name not in TYPES:
            raise refused(f"no cast to `{node.sql()}`", node)
        case exp.Var() if not _WORD.fullmatch(node.name):
            raise refused(f"unexpected `{node.name}`", node)


def _check_join(join: exp.Join) -> None:
    if not isinstance(join.this, _SOURCES):
        raise refused(f"{_title(join.this)} is no table", join)
    for name, known in _JOINS.items():
        if (join.args.get(name) or "").upper() not in known:
            raise refused(f"no {join.args[name]} JOIN", join)


def _check_table(table: exp.Table, dialect: str) -> None:
    for part in table.parts:
        if not isinstance(part, exp.Identifier):
            raise refused(f"{_title(part)} is no table", table)
        if not _TABLE.fullmatch(part.name):
            raise refused(f"`{part.name}` is no name of a table", table)
    if dialect == "spark" and table.db.lower() in _FORMATS:
        raise refused(f"`{table.db}.` stands for a file, not for a table", table)


def _title(node: exp.Expr) -> str:
    return re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(node).__name__).upper()
