"""Requests whose caller has left: reads for them stop, writes are completed."""

import asyncio
import threading
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from lakewarden.app.build import Application
from lakewarden.config.settings import Limits, Settings
from lakewarden.http.exchange import Exchange, Reply, Route
from lakewarden.kernel.change import EntityAdded
from lakewarden.kernel.entity import Entity
from lakewarden.service.cancellation import Cancelled, check
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.store.engine import translated_errors
from tests.app.asgi import AppClient, close
from tests.app.serving import basic
from tests.app.stub import Stub

PATIENCE = 60
ENDLESS = "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT max(x) FROM n"


class Working(Stub):
    """Handlers that work until they are cancelled, and their outcomes."""

    def __init__(self) -> None:
        super().__init__()
        self.begun = threading.Semaphore(0)
        self.ended = threading.Semaphore(0)
        self.may_write = threading.Event()
        self.outcomes: list[str] = []

    def routes(self) -> Sequence[Route]:
        return (
            *super().routes(),
            Route("POST", "/stub/computing", "metalake.create", self._told(_compute)),
            Route("POST", "/stub/reading", "metalake.create", self._told(_read)),
            Route("POST", "/stub/writing", "metalake.create", self._told(self._write)),
        )

    def _told(self, work: Callable[[Exchange], Reply]) -> Callable[[Exchange], Reply]:
        def run(exchange: Exchange) -> Reply:
            self.begun.release()
            try:
                reply = work(exchange)
                self.outcomes.append("done")
                return reply
            except Cancelled:
                self.outcomes.append("given up")
                raise
            finally:
                self.ended.release()

        return run

    def _write(self, exchange: Exchange) -> Reply:
        def task(transaction: WriteTransaction) -> None:
            assert self.may_write.wait(PATIENCE)
            check()
            transaction.change(exchange.realm, EntityAdded(Entity("metalake", "kept")))

        exchange.write(task)
        return Reply(200)


def _compute(exchange: Exchange) -> Reply:
    while True:
        check()


def _read(exchange: Exchange) -> Reply:
    with exchange.service.reading() as reading:
        connection = reading._connection  # type: ignore[attr-defined]
        with translated_errors():
            connection.exec_driver_sql(ENDLESS).all()
    return Reply(200)


def _asked(folder: Path, request_seconds: float) -> tuple[AppClient, Working]:
    limits = Limits(request_seconds=request_seconds, caller_threads=1, caller_waiting_requests=1)
    stub = Working()
    settings = Settings(database=f"sqlite:///{folder}/store", limits=limits)
    application = Application(settings, [stub])
    application.open()
    return AppClient(application, asyncio.new_event_loop()), stub


@pytest.fixture
def patient(tmp_path: Path) -> Iterator[tuple[AppClient, Working]]:
    app_client, stub = _asked(tmp_path, PATIENCE)
    yield app_client, stub
    stub.may_write.set()
    close(app_client)


class Caller:
    """A request whose caller may disconnect."""

    def __init__(
        self, app_client: AppClient, path: str, user: str = "eve", body: bytes = b""
    ) -> None:
        self._body = body
        self.gone = asyncio.Event()
        self.told: list[MutableMapping[str, Any]] = []
        self._read = False
        scope = {
            "type": "http",
            "method": "POST",
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "headers": [
                (b"authorization", basic(user).encode()),
                *([(b"content-type", b"application/json")] if body else []),
            ],
            "client": ("127.0.0.1", 1),
        }
        self.task = asyncio.ensure_future(app_client.application(scope, self._receive, self._send))

    async def _receive(self) -> MutableMapping[str, Any]:
        if not self._read:
            self._read = True
            return {"type": "http.request", "body": self._body, "more_body": False}
        await self.gone.wait()
        return {"type": "http.disconnect"}

    async def _send(self, message: MutableMapping[str, Any]) -> None:
        self.told.append(message)

    async def status(self) -> int:
        await self.task
        status: int = self.told[0]["status"]
        return status


async def _wait(semaphore: threading.Semaphore) -> None:
    assert await asyncio.to_thread(semaphore.acquire, timeout=PATIENCE)


@pytest.mark.parametrize("path", ["/stub/computing", "/stub/reading"])
def test_who_leaves_stops_what_was_computed_or_read(
    patient: tuple[AppClient, Working], path: str
) -> None:
    app_client, stub = patient

    async def run() -> None:
        caller = Caller(app_client, path)
        await _wait(stub.begun)
        caller.gone.set()
        await caller.task
        await _wait(stub.ended)
        assert caller.told == []
        # The thread and the connection can serve the next request.
        assert await Caller(app_client, "/stub").status() == 200

    app_client.loop.run_until_complete(run())
    assert stub.outcomes == ["given up"]


@pytest.mark.parametrize("path", ["/stub/computing", "/stub/reading"])
def test_what_takes_too_long_is_stopped(tmp_path: Path, path: str) -> None:
    app_client, stub = _asked(tmp_path, 0.2)

    async def run() -> None:
        assert await Caller(app_client, path).status() == 503
        await _wait(stub.ended)

    app_client.loop.run_until_complete(run())
    close(app_client)
    assert stub.outcomes == ["given up"]


def test_a_write_that_is_given_up_before_its_commit_leaves_nothing(
    patient: tuple[AppClient, Working],
) -> None:
    app_client, stub = patient

    async def run() -> None:
        caller = Caller(app_client, "/stub/writing")
        await _wait(stub.begun)
        caller.gone.set()
        await caller.task
        stub.may_write.set()
        await _wait(stub.ended)

    app_client.loop.run_until_complete(run())
    assert stub.outcomes == ["given up"]
    tree = app_client.service.catch_up().realm("gravitino").matrix.snapshot.coded.tree
    assert tree.find(Entity("metalake", "kept")) is None


def test_one_caller_is_refused_what_others_still_get(patient: tuple[AppClient, Working]) -> None:
    app_client, stub = patient

    async def run() -> None:
        working = Caller(app_client, "/stub/computing")
        await _wait(stub.begun)
        waiting = Caller(app_client, "/stub/computing")
        while app_client.application._gate._queue.waiting < 1:
            await asyncio.sleep(0.001)
        refused = Caller(app_client, "/stub/computing")
        assert await refused.status() == 503
        assert (b"retry-after", b"1") in refused.told[0]["headers"]
        assert await Caller(app_client, "/stub", "ana").status() == 200
        for caller in (waiting, working):
            caller.gone.set()
            await caller.task
        await _wait(stub.ended)

    app_client.loop.run_until_complete(run())
    assert stub.outcomes == ["given up"]  # queued requests never began
