"""The periods of users' permissions: by revisions, and by changes over time alone."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

import pytest

from lakewarden.kernel.change import (
    EntityAdded,
    MembershipChanged,
    PrincipalChanged,
    StatementAdded,
    StatementRemoved,
)
from lakewarden.kernel.errors import LimitExceeded
from lakewarden.kernel.relations import MembershipRow
from lakewarden.kernel.request import Request
from lakewarden.kernel.statement_file import read_statements
from lakewarden.kernel.who import who
from lakewarden.service import access_periods as periods
from lakewarden.service import realms
from lakewarden.service.access_periods import Period, access_periods
from lakewarden.service.actor import SYSTEM, Actor
from lakewarden.service.audit import AuditEvent
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.realm import DIRECTORY, Realm
from lakewarden.service.state import RealmState
from lakewarden.service.system import load_system
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.store import open_store
from tests.administrators import make_administrator

SALES = "sales"
CDAP = load_system("cdap")
ROOT = Actor("root", credential="test")
ORDERS = CDAP.entity("dataset:sales.orders")


class Told:
    """A realm with changes at the times 100, 200, 300 …, each in its own revision."""

    def __init__(self, service: DecisionService) -> None:
        self.service = service
        self.now = 0.0

    def change(self, *effects: Any) -> int:
        """Makes a change; returns its revision."""
        self.now += 100.0
        self.write(lambda transaction: transaction.change(SALES, *effects))
        return self.service.state.revision

    def write(self, act: Callable[[WriteTransaction], object]) -> None:
        """Writes, and records the time in the audit trail."""

        def acted(transaction: WriteTransaction) -> None:
            act(transaction)
            transaction.record(AuditEvent(self.now, "root", "realm.apply", "", "allow", ""))

        self.service.write(ROOT, acted)

    def periods(self, since: float = -math.inf, until: float = 1000.0) -> list[Period]:
        with self.service.reading() as reading:
            return [*access_periods(reading, SALES, readers, since, until)]


def readers(state: RealmState, now: float) -> Iterable[str]:
    request = Request(CDAP.principal("-"), "dataset.read", ORDERS, now)
    return (principal.name for principal in who(state.matrix, request))


def statement(to: str, **window: float) -> StatementAdded:
    document = {"id": to, "privileges": ["READ"], "to": [to], "on": "dataset:sales.orders"}
    (read,) = read_statements([{**document, **window}], CDAP.model, CDAP.spelling, "statements")
    return StatementAdded(read)


@pytest.fixture(name="told")
def _told(tmp_path: Path) -> Iterator[Told]:
    with open_store(f"sqlite:///{tmp_path}/store.db") as store:
        told = Told(DecisionService(store, clock=lambda: told.now))
        told.service.open()
        told.service.write(SYSTEM, realms.establish_control)
        told.service.write(SYSTEM, lambda t: make_administrator(t, "root", DIRECTORY))
        told.service.write(SYSTEM, lambda t: realms.establish(t, Realm(SALES, "cdap")))
        parent = CDAP.entity("namespace:sales")
        users = (PrincipalChanged(CDAP.principal(name), True) for name in ("ana", "ben"))
        told.change(EntityAdded(parent, None), EntityAdded(ORDERS, parent), *users)
        yield told


def test_a_period_begins_and_ends_with_the_revisions_that_made_it(told: Told) -> None:
    given = told.change(statement("user:ben"))
    taken = told.change(StatementRemoved("user:ben"))
    again = told.change(statement("user:ben"), statement("user:ana"))
    assert told.periods() == [
        Period("ana", 400.0, 1000.0, again, None),
        Period("ben", 200.0, 300.0, given, taken),
        Period("ben", 400.0, 1000.0, again, None),
    ]


def test_what_lies_outside_of_the_time_is_cut_off(told: Told) -> None:
    given = told.change(statement("user:ben"))
    taken = told.change(StatementRemoved("user:ben"))
    assert told.periods(since=250.0) == [Period("ben", 250.0, 300.0, given, taken)]
    assert told.periods(since=250.0, until=300.0) == [Period("ben", 250.0, 300.0, given, None)]
    assert told.periods(since=300.0) == []
    assert told.periods(until=200.0) == []


def test_members_of_a_group_could_while_they_were_members(told: Told) -> None:
    staff, ana = CDAP.principal("group:staff"), CDAP.principal("ana")
    member = MembershipRow(ana, staff)
    told.change(PrincipalChanged(staff, True), statement("group:staff"))
    joined = told.change(MembershipChanged(member, True))
    left = told.change(MembershipChanged(member, False))
    assert told.periods() == [Period("ana", 300.0, 400.0, joined, left)]


def test_a_statement_with_a_window_counts_in_its_window(told: Told) -> None:
    window = {"valid_from": 300.0, "valid_until": 500.0}
    given = told.change(statement("user:ben", **window))
    assert told.periods() == [Period("ben", 300.0, 500.0, given, given)]
    assert told.periods(since=350.0, until=400.0) == [Period("ben", 350.0, 400.0, given, None)]


def test_what_a_window_ended_was_ended_by_no_revision_in_between(told: Told) -> None:
    given = told.change(statement("user:ben", valid_until=500.0))
    other = told.change(statement("user:ana"))
    assert told.periods() == [
        Period("ana", 300.0, 1000.0, other, None),
        Period("ben", 200.0, 500.0, given, given),
    ]


def test_nobody_could_before_the_realm_was_made_and_after_it_was_dropped(told: Told) -> None:
    given = told.change(statement("user:ben"))
    told.now = 300.0
    told.write(lambda transaction: realms.drop(transaction, SALES))
    dropped = told.service.state.revision
    assert told.periods() == [Period("ben", 200.0, 300.0, given, dropped)]
    assert told.periods(until=50.0) == []


def test_a_clock_that_went_back_changes_no_order(told: Told) -> None:
    given = told.change(statement("user:ben"))
    told.now = 0.0
    taken = told.change(StatementRemoved("user:ben"))
    assert told.periods() == [Period("ben", 200.0, 200.0, given, taken)]
    assert told.periods(since=150.0, until=180.0) == []


def test_too_many_states_are_refused(told: Told, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(periods, "MAX_STATES", 2)
    told.change(statement("user:ben"))
    with pytest.raises(LimitExceeded, match="more than 2 states"):
        told.periods()
    assert len(told.periods(since=150.0)) == 1
