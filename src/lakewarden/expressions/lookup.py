"""Lookup tables: rows that an operator declares for comparisons in expressions.

`(region, $user.name) in lookup.managers` holds if the lookup table `managers` has a row with
these values. The rows become constants in the statement that the engine runs.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from lakewarden.expressions.types import Type, is_comparable, is_constant
from lakewarden.kernel.errors import BadInput, LimitExceeded
from lakewarden.kernel.toml_section import Section

MAX_ROWS: Final = 1_000
"""Maximum rows of one lookup table: they are written into an expression."""

MAX_COLUMNS: Final = 8
"""Maximum columns of one lookup table."""

MAX_VALUE: Final = 200
"""Maximum characters of a value."""

LOOKUP_NAME: Final = r"[A-Za-z_][A-Za-z0-9_]{0,63}"
"""The names allowed for a lookup table or its columns, as a regular expression."""

COLUMN_TYPES: Final = (
    Type.STRING,
    Type.INTEGER,
    Type.DECIMAL,
    Type.BOOLEAN,
    Type.DATE,
    Type.TIMESTAMP,
)
"""The types that a column may have: every engine has constants of these types."""

Value = str | int | bool
"""A value in files and request bodies: decimals, dates and timestamps are texts."""


@dataclass(frozen=True, slots=True)
class LookupColumn:
    """A column; expressions give the values in the order of the columns."""

    name: str
    type: Type


@dataclass(frozen=True, slots=True)
class LookupTable:
    """A lookup table. `rows` have a text for each column, in the form of `nodes.Literal`."""

    columns: tuple[LookupColumn, ...]
    rows: tuple[tuple[str, ...], ...]

    @property
    def types(self) -> tuple[Type, ...]:
        """The types of the columns, in order."""
        return tuple(column.type for column in self.columns)

    @property
    def characters(self) -> int:
        """The characters of all values."""
        return sum(len(value) for row in self.rows for value in row)


def read_lookup(section: Section) -> LookupTable:
    """The lookup table of a table with `columns` and `rows`.

    Raises `BadInput` with the path of the malformed part, `LimitExceeded` for too many rows or
    columns.
    """
    columns = tuple(_column(one) for one in section.tables("columns"))
    where = section.at("columns")
    if not columns:
        raise BadInput("expected at least one column", where=where)
    if len(columns) > MAX_COLUMNS:
        raise LimitExceeded(
            f"{where} has {len(columns)} columns, at most {MAX_COLUMNS} are allowed"
        )
    if len({column.name for column in columns}) < len(columns):
        raise BadInput("two columns have one name", where=where)
    rows = section.take("rows")
    where = section.at("rows")
    section.close()
    if rows is None or not isinstance(rows, list):
        raise BadInput("expected a list of rows", where=where)
    if len(rows) > MAX_ROWS:
        raise LimitExceeded(f"{where} has {len(rows):,} rows, at most {MAX_ROWS:,} are allowed")
    read = tuple(_row(row, columns, f"{where}[{place}]") for place, row in enumerate(rows))
    return LookupTable(columns, tuple(dict.fromkeys(read)))


def write_lookup(lookup: LookupTable) -> dict[str, object]:
    """The table that `read_lookup` reads back as the same lookup table."""
    return {
        "columns": [{"name": one.name, "type": one.type.value} for one in lookup.columns],
        "rows": [list(map(_written, row, lookup.types)) for row in lookup.rows],
    }


def read_lookups(table: object, where: str) -> dict[str, LookupTable]:
    """Lookup tables by their names. Raises as `read_lookup`."""
    section = Section({"lookup": table}, where)
    return {name: read_lookup(one) for name, one in section.named("lookup").items()}


def write_lookups(lookups: Mapping[str, LookupTable]) -> dict[str, object]:
    """The table that `read_lookups` reads back as the same lookup tables."""
    return {name: write_lookup(one) for name, one in sorted(lookups.items())}


def check_lookup_name(name: str, where: str) -> None:
    """Raises `BadInput` for a name that cannot be used in an expression."""
    if re.fullmatch(LOOKUP_NAME, name) is None:
        raise BadInput(f"expected a name of letters, digits and `_`, got `{name}`", where=where)


def types_of(lookups: Mapping[str, LookupTable]) -> dict[str, tuple[Type, ...]]:
    """The types of the columns of each lookup table, in the form of `checker.Table`."""
    return {name: lookup.types for name, lookup in lookups.items()}


def _column(section: Section) -> LookupColumn:
    name = section.text("name")
    check_lookup_name(name, section.at("name"))
    options = {type.value: type for type in COLUMN_TYPES}
    column = LookupColumn(name, options[section.choice("type", options, Type.STRING.value)])
    section.close()
    return column


def _row(row: object, columns: tuple[LookupColumn, ...], where: str) -> tuple[str, ...]:
    if not isinstance(row, list) or len(row) != len(columns):
        raise BadInput(f"expected a list of {len(columns)} values", where=where)
    return tuple(
        _value(value, column, f"{where}[{place}]")
        for place, (value, column) in enumerate(zip(row, columns, strict=True))
    )


def _value(value: object, column: LookupColumn, where: str) -> str:
    expected = f"expected a value of type {column.type} for the column `{column.name}`"
    if value is None:
        raise BadInput(f"{expected}, got null, which no value equals", where=where)
    if isinstance(value, bool) and column.type is Type.BOOLEAN:
        return str(value).lower()
    if type(value) is int and column.type in (Type.INTEGER, Type.DECIMAL):
        value = str(value)
    if not isinstance(value, str):
        raise BadInput(expected, where=where)
    if len(value) > MAX_VALUE:
        raise BadInput(f"{len(value)} characters, at most {MAX_VALUE} are allowed", where=where)
    if not _fits(value, column.type):
        raise BadInput(f"{expected}, got `{value[:60]}`", where=where)
    return str(int(value)) if column.type is Type.INTEGER else value


def _fits(value: str, type: Type) -> bool:
    if type is Type.STRING:
        return is_comparable(value)
    return is_constant(value, type)


def _written(value: str, type: Type) -> Value:
    if type is Type.INTEGER:
        return int(value)
    return value == "true" if type is Type.BOOLEAN else value
