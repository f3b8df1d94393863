"""A folder that is made ready once and then copied: most of a small server's start is the same."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Hashable
from pathlib import Path

_READY: dict[Hashable, dict[str, bytes]] = {}


def prepared(folder: Path, kind: Hashable, make: Callable[[Path], None]) -> None:
    """Puts into the folder what `make` puts there; of each kind it is made once for a process.

    Everything that `make` opened must be closed when it returns.
    """
    if kind not in _READY:
        with tempfile.TemporaryDirectory(prefix="lakewarden-ready-") as fresh:
            make(Path(fresh))
            _READY[kind] = {one.name: one.read_bytes() for one in Path(fresh).iterdir()}
    for name, held in _READY[kind].items():
        (folder / name).write_bytes(held)
