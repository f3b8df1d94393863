"""Servers that are prepared once and then copied, because most of their start is the same."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Hashable
from hashlib import sha256
from pathlib import Path

from lakewarden.service.audit import Head
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.state import State
from lakewarden.store import SqlStore, open_store
from lakewarden.store.engine import create

_READY: dict[Hashable, dict[str, bytes]] = {}
_DIGESTS: set[bytes | None] = set()
"""The digests of the files of all prepared servers."""

_LOADED: dict[bytes, State] = {}
_MOST = 64
"""The number of loaded states in the LRU cache."""


def prepared(folder: Path, kind: Hashable, make: Callable[[Path], None]) -> None:
    """Fills the folder with the files that `make` creates, once per kind and process.

    `make` must close everything that it opens before it returns.
    """
    if kind not in _READY:
        with tempfile.TemporaryDirectory(prefix="lakewarden-ready-") as fresh:
            make(Path(fresh))
            _READY[kind] = {one.name: one.read_bytes() for one in Path(fresh).iterdir()}
            _DIGESTS.update(sha256(held).digest() for held in _READY[kind].values())
    for name, held in _READY[kind].items():
        (folder / name).write_bytes(held)


def served(folder: Path, url: str = "") -> tuple[SqlStore, DecisionService]:
    """The opened store of the folder, or the one at `url`, and a service that has loaded it."""
    known = None if url else digest(folder / "store")
    # A store that was prepared here has the newest schema.
    address = url or f"sqlite:///{folder}/store"
    store = SqlStore(create(address)) if known in _DIGESTS else open_store(address)
    service = DecisionService(store)
    load(service, known)
    return store, service


def load(service: DecisionService, digest: bytes | None) -> None:
    """Loads the state of a service whose store had this digest when it was opened.

    States are immutable, so services over byte-identical stores begin with the same state.
    """
    known = None if digest is None else _LOADED.pop(digest, None)
    if known is None:
        service.open()
        known = service.state
    else:
        for realm in known.realms.values():
            # Cached results of the earlier store; they may differ from this store's.
            realm.matrix.snapshot.memos.derived.clear()
        service._adopt(known.at(service.clock()), Head())
    if digest is not None:
        _LOADED[digest] = known
        if len(_LOADED) > _MOST:
            del _LOADED[next(iter(_LOADED))]


def digest(file: Path) -> bytes | None:
    """The digest of the store's contents; None if it is open elsewhere or does not exist yet."""
    if not file.exists() or file.with_name(f"{file.name}-wal").exists():
        return None
    return sha256(file.read_bytes()).digest()
