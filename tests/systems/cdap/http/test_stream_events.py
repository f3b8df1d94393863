"""Events of streams over the wire: who may write and read them, and that they are stored."""

from __future__ import annotations

from typing import Any

import pytest

from lakewarden.systems.cdap.settings import CdapLimits
from tests.systems.cdap.http.wire import ADMIN, BOSS, Wire, limit

SPACE = "namespaces/sales"
CLICKS = f"{SPACE}/streams/clicks"
TEXT = {"Content-Type": "text/csv"}
START = 1_700_000_000.0


class Clock:
    """A clock that tests set."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def space(wire: Wire, clock: Clock) -> Wire:
    """A namespace with the stream `clicks`, on which `BOSS` may do everything."""
    wire.grant(BOSS, "namespace:sales", "ADMIN")
    wire.grant(BOSS, "stream:sales.clicks")
    wire.good("PUT", SPACE)
    wire.good("PUT", CLICKS)
    wire.service.clock = clock
    return wire


def events(wire: Wire, query: str = "", user: str = BOSS) -> list[Any]:
    status, found = wire.ask("GET", f"{CLICKS}/events{query}", user=user)
    assert status in (200, 204), found
    return [one["body"] for one in found] if status == 200 else []


def test_a_stream_without_events_answers_no_content(space: Wire) -> None:
    assert space.ask("GET", f"{CLICKS}/events") == (204, "")


def test_events_are_read_in_the_order_in_which_they_came(space: Wire, clock: Clock) -> None:
    for text in ("one", "two", "three"):
        assert space.ask("POST", CLICKS, text.encode()) == (200, "")
    clock.now += 1
    assert space.status("POST", f"{CLICKS}/async", b"four") == 202
    status, found = space.ask("GET", f"{CLICKS}/events")
    assert status == 200
    assert [one["body"] for one in found] == ["one", "two", "three", "four"]
    first = int(START * 1_000)
    assert [one["timestamp"] for one in found] == [first, first, first, first + 1_000]


def test_events_are_there_after_a_restart(space: Wire) -> None:
    space.good("POST", CLICKS, b"kept")
    space.reopened()
    assert events(space) == ["kept"]


def test_start_is_included_end_is_not_and_the_oldest_come_first(space: Wire, clock: Clock) -> None:
    for text in ("a", "b", "c"):
        space.good("POST", CLICKS, text.encode())
        clock.now += 1
    at = [int(START * 1_000) + 1_000 * n for n in range(4)]
    assert events(space, f"?start={at[1]}") == ["b", "c"]
    assert events(space, f"?start={at[0]}&end={at[2]}") == ["a", "b"]
    assert events(space, "?limit=2") == ["a", "b"]
    assert space.status("GET", f"{CLICKS}/events?start={at[3]}") == 204


def test_times_may_be_how_long_before_now(space: Wire, clock: Clock) -> None:
    clock.now = START + 0.25
    for text in ("a", "b", "c"):
        space.good("POST", CLICKS, text.encode())
        clock.now += 60
    assert events(space, "?start=now-2m&end=now%2B1s") == ["b", "c"]
    assert events(space, "?start=now-1h&end=now-1m") == ["a", "b"]
    assert events(space, f"?start={int(START * 1_000)}&end=NOW-2m-30s") == ["a"]


@pytest.mark.parametrize(
    "query",
    [
        *("start=now-1x", "start=nowhere", "end=now-999999999d", "start=now&end=now-1s"),
        *("start=-1", "start=x", "start=5&end=5", "end=-1", "limit=0", "limit=-1", "limit=1.5"),
        *("start=9223372036854775808", "end=%D9%A3", "start=1e3"),
    ],
)
def test_times_and_limits_that_none_can_be_are_refused(space: Wire, query: str) -> None:
    assert space.status("GET", f"{CLICKS}/events?{query}") == 400


def test_a_clock_that_goes_back_leaves_the_order_as_it_was(space: Wire, clock: Clock) -> None:
    space.good("POST", CLICKS, b"first")
    clock.now -= 5
    space.good("POST", CLICKS, b"second")
    assert events(space) == ["first", "second"]


def test_a_batch_is_an_event_for_each_line(space: Wire) -> None:
    space.good("POST", f"{CLICKS}/batch", b"1,Ana\r\n2,Bob\n\n3,Cid\n", headers=TEXT)
    assert events(space) == ["1,Ana", "2,Bob", "3,Cid"]


@pytest.mark.parametrize("type", ["", "application/json", "text", "image/png"])
def test_a_batch_of_another_content_type_is_not_acceptable(space: Wire, type: str) -> None:
    status, _ = space.ask("POST", f"{CLICKS}/batch", b"a\nb", headers={"Content-Type": type})
    assert status == 406
    assert events(space) == []


def test_headers_that_begin_with_the_stream_s_name_go_with_the_event(space: Wire) -> None:
    headers = {"clicks.Source": "web", "other.source": "x", "Accept": "y"}
    space.good("POST", CLICKS, b"hit", headers=headers)
    (one,) = space.good("GET", f"{CLICKS}/events")
    assert one["headers"] == {"source": "web"}


def test_bytes_that_are_not_printable_are_written_as_hex(space: Wire) -> None:
    space.good("POST", CLICKS, b'caf\xc3\xa9\x05 "ok"')
    assert events(space) == ['caf\\xC3\\xA9\\x05 "ok"']


def test_an_event_that_is_too_long_is_refused_whole(space: Wire) -> None:
    longest = b"x" * CdapLimits().event_bytes
    space.good("POST", CLICKS, longest)
    assert space.status("POST", CLICKS, longest + b"x") == 413
    batch = b"short\n" + longest + b"x"
    assert space.status("POST", f"{CLICKS}/batch", batch, headers=TEXT) == 413
    assert len(events(space)) == 1


def test_the_newest_events_are_kept_and_so_many_as_is_said(space: Wire, clock: Clock) -> None:
    limit(space, CdapLimits(stream_events=20))
    for number in range(60):
        space.good("POST", CLICKS, str(number).encode())
        clock.now += 0.001
        found = events(space)
        assert found == [str(n) for n in range(number + 1)][-len(found) :]
        assert min(number + 1, 20) <= len(found) <= 22
    lines = "\n".join(map(str, range(60, 120))).encode()
    space.good("POST", f"{CLICKS}/batch", lines, headers=TEXT)
    assert events(space) == [str(n) for n in range(100, 120)]


def test_a_batch_of_too_many_events_or_too_much_is_refused_whole(space: Wire) -> None:
    limit(space, CdapLimits(batch_events=3, batch_bytes=40))

    def status(body: bytes, **headers: str) -> int:
        return space.status("POST", f"{CLICKS}/batch", body, headers={**TEXT, **headers})

    assert status(b"a\nb\nc\nd") == 413
    assert status(b"a" * 41) == 413
    assert status(b"a\nb", **{"clicks.source": "a" * 20}) == 413
    assert events(space) == []
    assert status(b"a" * 38 + b"\nb\nc") == 200


def test_one_event_may_be_as_long_as_is_said(space: Wire) -> None:
    limit(space, CdapLimits(event_bytes=3))
    assert space.status("POST", CLICKS, b"abcd") == 413
    assert space.status("POST", CLICKS, b"abc") == 200


def test_events_beyond_the_time_to_live_are_read_no_more(space: Wire, clock: Clock) -> None:
    space.good("POST", CLICKS, b"old")
    clock.now += 60
    space.good("POST", CLICKS, b"new")
    space.good("PUT", f"{CLICKS}/properties", {"ttl": 30})
    assert events(space) == ["new"]
    clock.now += 3_600
    assert events(space) == []


def test_truncating_and_deleting_leave_no_event_behind(space: Wire) -> None:
    space.good("POST", CLICKS, b"one")
    space.good("POST", f"{CLICKS}/truncate")
    assert events(space) == []
    space.good("POST", CLICKS, b"two")
    assert events(space) == ["two"]
    space.good("DELETE", CLICKS)
    space.good("PUT", CLICKS)
    assert events(space) == []


@pytest.mark.parametrize(
    ("action", "writes", "reads", "drops"),
    [
        ("READ", 403, 204, 403),
        ("WRITE", 200, 403, 403),
        ("EXECUTE", 403, 403, 403),
        ("ADMIN", 403, 403, 200),
    ],
)
def test_each_action_on_a_stream_is_good_for_one_thing(
    space: Wire, action: str, writes: int, reads: int, drops: int
) -> None:
    space.grant("dana", "stream:sales.clicks", action)
    assert space.status("GET", f"{CLICKS}/events", user="dana") == reads
    assert space.status("POST", CLICKS, b"x", user="dana") == writes
    batch = space.status("POST", f"{CLICKS}/batch", b"x", user="dana", headers=TEXT)
    later = space.status("POST", f"{CLICKS}/async", b"x", user="dana")
    assert (batch, later) == (writes, 202 if writes == 200 else writes)
    assert len(events(space)) == (3 if writes == 200 else 0)
    assert space.status("DELETE", CLICKS, user="dana") == drops


def test_actions_on_three_streams_come_through_a_role(space: Wire) -> None:
    roles = "security/authorization"
    space.good("PUT", f"{roles}/roles/mixed", user=ADMIN)
    for name, action in (("x", "EXECUTE"), ("r", "READ"), ("w", "WRITE")):
        space.grant(BOSS, f"stream:sales.{name}", "ADMIN")
        space.good("PUT", f"{SPACE}/streams/{name}")
        space.grant("mixed", f"stream:sales.{name}", action, kind="ROLE")

    def can(name: str) -> tuple[int, int]:
        at = f"{SPACE}/streams/{name}"
        reads = space.status("GET", f"{at}/events", user="dana")
        return reads, space.status("POST", at, b"x", user="dana")

    assert [can(name) for name in "xrw"] == [(403, 403)] * 3
    space.good("PUT", f"{roles}/user/dana/roles/mixed", user=ADMIN)
    assert [can(name) for name in "xrw"] == [(403, 403), (204, 403), (403, 200)]
    listed = space.good("GET", f"{SPACE}/streams", user="dana")
    assert [one["name"] for one in listed] == ["r", "w", "x"]
    space.good("DELETE", f"{roles}/user/dana/roles/mixed", user=ADMIN)
    assert [can(name) for name in "xrw"] == [(403, 403)] * 3


def test_in_the_older_profile_data_takes_read_on_the_namespace_too(old: Wire) -> None:
    old.grant(BOSS, "instance:cdap", "WRITE")
    old.good("PUT", SPACE)
    old.good("PUT", CLICKS)
    old.grant("dana", "stream:sales.clicks", "READ", "WRITE")
    for method, path in [("POST", CLICKS), ("GET", f"{CLICKS}/events")]:
        status, text = old.ask(method, path, b"x", user="dana")
        assert status == 403
        assert "'[READ]' on entity 'namespace:sales'" in text
    old.grant("dana", "namespace:sales", "READ")
    assert old.status("POST", CLICKS, b"x", user="dana") == 200
    assert events(old, user="dana") == ["x"]


def test_bodies_of_events_are_not_in_the_audit_trail(space: Wire) -> None:
    space.good("POST", CLICKS, b"very-private-words")
    with space.service.reading() as reading:
        rows = [str(row) for row in reading.audit()]
    assert any("stream.enqueue" in row for row in rows)
    assert not any("very-private-words" in row for row in rows)
