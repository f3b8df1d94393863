"""SHA-256 of the files of a version: in this process, or in the tasks of a cluster."""

from __future__ import annotations

import os
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TYPE_CHECKING, Final

from lakewarden.pipeline.session import runs_locally
from lakewarden.pipeline.storage.files import sha256_of_file
from lakewarden.pipeline.storage.location import Location, read_from, written_to

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

FEW: Final = 256
"""How many files this process digests itself when Spark runs on other machines."""

_LARGEST: Final = 1 << 29
"""Largest file in bytes that a task loads into memory; larger ones are read in parts, here."""


def file_digests(
    folder: Location, names: Sequence[str], spark: SparkSession | None = None
) -> list[str]:
    """The digest of each file below a folder, in hexadecimal.

    Many files are read by the tasks of `spark`, if it runs on other machines. Raises `OSError` for
    a missing file.
    """
    is_far = spark is not None and len(names) > FEW and not runs_locally(spark)
    known = by_tasks(folder, spark) if spark is not None and is_far else {}
    left = [name for name in names if name not in known]
    # On all cores: hashing and reading release the interpreter lock.
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        digests = pool.map(sha256_of_file, (folder / name for name in left))
        known |= zip(left, digests, strict=True)
    return [known[name] for name in names]


def by_tasks(folder: Location, spark: SparkSession) -> dict[str, str]:
    """The digests of files below a folder, by name, except empty, large and hidden ones."""
    from pyspark.sql import functions as F  # noqa: N812 — the usual alias

    files = spark.read.format("binaryFile").option("recursiveFileLookup", "true")
    small = files.load(read_from(folder)).where(F.col("length") <= _LARGEST)
    table = small.select("path", F.sha2("content", 256)).toArrow()
    paths, digests = (column.to_pylist() for column in table.columns)
    above = f"{_as_spark_tells(folder)}/"
    return {path.removeprefix(above): digest for path, digest in zip(paths, digests, strict=True)}


def _as_spark_tells(place: Location) -> str:
    """The path as Hadoop writes it: a local one with a single slash."""
    return f"file:{place.resolve()}" if isinstance(place, Path) else written_to(place)
