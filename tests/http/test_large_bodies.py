"""A write with a large body is processed outside of the lock, even if other writes come first."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from lakewarden.http.exchange import LARGE_BYTES
from lakewarden.kernel.change import PrincipalChanged
from lakewarden.kernel.principal import USER, Principal
from lakewarden.service.actor import SYSTEM
from lakewarden.service.decision_service import DecisionService
from tests.http.lock_spy import LockSpy, spied
from tests.systems.cdap.http.estate import build
from tests.systems.cdap.http.wire import Wire as CdapWire
from tests.systems.datahub.http.wire import Wire as DataHubWire
from tests.systems.datahub.http.wire import proposal
from tests.systems.gravitino.http.small_lake import COLUMNS, S, fill
from tests.systems.gravitino.http.wire import Wire as GravitinoWire

ORDERS = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)"
TEXT = "x" * (LARGE_BYTES + 1)


class Case(NamedTuple):
    """A request with a text in its body."""

    wire: Callable[[Path], Any]
    realm: str
    method: str
    path: str
    body: Callable[[str], object]
    begin: Callable[[Any], object] = lambda _: None


CASES = {
    "gravitino": Case(
        GravitinoWire,
        "gravitino",
        "POST",
        f"{S}/tables",
        lambda text: {"name": "large", "columns": COLUMNS, "properties": {"k": text}},
        fill,
    ),
    "datahub": Case(
        DataHubWire,
        "datahub",
        "POST",
        "/aspects?action=ingestProposal",
        lambda text: {"proposal": proposal(ORDERS, "datasetProperties", {"description": text})},
    ),
    "cdap": Case(
        CdapWire,
        "cdap",
        "PUT",
        "namespaces/sales/preferences",
        lambda text: {"k": text},
        build,
    ),
}
"""A writing route of each dialect."""


@contextmanager
def overtaken(wire: Any, realm: str, times: int) -> Iterator[list[int]]:
    """Others commit `times` times between the work and the commit; yields the attempts."""
    service: Any = wire.service
    other = DecisionService(wire.store)
    other.open()
    runs: list[int] = []
    done = service._attempt

    def overtaking(*arguments: Any) -> Any:
        prepared = done(*arguments)
        runs.append(len(runs))
        if len(runs) <= times:
            user = Principal(USER, f"overtaker{len(runs)}")
            other.write(SYSTEM, lambda t: t.change(realm, PrincipalChanged(user, True)))
        return prepared

    service._attempt = overtaking
    try:
        yield runs
    finally:
        del service._attempt


def sent(case: Case, folder: Path, text: str, times: int) -> tuple[int, LockSpy]:
    """Sends the request; the number of attempts before the lock, and the actions under it."""
    with case.wire(folder) as wire:
        case.begin(wire)
        with overtaken(wire, case.realm, times) as runs, spied(wire.service) as spy:
            wire.good(case.method, case.path, case.body(text))
        return len(runs), spy


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_a_large_write_is_worked_out_outside_of_the_lock(case: Case, tmp_path: Path) -> None:
    runs, spy = sent(case, tmp_path, TEXT, 2)
    assert (runs, spy.tasks) == (3, 0)
    assert spy.changes > 0


def test_a_small_one_that_was_overtaken_is_done_under_it(tmp_path: Path) -> None:
    runs, spy = sent(CASES["datahub"], tmp_path, "x", 1)
    assert (runs, spy.tasks) == (1, 1)
