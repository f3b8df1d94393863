"""The options for the table format of a job's output."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from cyclopts import Parameter

if TYPE_CHECKING:
    from lakewarden.pipeline.table_formats.target import Target


@Parameter("*")
@dataclass(frozen=True)
class TableOptions:
    """Where the tables are committed in addition to the Parquet files."""

    table_format: Annotated[
        Literal["parquet", "iceberg", "delta", "duckdb"],
        Parameter(help="Format in which the tables are committed, beside their Parquet files."),
    ] = "parquet"
    table_catalog: Annotated[
        str | None,
        Parameter(
            help="For `iceberg`: TOML file of the catalog's properties, or a name of pyiceberg's"
            " configuration; default: a catalog on SQLite in the output folder, if that is on this"
            " machine."
        ),
    ] = None
    table_namespace: Annotated[
        str | None,
        Parameter(help="For `iceberg`: the namespace; default: the kind of the product."),
    ] = None

    def target(self) -> Target:
        """The target of commits. Raises `BadInput` for invalid options or a missing library."""
        from lakewarden.pipeline.table_formats.target import Target

        target = Target(self.table_format, self.table_catalog, self.table_namespace)
        target.check()
        return target


AS_FILES = TableOptions()
