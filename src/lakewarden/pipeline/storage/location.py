"""The place of a file or folder, and how Spark is told of it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, TypeAlias

from lakewarden.kernel.errors import BadInput
from lakewarden.pipeline.storage.remote_path import RemotePath, remote_path

Location: TypeAlias = Path | RemotePath
"""The place of an input, an output or a checkpoint."""

_LOCAL: Final = "file://"
_S3: Final = "s3://"
_GLOB: Final = re.compile(r"([{}\[\]*?\\])")
_DUCKDB_GLOB: Final = re.compile(r"([\[*?])")


def location(text: str) -> Location:
    """The place that a text names: a path, or an address. Raises `BadInput`."""
    return remote_path(text) or Path(text)


def on_this_machine(place: Location) -> Path:
    """The path of what only this machine's file system can hold. Raises `BadInput`."""
    if isinstance(place, RemotePath):
        raise BadInput("expected a folder of this machine", where=str(place))
    return place


def written_to(place: Location) -> str:
    """The place as Spark takes it to write."""
    if isinstance(place, RemotePath):
        address = str(place)
        # Hadoop's client of S3 has another scheme than everybody else.
        return "s3a://" + address.removeprefix(_S3) if address.startswith(_S3) else address
    return f"{_LOCAL}{place.resolve()}"


def read_from(place: Location) -> str:
    """The place as Spark takes it to read, where some characters would be wildcards."""
    return _GLOB.sub(r"\\\1", written_to(place))


def for_duckdb(place: Path) -> str:
    """The place as DuckDB takes it to read, where some characters would be wildcards.

    >>> for_duckdb(Path("/lake[1]/a*b"))
    '/lake[[]1]/a[*]b'
    """
    return _DUCKDB_GLOB.sub(r"[\1]", str(place.absolute()))


def uri_of(place: Location) -> str:
    """The URI that identifies the place, as other systems take it."""
    return str(place) if isinstance(place, RemotePath) else place.resolve().as_uri()
