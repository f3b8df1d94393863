"""A starting server: who may connect, how it responds, and when it reports its address."""

import asyncio
import os
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from queue import Queue
from typing import Any

import pytest
import structlog
import uvicorn

from lakewarden.app import row_preparer, server
from lakewarden.app.build import Application
from lakewarden.app.readiness import Readiness
from lakewarden.config.settings import Settings
from lakewarden.kernel.change import PrincipalChanged
from lakewarden.kernel.errors import Unavailable
from lakewarden.service import row_preparation
from lakewarden.service.actor import SYSTEM
from tests.app.asgi import AppClient, close, json_of
from tests.app.serving import Served

PATIENCE = 60


class Held(Application):
    """An application that loads only when permitted, with an unavailable store until then."""

    def __init__(self, settings: Settings, **named: object) -> None:
        super().__init__(settings, **named)  # type: ignore[arg-type]
        self.is_opening = threading.Event()
        self.may_open = threading.Event()
        self.is_cut = False
        self.tries = 0

    def open(self) -> None:
        self.tries += 1
        self.is_opening.set()
        if self.is_cut:
            raise Unavailable("the store does not answer: connection refused")
        assert self.may_open.wait(PATIENCE)
        super().open()


def _settings(folder: Path) -> Settings:
    return Settings(database=f"sqlite:///{folder}/store", admin="ana", open_metrics=True)


@contextmanager
def _running(
    folder: Path, sock: socket.socket, prepare: Callable[[Held], None]
) -> Iterator[tuple[Held, threading.Event]]:
    """A server in a thread, and whether it reported that it is ready."""
    settings, workers = _settings(folder), folder / "workers"
    workers.mkdir()
    held = Held(settings, readiness=Readiness(workers))
    prepare(held)
    config = server._config(settings, workers)
    config.app = lambda: held
    served = uvicorn.Server(config)
    running = threading.Thread(target=served.run, args=([sock],))
    ready, done = threading.Event(), threading.Event()
    telling = threading.Thread(
        target=server._when_ready, args=(settings, sock, workers, done, ready.set)
    )
    running.start()
    telling.start()
    try:
        assert held.is_opening.wait(PATIENCE)
        yield held, ready
    finally:
        held.is_cut = False
        held.may_open.set()
        served.should_exit = True
        done.set()
        running.join(PATIENCE)
        telling.join(PATIENCE)
        sock.close()


def _asking(port: int) -> Callable[..., tuple[int, bytes]]:
    def ask(path: str) -> tuple[int, bytes]:
        served = Served(None, f"http://127.0.0.1:{port}", Path())
        answer = served.ask("GET", path, user="ana")
        return answer.status, answer.body

    return ask


def _until(what: Callable[[], bool]) -> None:
    end = threading.Event()
    for _ in range(PATIENCE * 100):
        if what():
            return
        end.wait(0.01)
    raise AssertionError("it never came")


def test_nobody_connects_before_the_state_is_loaded(tmp_path: Path) -> None:
    sock = server.bind("127.0.0.1", 0)
    port = sock.getsockname()[1]
    with _running(tmp_path, sock, lambda held: None) as (held, ready):
        with pytest.raises(ConnectionRefusedError):
            socket.create_connection(("127.0.0.1", port), timeout=PATIENCE)
        assert not ready.is_set()
        with pytest.raises(Unavailable, match="cannot listen"):
            server.bind("127.0.0.1", port)  # although nobody is listening yet
        held.may_open.set()
        assert ready.wait(PATIENCE)
        ask = _asking(port)
        assert {ask(path)[0] for path in ("/healthz", "/readyz", "/api/metalakes")} == {200}


def test_a_store_that_is_away_is_told_from_one_that_is_being_read(tmp_path: Path) -> None:
    sock = server.bind("127.0.0.1", 0)
    ask = _asking(sock.getsockname()[1])
    with _running(tmp_path, sock, lambda held: setattr(held, "is_cut", True)) as (held, ready):
        _until(lambda: sock.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN) == 1)
        assert ask("/healthz")[0] == 200
        status, body = ask("/readyz")
        assert (status, b'"store unavailable"' in body) == (503, True)
        status, body = ask("/api/metalakes")
        assert (status, b"cannot be reached" in body) == (503, True)
        assert not ready.is_set()
        held.is_cut = False
        held.may_open.set()
        assert ready.wait(PATIENCE)
        assert ask("/api/metalakes")[0] == 200


PATHS = ("/api/metalakes", "/config", "/api/graphql", "/v3/namespaces", "/api/v1/realms")


@pytest.mark.parametrize("path", PATHS)
def test_every_dialect_says_which_of_the_two_it_is(tmp_path: Path, path: str) -> None:
    application = Application(_settings(tmp_path))
    client = AppClient(application, asyncio.new_event_loop())
    ask = partial(client.ask, "POST" if "graphql" in path else "GET", path, b"")
    starting = ask()
    application.parts.is_away = True
    away = ask()
    close(client)
    assert starting.status == away.status == 503
    assert starting.headers["retry-after"] == away.headers["retry-after"] == "1"
    assert (b"is starting" in starting.body, b"is starting" in away.body) == (True, False)
    assert (b"reached" in starting.body, b"reached" in away.body) == (False, True)


def test_readiness_and_problem_types_tell_them_apart_too(tmp_path: Path) -> None:
    application = Application(_settings(tmp_path))
    client = AppClient(application, asyncio.new_event_loop())
    ready, problem = client.ask("GET", "/readyz"), client.ask("GET", "/api/v1/realms")
    assert (ready.status, json_of(ready)["status"]) == (503, "starting")
    assert ready.headers["retry-after"] == "1"
    assert json_of(problem)["type"] == "urn:lakewarden:problem:starting"
    application.parts.is_away = True
    assert json_of(client.ask("GET", "/readyz"))["status"] == "store unavailable"
    problem = client.ask("GET", "/api/v1/realms")
    assert json_of(problem)["type"] == "urn:lakewarden:problem:unavailable"
    close(client)


def test_a_worker_that_starts_while_another_is_ready_answers_nothing_until_it_is(
    tmp_path: Path,
) -> None:
    readiness = Readiness(tmp_path)
    (tmp_path / f"ready-{os.getppid()}").touch()  # another process, which is alive
    held = Held(_settings(tmp_path), readiness=readiness)
    held.is_cut = True
    held.may_open.set()

    async def run() -> None:
        waiting = asyncio.create_task(held._until_it_answers())
        opening = asyncio.create_task(held._open())
        while held.tries < 3:
            await asyncio.sleep(0.01)
        assert not waiting.done()
        held.is_cut = False
        await waiting
        assert held.parts.is_open
        assert readiness.count() == 2
        await opening

    with structlog.testing.capture_logs() as told_lines:
        asyncio.run(run())
    causes = [line["why"] for line in told_lines if line["event"] == "not ready"]
    assert causes == ["the store does not answer: connection refused"]  # not once per attempt
    held.close()
    readiness.withdraw()
    assert readiness.count() == 1


def test_of_dead_processes_none_is_ready(tmp_path: Path) -> None:
    for name in ("ready-4194305", "ready-", "ready-x", "other"):  # above the highest process id
        (tmp_path / name).touch()
    assert Readiness(tmp_path).count() == 0
    assert Readiness(tmp_path / "gone").count() == 0


def test_rows_are_made_ahead_after_a_start_and_a_change_until_the_server_ends(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    prepared: Queue[list[str]] = Queue()
    prepare = row_preparation.prepare_rows

    def noted(*given: Any) -> Iterator[row_preparation.RowKey]:
        users = []
        for step in prepare(*given):
            users.append(step.user.name)
            yield step
        if users:
            prepared.put(users)

    monkeypatch.setattr(row_preparation, "prepare_rows", noted)
    monkeypatch.setattr(row_preparer, "_PASS_SECONDS", 0.01)
    application = Application(_settings(tmp_path))
    application.open()
    service = application.parts.service
    preparing = application.prepare_rows()
    assert prepared.get(timeout=PATIENCE)
    zoe = PrincipalChanged(service.state.realm("datahub").system.principal("user:zoe"), True)
    service.write(SYSTEM, lambda transaction: transaction.change("datahub", zoe))
    assert zoe.principal.name in prepared.get(timeout=PATIENCE)
    hub = service.state.realm("datahub").matrix
    assert any(
        zoe.principal in (e.subject.principal for e in p.entries.values())
        for p in hub._plans.values()
    )
    application.close()
    preparing.join(PATIENCE)
    assert not preparing.is_alive()


def test_rows_that_cannot_be_made_ahead_are_told_of_and_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tries: Queue[object] = Queue()

    def fail(*given: Any) -> Iterator[row_preparation.RowKey]:
        tries.put(given)
        raise ZeroDivisionError

    monkeypatch.setattr(row_preparation, "prepare_rows", fail)
    monkeypatch.setattr(row_preparer, "_PASS_SECONDS", 0.01)
    application = Application(_settings(tmp_path))
    application.open()
    preparing = application.prepare_rows()
    for _ in range(2):
        tries.get(timeout=PATIENCE)
    application.close()
    preparing.join(PATIENCE)
    assert not preparing.is_alive()
