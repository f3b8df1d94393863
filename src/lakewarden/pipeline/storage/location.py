"""The location of a file or folder, and its form for Spark."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final, TypeAlias

from lakewarden.kernel.errors import BadInput
from lakewarden.pipeline.storage.remote_path import RemotePath, remote_path

Location: TypeAlias = Path | RemotePath
"""The location of an input, an output or a checkpoint."""

_LOCAL: Final = "file://"
_S3: Final = "s3://"
_GLOB: Final = re.compile(r"([{}\[\]*?\\])")
_DUCKDB_GLOB: Final = re.compile(r"([\[*?])")


def location(text: str) -> Location:
    """The location that a text names: a path, or an address. Raises `BadInput`."""
    return remote_path(text) or Path(text)


def on_this_machine(place: Location) -> Path:
    """The path of a location that must be on the local file system. Raises `BadInput`."""
    if isinstance(place, RemotePath):
        raise BadInput("expected a folder of this machine", where=str(place))
    return place


def written_to(place: Location) -> str:
    """The location in the form that Spark writes to."""
    if isinstance(place, RemotePath):
        address = str(place)
        # Hadoop's client of S3 uses another scheme than all other clients.
        return "s3a://" + address.removeprefix(_S3) if address.startswith(_S3) else address
    return f"{_LOCAL}{place.resolve()}"


def read_from(place: Location) -> str:
    """The location in the form that Spark reads from, with wildcard characters escaped."""
    return _GLOB.sub(r"\\\1", written_to(place))


def for_duckdb(place: Path) -> str:
    """The location in the form that DuckDB reads from, with wildcard characters escaped.

    >>> for_duckdb(Path("/lake[1]/a*b"))
    '/lake[[]1]/a[*]b'
    """
    return _DUCKDB_GLOB.sub(r"[\1]", str(place.absolute()))


def uri_of(place: Location) -> str:
    """The URI that identifies the location for other systems."""
    return str(place) if isinstance(place, RemotePath) else place.resolve().as_uri()
