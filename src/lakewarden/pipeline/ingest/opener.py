"""Opens the files of a system: the sources that each system declares."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from lakewarden.kernel.errors import Unknown
from lakewarden.pipeline.ingest.source import Source
from lakewarden.registry import registry

Options = Mapping[str, Any]
"""Options of the command line by name (`_` for `-`), if they were given."""


@dataclass(frozen=True, slots=True)
class Opener:
    """A kind of source that a system declares.

    `open` takes the location (a path, or a URL with `is_url`), one of the `models` (the first is
    the default), and the options. `options` are the names of supported options; those that are
    `required` must be given. `is_asked` marks a running system: its options also include
    `credential`, `timeout` and `trusted`.
    """

    models: tuple[str, ...]
    open: Callable[[str, str, Options], Source]
    options: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    is_url: bool = False
    is_asked: bool = False


def openers() -> dict[str, str]:
    """The kinds of files that systems declare, with the systems."""
    systems = registry().systems.values()
    return {kind: system.name for system in systems for kind in system.sources}


def opener_of(kind: str) -> Opener:
    """The opener of a kind; raises `Unknown`."""
    for system in registry().systems.values():
        if kind in system.sources:
            opener: Opener = system.load(system.sources[kind])
            return opener
    raise Unknown("source", kind)
