"""Folders of Parquet as one table each, of which a query reads what it needs."""

from __future__ import annotations

from collections.abc import Iterable

import pyarrow.dataset as ds

from lakewarden.pipeline.storage.location import Location


def dataset(folder: Location) -> ds.Dataset:
    """The files of a folder as one table."""
    return ds.dataset(folder, format="parquet")


def datasets(folders: Iterable[Location]) -> ds.Dataset:
    """The files of several folders as one table."""
    return ds.dataset([dataset(folder) for folder in folders])
