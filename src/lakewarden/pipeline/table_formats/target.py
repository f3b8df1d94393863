"""The formats in which the tables of a folder of versions are committed, beside Parquet."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass
from typing import Literal, NamedTuple

from lakewarden.kernel.errors import BadInput
from lakewarden.pipeline.storage.location import Location
from lakewarden.pipeline.storage.remote_path import RemotePath
from lakewarden.pipeline.table_formats import catalog, delta, duckdb_file
from lakewarden.pipeline.table_formats.catalog import check_named, open_catalog, properties_of
from lakewarden.pipeline.table_formats.delta import commit_delta
from lakewarden.pipeline.table_formats.duckdb_file import commit_duckdb
from lakewarden.pipeline.table_formats.iceberg import commit_iceberg
from lakewarden.pipeline.table_formats.library import need
from lakewarden.pipeline.table_formats.version import newest_version
from lakewarden.pipeline.version_folder import locked

TableFormat = Literal["parquet", "iceberg", "delta", "duckdb"]


class Committed(NamedTuple):
    """The version whose tables are committed, and the tables that this run committed."""

    version: int
    tables: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Target:
    """A format; for Iceberg the catalog (see `open_catalog`) and the namespace.

    The namespace is by default the kind of the folder, such as `review`.
    """

    format: TableFormat = "parquet"
    catalog: str | None = None
    namespace: str | None = None

    def check(self) -> None:
        """Raises `BadInput` for contradictory options, `Unavailable` for a missing library."""
        if self.format != "iceberg":
            for option, value in (("catalog", self.catalog), ("namespace", self.namespace)):
                if value is not None:
                    raise BadInput("only with `--table-format iceberg`", where=f"--table-{option}")
        if self.format == "iceberg":
            need(*catalog.LIBRARY)
            if self.catalog is not None:
                properties_of(self.catalog)
        elif self.format == "delta":
            need(*delta.LIBRARY)
        elif self.format == "duckdb":
            need(*duckdb_file.LIBRARY)

    def commit(self, out: Location) -> Committed | None:
        """Commits the current version if needed; None if there is nothing to commit.

        An object store has no lock: each commit of a table there requires that no other writer
        changed the table since the version was seen to be current.

        Raises `BadInput` for a folder that cannot have the format; `Conflict` if another process
        works on the folder or changed a table; `Unavailable` if tables cannot be written. The
        version itself stays current in each case.
        """
        if self.format == "parquet":
            return None
        self._check_place(out)
        if newest_version(out) is None:
            return None
        with nullcontext() if isinstance(out, RemotePath) else locked(out):
            version = newest_version(out)
            if version is None:
                return None
            if self.format == "delta":
                tables = commit_delta(version)
            elif self.format == "duckdb":
                tables = commit_duckdb(version)
            else:
                with open_catalog(self.catalog, out) as opened:
                    tables = commit_iceberg(opened, self.namespace or version.kind, version)
        return Committed(version.number, tuple(tables))

    def _check_place(self, out: Location) -> None:
        """Raises `BadInput` for a folder that cannot have tables of the format."""
        if self.format == "iceberg":
            check_named(self.catalog, out)
        elif self.format == "delta":
            delta.storage_options(out)
