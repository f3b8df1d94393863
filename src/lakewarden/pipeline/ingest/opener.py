"""How the files of a system are opened: what a system has for each kind of source."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from lakewarden.kernel.errors import Unknown
from lakewarden.pipeline.ingest.source import Source
from lakewarden.registry import registry

Options = Mapping[str, Any]
"""Options of the command line by name (`_` for `-`), as far as they were given."""


@dataclass(frozen=True, slots=True)
class Opener:
    """A kind of source that a system brings.

    `open` takes where it is (a path, or with `is_url` a URL), one of the `models`, the usual one
    first, and the options. `options` are the names of those that it takes; it cannot do without
    those that are `required`. What `is_asked` is a running system: its options have
    `credential`, `timeout` and `trusted`, too.
    """

    models: tuple[str, ...]
    open: Callable[[str, str, Options], Source]
    options: tuple[str, ...] = ()
    required: tuple[str, ...] = ()
    is_url: bool = False
    is_asked: bool = False


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
