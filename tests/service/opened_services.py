"""A decision service over a fresh store, with an administrator and one realm."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Final

from lakewarden.kernel.change import EntityAdded, MembershipChanged, PrincipalChanged
from lakewarden.kernel.errors import WardenError
from lakewarden.kernel.relations import MembershipRow
from lakewarden.service import realms
from lakewarden.service.actor import SYSTEM, Actor
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.effect import Effect
from lakewarden.service.load import LoadResult, load_rows
from lakewarden.service.realm import DIRECTORY, Realm
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.store import SqlStore, open_store
from lakewarden.testing.changes import change
from lakewarden.testing.world_draft import NOW
from lakewarden.testing.worlds import make
from tests.administrators import make_administrator
from tests.agreement import harness
from tests.http.prepared import digest, load, prepared

ADMIN: Final = Actor("root", credential="test")
EVE: Final = Actor("eve", credential="test")
LAKE: Final = "lake"


@contextmanager
def opened(
    folder: Path,
    model: str = "gravitino",
    settings: Mapping[str, str] | None = None,
    *,
    beside: Realm | None = None,
) -> Iterator[DecisionService]:
    """The decision service; `ADMIN` administers lakewarden, and the realm `lake` is empty.

    The realm `beside` it is empty, too. The initial store and state are created once per process,
    and copied; states are immutable.
    """
    known = None
    if not (folder / _FILE).exists():
        kind = ("opened", model, tuple(sorted((settings or {}).items())), repr(beside))
        prepared(folder, kind, lambda fresh: _write(fresh, model, settings or {}, beside))
        known = digest(folder / _FILE)
    with open_store(f"sqlite:///{folder}/{_FILE}") as store:
        service = DecisionService(store, clock=lambda: NOW)
        load(service, known)
        yield service


_FILE: Final = "lakewarden.db"


def _write(
    folder: Path, model: str, settings: Mapping[str, str], beside: Realm | None = None
) -> None:
    with open_store(f"sqlite:///{folder}/{_FILE}") as store:
        service = DecisionService(store, clock=lambda: NOW)
        service.open()
        service.write(SYSTEM, lambda transaction: _make(transaction, model, settings))
        if beside is not None:
            service.write(SYSTEM, lambda transaction: realms.establish(transaction, beside))


def _make(transaction: WriteTransaction, model: str, settings: Mapping[str, str]) -> None:
    realms.establish_control(transaction)
    make_administrator(transaction, ADMIN.user, DIRECTORY)
    realms.establish(transaction, Realm(LAKE, model, settings=settings))


def furnish(service: DecisionService) -> None:
    """A small lake: two schemas with tables, and some people."""
    system = service.state.realm(LAKE).system
    entities = [
        *("metalake:lk", "catalog:lk:c", "schema:lk:c.s", "schema:lk:c.p"),
        *("table:lk:c.s.t", "table:lk:c.s.u", "table:lk:c.p.secret"),
    ]
    known = [system.entity(text) for text in entities]
    effects: list[Effect] = [EntityAdded(e, system.spelling.parent(e)) for e in known]
    for name in ("ana", "ben", "cid"):
        user = system.principal(name)
        effects.append(PrincipalChanged(user, True))
        row = MembershipRow(user, system.principal("members:lk"))
        effects.append(MembershipChanged(row, True))
    service.write(SYSTEM, lambda transaction: transaction.change(LAKE, *effects))


def change_at_random(service: DecisionService, seed: int, steps: int) -> Iterator[None]:
    """Fills the realm with a random world and changes it `steps` times, in one write each.

    Yields after each write; nothing if a load refuses the world, for example because of a cycle.
    """
    system = service.state.realm(LAKE).system
    try:
        facts = make(system, seed, harness.SMALL).facts
        assert isinstance(load_rows(service, ADMIN, LAKE, system, facts), LoadResult)
    except WardenError:
        return
    yield
    for step in range(steps):
        with service.reading() as reading:
            effect, _ = change(system, reading.facts(LAKE, system), seed + step)
        service.write(SYSTEM, partial(_change_lake, effect=effect))
        yield


def _change_lake(transaction: WriteTransaction, effect: Effect) -> None:
    transaction.change(LAKE, effect)


def prune_feed(service: DecisionService) -> None:
    """Prunes the change feed up to now."""
    assert isinstance(service.store, SqlStore)
    service.store.prune(service.state.revision)
