"""Folders of Parquet files as tables; a query reads only the parts it needs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from lakewarden.kernel.errors import BadInput
from lakewarden.pipeline.storage.files import parquet_files
from lakewarden.pipeline.storage.location import Location
from lakewarden.pipeline.storage.remote_path import RemotePath

if TYPE_CHECKING:
    import pyarrow.dataset as ds


def dataset(folder: Location) -> ds.Dataset:
    """The files of a folder as one table."""
    import pyarrow.dataset as ds  # imports pandas, which a server does not need

    if not isinstance(folder, RemotePath):
        return ds.dataset(folder, format="parquet")
    parquet = ds.ParquetFileFormat()
    files = [file.open("rb") for file in parquet_files(folder)]
    if not files:
        raise BadInput("is missing; make the version anew", where=str(folder))
    fragments = [parquet.make_fragment(file) for file in files]
    return ds.FileSystemDataset(fragments, fragments[0].physical_schema, parquet)


def datasets(folders: Iterable[Location]) -> ds.Dataset:
    """The files of several folders as one table."""
    import pyarrow.dataset as ds

    return ds.dataset([dataset(folder) for folder in folders])
