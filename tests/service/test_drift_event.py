"""Drift events: once per change, retried if not accepted, and none for unchanged drift."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import contextmanager
from dataclasses import asdict
from types import SimpleNamespace
from typing import Any

import pytest

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import Unavailable
from lakewarden.pushdown.drift import Difference
from lakewarden.service import push_target_writes
from lakewarden.service.drift_event import MOST, DriftEvents
from lakewarden.service.push_target import PushTarget, SentEvent
from lakewarden.service.push_watch import DriftCheck

TARGET = PushTarget("pg", "lake", "postgresql", "m", "c")


class Stored:
    """A store of the documents that record events."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.documents: dict[Any, Mapping[str, Any]] = {}
        self.service = SimpleNamespace(reading=self.reading)
        self.sealing = SimpleNamespace(unseal=str.lower)
        self.secrets: Mapping[str, str] = {}
        monkeypatch.setattr(push_target_writes, "note_event", self.note)

    @contextmanager
    def reading(self) -> Any:
        yield SimpleNamespace(
            documents=lambda realm, about: self.documents,
            secrets=lambda realm, about: self.secrets,
        )

    def note(self, _: Any, of: PushTarget, sent: SentEvent) -> None:
        about = Entity("push-event", of.name)
        self.documents[about] = asdict(sent)

    def write(self, task: Any) -> Any:
        return task(None)


class Sent:
    """A webhook that is unavailable a set number of times."""

    def __init__(self) -> None:
        self.events: list[Mapping[str, Any]] = []
        self.secrets: list[str] = []
        self.failures = 0

    def __call__(self, event: Mapping[str, Any], secret: str) -> None:
        if self.failures:
            self.failures -= 1
            raise Unavailable("the webhook is down")
        self.events.append(event)
        self.secrets.append(secret)

    @property
    def told(self) -> list[tuple[str, str, int]]:
        return [(one["event"], one["id"], one["counts"]["missing"]) for one in self.events]


@pytest.fixture(name="sent")
def _sent() -> Sent:
    return Sent()


@pytest.fixture(name="stored")
def _stored(monkeypatch: pytest.MonkeyPatch) -> Stored:
    return Stored(monkeypatch)


def look(*missing: str, target: PushTarget = TARGET) -> DriftCheck:
    rows = [Difference("missing", name, "", None) for name in missing]
    table = {"differences": [{"name": name} for name in missing], "foreign": []}
    drift: Any = SimpleNamespace(differences=rows, foreign=[], pending={}, table=lambda: table)
    return DriftCheck(target, drift)


ONE = look("a").digest


def test_each_change_is_one_event(sent: Sent, stored: Any) -> None:
    events = DriftEvents(stored, sent, 60.0)
    for one in (look(), look("a"), look("a"), look("a", "b"), look(), look()):
        assert events.announce(one, 5.0) == ""
    assert sent.told == [
        ("push.drift", f"lake/pg/1/{ONE}", 1),
        ("push.drift", f"lake/pg/2/{look('a', 'b').digest}", 2),
        ("push.resolved", "lake/pg/3/resolved", 0),
    ]
    (first, *_) = sent.events
    assert first == {
        "event": "push.drift", "id": f"lake/pg/1/{ONE}", "time": 5.0, "realm": "lake",
        "target": "pg", "kind": "postgresql", "catalog": "m.c", "truncated": False, "foreign": [],
        "counts": {"missing": 1, "added": 0, "foreign": 0, "denied": 0},
        "differences": [{"name": "a"}],
    }  # fmt: skip


def test_what_nobody_took_is_sent_at_the_next_look_with_the_same_id(
    sent: Sent, stored: Any
) -> None:
    sent.failures = 1
    assert DriftEvents(stored, sent, 60.0).announce(look("a"), 0.0) == "the webhook is down"
    assert DriftEvents(stored, sent, 60.0).announce(look("a"), 1.0) == ""  # sent by another process
    assert sent.told == [("push.drift", f"lake/pg/1/{ONE}", 1)]


def test_what_is_found_before_the_first_was_taken_is_another_event(sent: Sent, stored: Any) -> None:
    """The first may have arrived, although its response was lost."""
    tried: list[str] = []

    def lost(event: Mapping[str, Any], secret: str) -> None:
        tried.append(event["id"])
        raise Unavailable("the answer was lost")

    assert DriftEvents(stored, lost, 0.0).announce(look("a"), 0.0)
    assert DriftEvents(stored, sent, 0.0).announce(look("a", "b"), 1.0) == ""
    assert [*tried, *(id for _, id, _ in sent.told)] == [
        f"lake/pg/1/{ONE}",
        f"lake/pg/1/{look('a', 'b').digest}",
    ]


def test_what_is_over_is_told_where_an_answer_was_lost(sent: Sent, stored: Any) -> None:
    sent.failures = 2
    for now, found in ((0.0, look("a")), (1.0, look("a"))):
        assert DriftEvents(stored, sent, 0.0).announce(found, now) == "the webhook is down"
    events = DriftEvents(stored, sent, 0.0)
    for now, found in ((2.0, look()), (3.0, look()), (4.0, look("a"))):
        assert events.announce(found, now) == ""
    assert sent.told == [
        ("push.resolved", "lake/pg/1/resolved", 0),
        ("push.drift", f"lake/pg/2/{ONE}", 1),
    ]


def test_a_webhook_that_is_away_delays_no_other_target(sent: Sent, stored: Any) -> None:
    events = DriftEvents(stored, sent, 60.0)
    sent.failures = 1
    other = PushTarget("rg", "lake", "ranger", "m", "")
    assert events.announce(look("a"), 0.0) == "the webhook is down"
    assert events.announce(look("a", target=other), 59.0) == "the webhook is away"
    assert events.announce(look("a", target=other), 60.0) == ""
    assert sent.told == [("push.drift", f"lake/rg/1/{ONE}", 1)]


def test_an_event_goes_with_the_secret_of_its_target(sent: Sent, stored: Any) -> None:
    events = DriftEvents(stored, sent, 60.0)
    assert events.announce(look("a"), 0.0) == ""
    stored.secrets = {"webhook": "SEALED"}
    assert events.announce(look("b"), 1.0) == ""
    assert sent.secrets == ["", "sealed"]
    stored.sealing = None  # the keys were lost
    assert "no key" in events.announce(look("c"), 2.0)
    assert len(sent.events) == 2


def test_an_event_is_of_bounded_size(sent: Sent, stored: Any) -> None:
    DriftEvents(stored, sent, 60.0).announce(look(*(f"r{n:03}" for n in range(MOST + 1))), 0.0)
    (event,) = sent.events
    assert (len(event["differences"]), event["truncated"]) == (MOST, True)
    assert event["counts"]["missing"] == MOST + 1


def test_a_target_that_could_not_be_looked_at_is_no_event(sent: Sent, stored: Any) -> None:
    events = DriftEvents(stored, sent, 60.0)
    assert events.announce(DriftCheck(TARGET, error="away"), 0.0) == ""
    assert events.announce(DriftCheck(TARGET), 0.0) == ""  # a push to it is running
    assert not sent.events
