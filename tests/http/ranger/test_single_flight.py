"""A slow build of documents delays no other request: counted on a real server, while blocked."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from lakewarden.http.ranger import download
from lakewarden.http.ranger.single_flight import SingleFlight
from lakewarden.kernel.errors import BadInput, Unavailable
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.ranger import document
from lakewarden.store import open_store
from tests.app.serving import Served
from tests.app.threaded import threaded
from tests.http.opa.test_served import ROOT, furnish

NOBODY_WAITS = 0.0
PATIENT = 60.0


class Slow:
    """Builds numbers, each only when permitted."""

    def __init__(self) -> None:
        self.go, self.begun = Event(), 0

    def make(self, before: int | None) -> int:
        self.begun += 1
        assert self.go.wait(PATIENT)
        return (before or 0) + 1


def test_who_cannot_wait_gets_the_value_before_and_nothing_is_made_twice() -> None:
    maker, slow = SingleFlight[int](NOBODY_WAITS), Slow()
    for _ in range(3):
        with pytest.raises(Unavailable, match="being made"):
            maker.newest(lambda _: True, slow.make)
    assert slow.begun == 1
    slow.go.set()
    assert SingleFlight[int](PATIENT).newest(lambda _: True, slow.make) == 1
    patient = maker._making
    assert patient is None or patient.result(PATIENT) == 1
    assert maker.newest(lambda value: value == 1, slow.make) == 1
    slow.go.clear()
    assert maker.newest(lambda value: value == 2, slow.make) == 1
    slow.go.set()


def test_who_waits_for_an_older_value_gets_the_one_after_it() -> None:
    maker, slow = SingleFlight[int](PATIENT), Slow()
    slow.go.set()
    assert maker.newest(lambda value: value == 1, slow.make) == 1
    slow.go.clear()
    with ThreadPoolExecutor(2) as pool:
        second = pool.submit(maker.newest, lambda value: value >= 2, slow.make)
        while slow.begun < 2:
            Event().wait(0.001)
        third = pool.submit(maker.newest, lambda value: value >= 3, slow.make)
        slow.go.set()
        assert (second.result(), third.result()) == (2, 3)


def test_what_cannot_be_made_is_told_and_tried_again() -> None:
    maker = SingleFlight[int](PATIENT)

    def fails(_: int | None) -> int:
        raise BadInput("no")

    for _ in range(2):
        with pytest.raises(BadInput, match="no"):
            maker.newest(lambda _: True, fails)
    assert maker.newest(lambda _: True, lambda _: 7) == 7


class Held:
    """A server that builds no documents until `go` is set."""

    def __init__(self, served: Served, engine: str) -> None:
        self.served, self.engine = served, engine
        self.go, self.begun = Event(), 0


@pytest.fixture(name="held")
def _held(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Held]:
    with open_store(f"sqlite:///{tmp_path}/store.db") as store:
        engine, *_ = furnish(DecisionService(store))
    monkeypatch.setenv("LAKEWARDEN_ROOT_TOKEN", ROOT)
    ranger = {"gravitino": {"metalake": "lk", "services": {"prod": "trino"}}}
    trino = {"gravitino": {"metalake": "lk"}}
    settings: dict[str, Any] = {"auth": "token", "admin": "root", "ranger": ranger, "trino": trino}
    with threaded(tmp_path, root_token=ROOT, **settings) as served:
        held, make = Held(served, engine), document.documents

        def slow(*arguments: Any) -> document.Documents:
            held.begun += 1
            assert held.go.wait(PATIENT)
            return make(*arguments)

        monkeypatch.setattr(download, "documents", slow)
        try:
            yield held
        finally:
            held.go.set()


def test_a_poll_that_waits_for_documents_holds_up_no_other_request(held: Held) -> None:
    """It delays no decisions on the event loop, no writes, and no lists in worker threads."""
    poll = "/r/gravitino/ranger/service/plugins/policies/download/prod"
    action = {"operation": "ExecuteQuery"}
    question = {"input": {"context": {"identity": {"user": "ana"}}, "action": action}}

    def status(method: str, path: str, body: object = None, token: str = ROOT) -> int:
        return held.served.ask(method, path, body, token=token).status

    with ThreadPoolExecutor(4) as pool:
        polls = [pool.submit(status, "GET", poll, None, held.engine) for _ in range(4)]
        while not held.begun:
            Event().wait(0.005)
        answered = []
        for number in range(3):
            privilege = {"privileges": ["SELECT_TABLE"], "on": "table:lk:lake.hr.people",
                         "to": ["role:lk:reader"]}  # fmt: skip
            statement = f"/api/v1/realms/gravitino/statements/s{number}"
            answered += [
                status("GET", "/readyz"),
                status("POST", f"/r/gravitino/opa/v1/allow?token={held.engine}", question),
                status("PUT", statement, privilege),
                status("GET", "/api/v1/realms/gravitino/statements"),
            ]
        assert answered == [200] * len(answered)
        assert held.begun == 1
        held.go.set()
        assert {poll.result() for poll in polls} <= {200, 503}
    assert status("GET", poll, None, held.engine) == 200
