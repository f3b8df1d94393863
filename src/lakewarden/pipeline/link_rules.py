"""Files with the rules that say which entities are one asset; see `service.link_rules`."""

from __future__ import annotations

from lakewarden.pipeline.storage.location import Location
from lakewarden.pipeline.toml_file import read_toml
from lakewarden.service.link_rules import Rules, read_rules


def read(path: Location) -> Rules:
    """The rules in a file. Raises `BadInput` with file, field and expectation."""
    return read_rules(read_toml(path))
