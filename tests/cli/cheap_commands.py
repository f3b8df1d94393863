"""Commands that run in one process share everything independent of a test.

Each spends a fifth of its time inspecting the parameters of its verb, which never change, and as
long loading a store, which is often the one that the previous command has read.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator, Mapping
from contextlib import contextmanager
from copy import copy
from functools import lru_cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import pydantic
import pydantic_settings  # noqa: F401 — it imports the type of adapters, which is replaced below
import pytest
from cyclopts.argument import Argument, ArgumentCollection

from lakewarden.service.audit import Head
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.state import State
from lakewarden.service.state_builder import NO_STARTS, Start

_MOST = 64
"""The number of loaded states in the LRU cache."""

_READ = ArgumentCollection._from_callable
_OPEN = DecisionService.open
_read: dict[Hashable, ArgumentCollection] = {}
_loaded: dict[bytes, State] = {}
_adapter = lru_cache(pydantic.TypeAdapter)


@contextmanager
def cheap_commands() -> Iterator[None]:
    """Makes commands in this process cheap, until the end of the block."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(ArgumentCollection, "_from_callable", _arguments)
        patch.setattr(pydantic, "TypeAdapter", _adapter)
        patch.setattr(DecisionService, "open", _open)
        yield


def _arguments(function: Any, *parameters: Any, **about: Any) -> ArgumentCollection:
    """The parameters of a verb, without values."""
    about["reserved"] = tuple(about.get("reserved") or ())
    key = (function, parameters, *sorted(about.items()))
    if key not in _read:
        _read[key] = _READ(function, *parameters, **about)
    return _unused(_read[key])


def _unused(read: ArgumentCollection) -> ArgumentCollection:
    copies: dict[int, Argument] = {id(one): copy(one) for one in read}
    for one in copies.values():
        one.tokens = []
        one.children = _with(one.children, copies)
    return _with(read, copies)


def _with(read: ArgumentCollection, copies: Mapping[int, Argument]) -> ArgumentCollection:
    found = copy(read)
    found[:] = [copies[id(one)] for one in read]
    return found


def _open(service: DecisionService, starts: Mapping[str, Start] = NO_STARTS) -> None:
    """Opens with the cached state of a byte-identical store; states are immutable."""
    before = None if starts else _digest(service)
    known = None if before is None else _loaded.pop(before, None)
    if known is None:
        _OPEN(service, starts)
        if before is None or _digest(service) != before:
            return
        known = service.state
    else:
        for realm in known.realms.values():
            # Cached results of the earlier store; they may differ from this store's.
            realm.matrix.snapshot.memos.derived.clear()
        service._adopt(known.at(service.clock()), Head())
    assert before is not None
    _loaded[before] = known
    if len(_loaded) > _MOST:
        del _loaded[next(iter(_loaded))]


def _digest(service: DecisionService) -> bytes | None:
    """The digest of a store in a file, including its write-ahead log."""
    url = service.store.engine.url  # type: ignore[attr-defined]  # stores of tests use SQL
    if url.get_backend_name() != "sqlite" or url.database is None:
        return None
    file = Path(url.database)
    found = sha256()
    for part in (file, file.with_name(f"{file.name}-wal")):
        if part.exists():
            found.update(part.read_bytes())
            found.update(b"\0")
    return found.digest()
