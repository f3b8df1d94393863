"""Targets that accept connections but never respond: others are still served and checked."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from lakewarden.app.drift_checks import DriftChecks
from lakewarden.app.push_connection import connect_target
from lakewarden.app.push_worker import PushWorker
from lakewarden.app.target_threads import MOST
from lakewarden.cli.push_deliver import _once, _until_stopped
from lakewarden.kernel.errors import Unavailable, WardenError
from lakewarden.pushdown.ranger import admin
from lakewarden.service import push_outbox
from lakewarden.service.push_delivery import Delivery
from lakewarden.service.push_outbox import LEASE_SECONDS
from lakewarden.service.push_target import PushTarget
from lakewarden.service.push_target_check import declared
from lakewarden.service.push_watch import DriftCheck, PushWatch
from tests.pushdown.ranger.admin_server import serving
from tests.pushdown.ranger.worlds import ranger_of
from tests.pushdown.silent import Silent, silence
from tests.systems.gravitino.http.wire import REALM, Wire
from tests.systems.gravitino.push.hooked import GRANT, LAKE
from tests.systems.gravitino.push.test_changed_meanwhile import OWN, Followed
from tests.systems.gravitino.push.test_ranger_style import of_hive

WAIT_SECONDS = 60.0


@pytest.fixture(name="port")
def _port(monkeypatch: pytest.MonkeyPatch) -> Iterator[Silent]:
    monkeypatch.setattr(admin, "_FIRST_PAUSE_SECONDS", 0.0)
    with silence() as port:
        yield port


@pytest.fixture(name="followed")
def _followed(tmp_path: Path, port: Silent) -> Iterator[Followed]:
    """The target `rg`, and one target for each thread on a port that hangs."""
    with serving(ranger_of("hive")) as ranger, Wire(tmp_path) as wire:
        made = Followed(wire, ranger)
        made.administer()
        of_hive(wire, ranger, with_plugin=False)
        wire.good("PUT", f"{LAKE}/permissions/users/ana/grant", GRANT)
        for number in range(MOST):
            address = f"ranger+http://ops:secret@127.0.0.1:{port.port}/svc"
            new = declared(f"a{number}", REALM, OWN, address, follow=True)
            assert made.pushing().add(new, address) is None
        made.now += 1.0
        made.add(OWN)
        yield made


def raised(error: Exception) -> None:
    raise error


def test_however_many_hang_another_one_is_told(followed: Followed, port: Silent) -> None:
    port.hangs = False
    assert followed.deliver() == 1
    followed.wire.good("PUT", f"{LAKE}/permissions/users/ana/revoke", GRANT)
    assert followed.users() == {"ana"}
    port.hangs, arrived = True, threading.Event()
    followed.now += 600.0

    def told(target: PushTarget, count: int, error: str) -> None:
        if target.name == "rg":
            arrived.set()

    found = followed.delivery()
    delivery = Delivery(found.service, found.sealing, found.connect, found.hosts, told)
    worker = PushWorker(delivery, raised)
    worker.start()
    try:
        assert arrived.wait(WAIT_SECONDS)
        assert followed.users() == set()
    finally:
        port.close()
        worker.stop()


def test_a_store_that_is_away_is_told_of() -> None:
    heard = threading.Event()

    class Away(Delivery):
        def behind(self) -> list[push_outbox.Followed]:
            raise Unavailable("the store is away")

    def away(error: WardenError) -> None:
        assert str(error) == "the store is away"
        heard.set()

    nothing: Any = None
    worker = PushWorker(Away(nothing, None, nothing, ()), raised, away)
    worker.start()
    try:
        assert heard.wait(WAIT_SECONDS)
    finally:
        worker.stop()


@pytest.fixture
def handlers() -> Iterator[None]:
    """Restores the signal handlers after the test."""
    before = {one: signal.getsignal(one) for one in (signal.SIGTERM, signal.SIGINT)}
    yield
    for one, handler in before.items():
        signal.signal(one, handler)


@pytest.mark.usefixtures("handlers")
def test_delivering_apart_goes_on_until_it_is_stopped(followed: Followed, port: Silent) -> None:
    def told(target: PushTarget, count: int, error: str) -> None:
        if target.name == "rg":
            os.kill(os.getpid(), signal.SIGTERM)

    port.hangs = False
    assert followed.deliver() == 1
    followed.wire.good("PUT", f"{LAKE}/permissions/users/ana/revoke", GRANT)
    followed.now += 600.0
    found = followed.delivery()
    _until_stopped(Delivery(found.service, found.sealing, found.connect, found.hosts, told))
    assert followed.users() == set()


def test_delivering_once_holds_on_to_what_takes_long(followed: Followed) -> None:
    looked, dues = threading.Event(), list[str]()

    class Told(Delivery):
        def renew(self) -> None:
            super().renew()
            looked.set()

    @contextmanager
    def slow(target: PushTarget, *about: Any) -> Iterator[Any]:
        if target.name != "rg":
            raise Unavailable("away")
        with connect_target(target, *about) as session:
            held = until()
            followed.now += LEASE_SECONDS * 0.7
            while until() == held:
                assert looked.wait(WAIT_SECONDS)
                looked.clear()
            followed.now += LEASE_SECONDS * 0.7
            dues.extend(one.name for one in followed.delivery().due())
            yield session

    def until() -> float:
        return told._leases[REALM, "rg"].until

    followed.now += 600.0
    found = followed.delivery(slow)
    told = Told(found.service, found.sealing, found.connect, found.hosts)
    assert _once(told) == [*[False] * MOST, True]
    assert "rg" not in dues
    assert followed.users() == {"ana"}


@pytest.mark.usefixtures("handlers")
def test_delivering_apart_ends_with_what_is_no_error_of_a_target(followed: Followed) -> None:
    def broken(*about: Any) -> Any:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        _until_stopped(followed.delivery(broken))


def test_what_hangs_keeps_no_other_target_from_being_looked_at(
    followed: Followed, port: Silent
) -> None:
    port.hangs = False
    followed.deliver()
    port.hangs = True
    seen = DriftChecks(PushWatch(followed.pushing(), 300.0, ("a0", "a1", "rg")))
    assert seen.begin()
    first = next(seen.finished(WAIT_SECONDS))
    assert (first.target.name, first.error) == ("rg", "")
    assert list(seen.finished()) == []
    port.close()
    rest = {one.target.name: one for one in seen.finished(WAIT_SECONDS)}
    assert sorted(rest) == ["a0", "a1"]
    assert all("cannot be reached" in one.error for one in rest.values())
    seen.join(WAIT_SECONDS)
    assert not seen.begin()


def test_what_failed_is_looked_at_by_some_threads_alone(followed: Followed, port: Silent) -> None:
    port.hangs = False
    followed.deliver()
    stop = threading.Event()
    watching = PushWatch(followed.pushing(), 300.0)
    seen = DriftChecks(watching)
    found = {one.target.name: one for one in seen.all_due(stop)}
    assert sorted(found) == ["a0", "a1", "a2", "a3", "rg"]
    assert [name for name, one in found.items() if not one.error] == ["rg"]
    port.hangs = True
    followed.now += 600.0
    seen.begin()
    first = next(seen.finished(WAIT_SECONDS))
    assert first.target.name == "rg"
    port.close()
    rest = [one.target.name for one in seen.all_due(stop)]
    assert sorted(rest) == ["a0", "a1", "a2", "a3"]
    stop.set()
    assert list(seen.all_due(stop)) == []


def test_what_a_check_raises_is_heard(followed: Followed) -> None:
    class Broken(PushWatch):
        def check(self, target: PushTarget, now: float) -> DriftCheck:
            raise ValueError(target.name)

    seen = DriftChecks(Broken(followed.pushing(), 300.0, ("rg",)))
    seen.begin()
    with pytest.raises(ValueError, match="rg"):
        list(seen.finished(WAIT_SECONDS))
