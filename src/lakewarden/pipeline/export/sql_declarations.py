"""The SQL that comes with an export: declarations of its tables in two engines, and the views."""

from __future__ import annotations

from importlib.resources import files
from typing import Final

from lakewarden.pipeline.export.schemas import SCHEMAS

DUCKDB: Final = "tables.duckdb.sql"
SPARK: Final = "tables.spark.sql"
VIEWS: Final = "views.sql"

FOLDER: Final = "tables"
"""The variable of Spark that names the folder of the tables."""

# No semicolons in comments: where an engine takes one statement at a time, files are cut there.
_DUCKDB: Final = "-- To be run in the folder of this file, or with that as file_search_path.\n"
_SPARK: Final = f"-- To be run after SET {FOLDER} = the folder of this file, as an address.\n"


def sql() -> dict[str, str]:
    """The files, by name."""
    return {
        DUCKDB: _DUCKDB + "".join(map(_duckdb, SCHEMAS)),
        SPARK: _SPARK + "".join(map(_spark, SCHEMAS)),
        VIEWS: files(__package__).joinpath(VIEWS).read_text("utf-8"),
    }


def _duckdb(table: str) -> str:
    source = f"read_parquet('{table}/*.parquet')"
    return f"CREATE OR REPLACE TEMPORARY VIEW {table} AS FROM {source};\n"


def _spark(table: str) -> str:
    source = f"USING parquet OPTIONS (path '${{{FOLDER}}}/{table}')"
    return f"CREATE OR REPLACE TEMPORARY VIEW {table} {source};\n"
