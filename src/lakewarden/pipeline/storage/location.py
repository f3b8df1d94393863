"""The place of a file or folder, and how Spark is told of it."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

Location = Path
"""The place of an input, an output or a checkpoint."""

_LOCAL: Final = "file://"
_GLOB: Final = re.compile(r"([{}\[\]*?\\])")


def location(text: str) -> Location:
    """The place that a text names: a path."""
    return Path(text)


def written_to(place: Location) -> str:
    """The place as Spark takes it to write."""
    return f"{_LOCAL}{place.resolve()}"


def read_from(place: Location) -> str:
    """The place as Spark takes it to read, where some characters would be wildcards."""
    return _LOCAL + _GLOB.sub(r"\\\1", str(place.resolve()))


def uri_of(place: Location) -> str:
    """The URI that identifies the place, as other systems take it."""
    return place.resolve().as_uri()
