"""The rows of a table, as an application registers them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb

from lakewarden.kernel.errors import BadInput
from lakewarden.names.letter_case import same_but_for_case

Source = Any
"""A DuckDB relation, the path of a Parquet file, an Arrow table or data set, or a data frame."""


def relation(source: Source) -> duckdb.DuckDBPyRelation:
    """The rows of a source, in its own connection or a new one.

    Raises `BadInput` if it cannot be read, or has columns whose names differ only in case:
    DuckDB renames one of them, and no mask and no DENY applies to the new name.
    """
    if isinstance(source, duckdb.DuckDBPyRelation):
        return source
    connection = duckdb.connect()
    names: Iterable[Iterable[object]]
    try:
        if isinstance(source, str | Path):
            rows = connection.read_parquet(str(source))
            names = _in_files(connection, str(source))
        else:
            if hasattr(source, "to_arrow"):  # A polars frame.
                source = source.to_arrow()
            is_pandas = type(source).__module__.partition(".")[0] == "pandas"
            rows = connection.from_df(source) if is_pandas else connection.from_arrow(source)
            names = [source.columns if is_pandas else _named(source)]
        for columns in names:
            _check(columns)
    except (duckdb.Error, AttributeError, TypeError, ValueError) as error:
        raise BadInput(f"the source cannot be read: {type(error).__name__}") from None
    return rows


def _named(source: Any) -> Iterable[str]:
    """The columns of a source with a schema: Arrow, or a lazy polars frame."""
    is_lazy = hasattr(source, "collect_schema")
    names: Iterable[str] = source.collect_schema() if is_lazy else source.schema.names
    return names


def _in_files(connection: duckdb.DuckDBPyConnection, path: str) -> Iterator[Sequence[str]]:
    """The top-level columns of each file, without nested ones."""
    schemas = "SELECT file_name, name, num_children FROM parquet_schema($path)"
    fields: dict[str, list[tuple[str, int]]] = {}
    for file, name, children in connection.execute(schemas, {"path": path}).fetchall():
        fields.setdefault(file, []).append((name, children or 0))
    for _, *below in fields.values():
        inside, names = 0, list[str]()
        for name, children in below:
            if not inside:
                names.append(name)
            inside += children - bool(inside)
        yield names


def _check(names: Iterable[object]) -> None:
    known: dict[str, str] = {}
    for name in map(str, names):
        other = known.setdefault(same_but_for_case(name), name)
        if other is not name:
            raise BadInput(f"the columns `{other}` and `{name}` differ in case alone")
