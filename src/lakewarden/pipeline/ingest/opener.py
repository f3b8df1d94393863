"""How the files of a system are opened: what a system has for each kind of source."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from lakewarden.kernel.errors import Unknown
from lakewarden.pipeline.ingest.source import Source
from lakewarden.registry import registry


@dataclass(frozen=True, slots=True)
class Opener:
    """Opens a file or folder under one of the `models` of the system, the usual one first."""

    models: tuple[str, ...]
    open: Callable[[Path, str], Source]


def openers() -> dict[str, str]:
    """The kinds of files that systems bring, with the systems that bring them."""
    systems = registry().systems.values()
    return {kind: system.name for system in systems for kind in system.sources}


def opener_of(kind: str) -> Opener:
    """The opener of a kind; raises `Unknown`."""
    for system in registry().systems.values():
        if kind in system.sources:
            opener: Opener = system.load(system.sources[kind])
            return opener
    raise Unknown("source", kind)
