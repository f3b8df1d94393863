"""A search whose caller has disconnected ends, in a server with nothing else to do for it."""

from __future__ import annotations

import asyncio
import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from lakewarden.app.build import Application
from lakewarden.config.settings import Limits, Settings
from lakewarden.service.cancellation import Cancelled, check
from lakewarden.systems.datahub.http import DataHub
from lakewarden.systems.datahub.http.graphql.routes import PATHS
from lakewarden.systems.datahub.search import search
from tests.app.asgi import AppClient, close
from tests.app.test_given_up import PATIENCE, Caller

FILTER = '{and: [{field: "platform", values: ["urn:li:dataPlatform:hive"]}]}'
INPUT = f'{{query: "*", orFilters: [{FILTER}]}}'
SEARCHES = f"""{{
    a: searchAcrossEntities(input: {INPUT}) {{ total }}
    b: searchAcrossEntities(input: {INPUT}) {{ total }}
}}"""
BODY = json.dumps({"query": SEARCHES}).encode()


class Held:
    """A point inside a search: it continues once its caller has left, or is released."""

    def __init__(self) -> None:
        self.begun = threading.Semaphore(0)
        self.ended = threading.Semaphore(0)
        self.is_held = True
        self.outcomes: list[str] = []

    def check(self) -> None:
        self.begun.release()
        end = time.monotonic() + PATIENCE
        try:
            while self.is_held and time.monotonic() < end:
                check()
                time.sleep(0.001)
            self.outcomes.append("went on")
        except Cancelled:
            self.outcomes.append("given up")
            raise
        finally:
            self.ended.release()


@pytest.fixture
def held(monkeypatch: pytest.MonkeyPatch) -> Held:
    one = Held()
    monkeypatch.setattr(search, "check", one.check)
    return one


@pytest.fixture
def server(tmp_path: Path) -> Iterator[AppClient]:
    """One thread for each caller."""
    limits = Limits(request_seconds=PATIENCE, caller_threads=1, caller_waiting_requests=1)
    application = Application(
        Settings(database=f"sqlite:///{tmp_path}/store", limits=limits), [DataHub()]
    )
    application.open()
    one = AppClient(application, asyncio.new_event_loop())
    yield one
    close(one)


def test_a_search_ends_when_its_caller_goes(server: AppClient, held: Held) -> None:
    async def run() -> None:
        caller = Caller(server, PATHS[0], "admin", BODY)
        assert await asyncio.to_thread(held.begun.acquire, timeout=PATIENCE)
        caller.gone.set()
        await caller.task
        assert await asyncio.to_thread(held.ended.acquire, timeout=PATIENCE)
        assert caller.told == []
        held.is_held = False
        # The caller's only thread is free, and awaited requests complete.
        assert await Caller(server, PATHS[0], "admin", BODY).status() == 200

    server.loop.run_until_complete(run())
    assert held.outcomes == ["given up", "went on", "went on"]
