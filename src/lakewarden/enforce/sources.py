"""Where the rows of a table are, as an application registers it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb

from lakewarden.kernel.errors import BadInput

Source = Any
"""A relation of DuckDB, the path of a Parquet file, a table or data set of Arrow, or a frame."""


def relation(source: Source) -> duckdb.DuckDBPyRelation:
    """The rows of a source, in its own connection or a new one. Raises `BadInput`."""
    if isinstance(source, duckdb.DuckDBPyRelation):
        return source
    connection = duckdb.connect()
    try:
        if isinstance(source, str | Path):
            return connection.read_parquet(str(source))
        if hasattr(source, "to_arrow"):  # A frame of polars.
            source = source.to_arrow()
        if type(source).__module__.partition(".")[0] == "pandas":
            return connection.from_df(source)
        return connection.from_arrow(source)
    except (duckdb.Error, TypeError, ValueError) as error:
        raise BadInput(f"the source cannot be read: {type(error).__name__}") from None
