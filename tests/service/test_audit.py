"""The audit trail: any later change of its rows is detected and located."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.service.actor import Actor
from lakewarden.service.audit import AuditEvent, AuditRow, Head, first_fault, follow

EVENTS = [
    AuditEvent(float(n), f"user{n}", "table.load", "table:lk:c.s.t", "allow", "allowed", "lake")
    for n in range(8)
]


def trail() -> tuple[list[AuditRow], Head]:
    first = follow(Head(), 1, EVENTS[:3])
    rows = [*first, *follow(Head(first[-1].seq, first[-1].digest), 2, EVENTS[3:])]
    return rows, Head(rows[-1].seq, rows[-1].digest)


def test_a_trail_as_it_was_written_is_whole() -> None:
    rows, head = trail()
    assert first_fault(rows, head) is None
    assert first_fault([], Head()) is None
    assert [row.seq for row in rows] == list(range(1, 9))
    assert json.loads(rows[0].body)["actor"] == "user0"


def test_what_an_event_does_not_say_takes_no_room() -> None:
    body = json.loads(follow(Head(), 1, [AuditEvent(0.0, "a", "o", "", "deny", "denied")])[0].body)
    assert body == {
        "actor": "a",
        "operation": "o",
        "outcome": "deny",
        "reason": "denied",
        "time": 0.0,
    }


def test_an_actor_is_audited_with_its_account_and_its_credential() -> None:
    actor = Actor("ana", credential="database", wire="cli", request_id="r", account="operator")
    table = Entity("table", "lk:c.s.t")
    event = actor.event("table.load", table, "deny", "denied", now=1.0, details={"reads": 2})
    proof = {"credential": "database", "rights_of": "ana"}
    assert (event.actor, event.target, event.wire, event.request_id) == (
        "operator",
        "table:lk:c.s.t",
        "cli",
        "r",
    )
    assert event.details == {**proof, "reads": 2}
    targets = (NO_RESOURCE, Entity("t", ""), Entity("t", "lk:"), "t:lk:")
    events = [actor.event("a", on, "allow", "", now=1.0) for on in targets]
    assert [event.target for event in events] == ["", "t", "t:lk:", "t:lk:"]


@pytest.mark.parametrize("field", ["revision", "body", "digest"])
@given(place=st.integers(0, 7))
def test_a_changed_row_is_found(field: str, place: int) -> None:
    rows, head = trail()
    row = rows[place]
    rows[place] = {
        "revision": row._replace(revision=9),
        "body": row._replace(body=row.body.replace("user", "User")),
        "digest": row._replace(digest="0" * 64),
    }[field]
    fault = first_fault(rows, head)
    assert fault is not None
    assert fault.seq == place + 1


@given(place=st.integers(0, 7))
def test_a_removed_row_is_found(place: int) -> None:
    rows, head = trail()
    del rows[place]
    fault = first_fault(rows, head)
    assert fault is not None
    assert fault.seq == place + 1
    assert "is missing" in fault.reason


@given(places=st.tuples(st.integers(0, 7), st.integers(0, 7)).filter(lambda p: p[0] < p[1]))
def test_rows_in_another_order_are_found_even_when_they_are_renumbered(
    places: tuple[int, int],
) -> None:
    rows, head = trail()
    one, other = places
    rows[one], rows[other] = (
        rows[other]._replace(seq=rows[one].seq),
        rows[one]._replace(seq=rows[other].seq),
    )
    fault = first_fault(rows, head)
    assert fault is not None
    assert fault.seq == one + 1


def test_rows_missing_at_the_end_are_found() -> None:
    rows, head = trail()
    assert first_fault(rows[:5], head) == (6, "is missing; the trail had 8 rows")
