"""From index to servable snapshot: reads an index in a separate process, with time and memory.

python -m bench.pipeline.opening INDEX
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Sequence
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from bench.memory import resident_mib
from bench.timing import timed
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.principal import USER
from lakewarden.kernel.request import Request
from lakewarden.kernel.snapshot import Snapshot

INDEX = "lakewarden.pipeline.index.index"
"""The module that opens an index (`open_index`) and makes a snapshot of it (`snapshot`)."""


def can_read() -> bool:
    """Whether there is a module that reads an index."""
    return find_spec("lakewarden.pipeline.index") is not None and find_spec(INDEX) is not None


def read(path: Path) -> Snapshot:
    """The snapshot of an index, as a server loads it."""
    module = import_module(INDEX)
    snapshot: Snapshot = module.snapshot(module.open_index(path))
    return snapshot


def opened(path: Path) -> dict[str, Any]:
    """Seconds until the first answer, by step, and the memory in use then."""
    import_module(INDEX)
    before = resident_mib()
    snapshot, reading = timed(lambda: read(path))
    _, answering = timed(lambda: _first(snapshot))
    return {
        "seconds": {"read": reading, "first answer": answering},
        "entities": len(snapshot.coded.tree),
        "resident_mib": resident_mib() - before,
    }


def _first(snapshot: Snapshot) -> bool:
    """The answer to one question of some user about some entity."""
    people = snapshot.coded.memberships.principals
    user = next(principal for principal in people if principal.kind == USER)
    privilege = next(iter(snapshot.model.privileges))
    entity = snapshot.coded.tree.entity(snapshot.coded.tree.stored.max())
    return Matrix(snapshot).decide(Request(user, privilege, entity, time.time())).allow


def main(given: Sequence[str]) -> int:
    """Prints the figures as JSON; the exit code is 2 if no index is given."""
    if len(given) != 1:
        print(__doc__, file=sys.stderr)
        return 2
    print(json.dumps(opened(Path(given[0]))))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
