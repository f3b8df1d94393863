"""The interface by which a system's module reads a running system."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from lakewarden.kernel.principal import Principal
from lakewarden.pipeline.extract.export import Export
from lakewarden.pipeline.extract.original import Original


@dataclass(frozen=True, slots=True)
class Extractor:
    """Reads a running system over its own API into files, which its source then reads.

    `extract` copies everything that the system shows. For a system that only describes single
    principals, it queries each one. `files` is the kind of source that reads the copies.
    `read_principals` reads a file of principals to query (its text and place); None: the system
    lists all of them. `takes_identity`: whether replies of the identity provider add the group
    memberships, which the system does not know itself.
    """

    extract: Callable[[Original, Export, Iterable[Principal]], None]
    files: str
    read_principals: Callable[[str, str], list[Principal]] | None = None
    takes_identity: bool = True
