"""How a running system is read: what a system has for it."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from lakewarden.kernel.principal import Principal
from lakewarden.pipeline.extract.export import Export
from lakewarden.pipeline.extract.original import Original


@dataclass(frozen=True, slots=True)
class Extractor:
    """Reads a running system over its own API into files, which its source then reads.

    `extract` copies what the system shows, and asks about the principals, where the system tells
    about single ones only. `files` is the kind of source that reads the copies.
    `read_principals` reads a file of principals to ask about (text, and where it is); None: the
    system lists all there are. `takes_identity`: whether replies of the identity provider add
    who is in which group, which the system does not know itself.
    """

    extract: Callable[[Original, Export, Iterable[Principal]], None]
    files: str
    read_principals: Callable[[str, str], list[Principal]] | None = None
    takes_identity: bool = True
