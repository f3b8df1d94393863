"""Folders of Parquet as one table each, of which a query reads what it needs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from lakewarden.pipeline.storage.location import Location

if TYPE_CHECKING:
    import pyarrow.dataset as ds


def dataset(folder: Location) -> ds.Dataset:
    """The files of a folder as one table."""
    import pyarrow.dataset as ds  # which imports pandas, and a server reads indexes without

    return ds.dataset(folder, format="parquet")


def datasets(folders: Iterable[Location]) -> ds.Dataset:
    """The files of several folders as one table."""
    import pyarrow.dataset as ds

    return ds.dataset([dataset(folder) for folder in folders])
