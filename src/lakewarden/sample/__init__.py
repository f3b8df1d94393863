"""The sample estate: Quillmere, a garden and home retailer that does not exist.

Contains the export files, in each system's own format. Everything in it is invented; the README
beside this file describes who works there and which mistakes were planted.
"""

from __future__ import annotations

from pathlib import Path
from typing import Final

from lakewarden.registry import registry
from lakewarden.sample.part import SamplePart

DATA: Final = Path(__file__).with_name("data")
"""The folder of the export files."""

LINKS: Final = DATA.with_name("linked.toml")
"""Which tables are one asset in several systems, according to `links.toml` beside this file."""


def parts() -> dict[str, SamplePart]:
    """The part of each system, by the systems' names."""
    return {system.name: part for system, part in registry().with_part("sample")}


def path(system: str) -> Path:
    """The export of a system, a file or a folder."""
    return DATA / parts()[system].path
