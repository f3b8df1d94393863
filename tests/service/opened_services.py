"""A decision service over a fresh store, with an administrator and one realm."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from lakewarden.kernel.change import EntityAdded, MembershipChanged, PrincipalChanged
from lakewarden.kernel.relations import MembershipRow
from lakewarden.service import people, realms
from lakewarden.service.actor import SYSTEM, Actor
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.effect import Effect
from lakewarden.service.realm import DIRECTORY, Realm
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.store import open_store
from lakewarden.testing.world_draft import NOW

ADMIN: Final = Actor("root", credential="test")
EVE: Final = Actor("eve", credential="test")
LAKE: Final = "lake"


@contextmanager
def opened(
    folder: Path, model: str = "gravitino", settings: Mapping[str, str] | None = None
) -> Iterator[DecisionService]:
    """The decision service; `ADMIN` administers lakewarden, and the realm `lake` is empty."""
    with open_store(f"sqlite:///{folder}/lakewarden.db") as store:
        service = DecisionService(store, clock=lambda: NOW)
        service.open()
        if not service.state.realms:
            service.write(SYSTEM, lambda transaction: _make(transaction, model, settings or {}))
        yield service


def _make(transaction: WriteTransaction, model: str, settings: Mapping[str, str]) -> None:
    realms.establish_control(transaction)
    people.make_administrator(transaction, ADMIN.user, DIRECTORY)
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
