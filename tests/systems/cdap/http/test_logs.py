"""Logs over the wire: who may emit and view them (K14, K23), and that lines are stored."""

from __future__ import annotations

import pytest

from lakewarden.systems.cdap.settings import CdapLimits
from tests.systems.cdap.http.estate import API, NIGHTLY, Clock, build, give, lets
from tests.systems.cdap.http.wire import BOSS, Wire, limit

LOGS = f"{NIGHTLY}/logs"
ID = "program:sales.shop.workflow.nightly"


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def new(wire: Wire, clock: Clock) -> Wire:
    """The estate in the later profile."""
    wire.built(build)
    wire.service.clock = clock
    return wire


def emit(wire: Wire, *lines: str, path: str = LOGS) -> None:
    wire.good("POST", path, "\n".join(lines).encode())


def lines(wire: Wire, query: str = "", path: str = LOGS, user: str = BOSS) -> list[str]:
    text: str = wire.good("GET", f"{path}{query}", user=user)
    return text.splitlines()


def test_lines_are_viewed_in_the_order_in_which_they_came(new: Wire, clock: Clock) -> None:
    emit(new, "b", "a")
    emit(new, "again", "a")
    clock.now += 1
    emit(new, 'ünïcode <b> & "quotes"')
    new.reopened()
    assert lines(new) == ["b", "a", "again", "a", 'ünïcode <b> & "quotes"']
    reply = new.send("GET", LOGS)
    assert reply.content_type == "text/plain; charset=utf-8"


def test_lines_are_escaped_where_that_is_asked_for(new: Wire) -> None:
    emit(new, "<b>")
    assert lines(new, "?escape=true") == ["&lt;b&gt;"]


def test_start_is_included_and_stop_is_not(new: Wire, clock: Clock) -> None:
    at = int(clock.now)
    for number in range(3):
        emit(new, str(number))
        clock.now += 1
    assert lines(new, f"?start={at + 1}") == ["1", "2"]
    assert lines(new, f"?stop={at + 1}") == ["0"]
    assert lines(new, f"?start={at + 1}&stop={at + 2}") == ["1"]
    assert lines(new, "?start=now-2s&stop=now") == ["1", "2"]


def test_a_clock_that_goes_back_leaves_the_order_as_it_was(new: Wire, clock: Clock) -> None:
    emit(new, "first")
    clock.now -= 60
    emit(new, "second")
    assert lines(new) == ["first", "second"]


def test_lines_are_paged_in_both_directions(new: Wire, clock: Clock) -> None:
    emit(new, *(str(number) for number in range(6)))
    clock.now += 1
    emit(new, *(str(number) for number in range(6, 10)))
    newest = new.good("GET", f"{LOGS}/prev?max=3")
    assert [one["log"] for one in newest] == ["7", "8", "9"]
    assert new.good("GET", f"{LOGS}/next?max=3") == newest
    before = new.good("GET", f"{LOGS}/prev?max=3&fromOffset={newest[0]['offset']}")
    assert [one["log"] for one in before] == ["4", "5", "6"]
    after = new.good("GET", f"{LOGS}/next?max=2&fromOffset={before[0]['offset']}")
    assert [one["log"] for one in after] == ["5", "6"]
    assert new.good("GET", f"{LOGS}/next?fromOffset={newest[-1]['offset']}") == []


def test_lines_belong_to_the_run_that_goes_on(new: Wire, clock: Clock) -> None:
    emit(new, "before")
    new.good("POST", f"{NIGHTLY}/start")
    emit(new, "within")
    (run,) = new.good("GET", f"{NIGHTLY}/runs")
    new.good("POST", f"{NIGHTLY}/stop")
    emit(new, "after")
    below = f"{NIGHTLY}/runs/{run['runid']}/logs"
    assert lines(new, path=below) == ["within"]
    assert [one["log"] for one in new.good("GET", f"{below}/next")] == ["within"]
    assert [one["log"] for one in new.good("GET", f"{below}/prev")] == ["within"]
    emit(new, "late", path=below)
    assert lines(new, path=below) == ["within", "late"]
    assert lines(new) == ["before", "within", "after", "late"]


def test_a_run_that_is_not_there_has_no_logs(new: Wire) -> None:
    path = f"{NIGHTLY}/runs/4d7b1c9e-0000-11ee-8000-000000000000/logs"
    assert new.status("GET", path) == 404
    assert new.status("POST", path, b"x") == 404
    assert new.status("GET", f"{path}/next") == 404
    assert new.status("GET", path, user="eve") == 403


def test_programs_do_not_share_their_lines(new: Wire) -> None:
    emit(new, "mine")
    assert lines(new, path=f"{API}/logs") == []


def test_the_number_and_length_of_log_lines_are_settings(new: Wire) -> None:
    limit(new, CdapLimits(batch_lines=2, line_characters=3))
    assert new.status("POST", LOGS, b"a\nb\nc") == 400
    assert new.status("POST", LOGS, b"abcd") == 400
    assert lines(new) == []
    emit(new, "abc", "d")
    assert lines(new) == ["abc", "d"]


def test_the_newest_lines_are_kept_and_so_many_as_is_said(new: Wire) -> None:
    limit(new, CdapLimits(log_lines=3))
    emit(new, "a", "b")
    emit(new, "c", "d", "e")
    assert lines(new) == ["c", "d", "e"]


def test_lines_go_with_their_program(new: Wire) -> None:
    emit(new, "old")
    body = {"artifact": {"name": "etl", "version": "1.0"}}
    config = {"programs": [{"type": "workflow", "name": "nightly"}]}
    new.good("PUT", "namespaces/sales/apps/shop", body)
    new.good("PUT", "namespaces/sales/apps/shop", {**body, "config": config})
    assert lines(new) == []


def test_write_emits_and_read_views_in_the_later_profile(new: Wire) -> None:
    give(new, ID)
    assert lets(new, "POST", LOGS, b"x") == {"writer"}
    for below in ("", "/next", "/prev"):
        assert lets(new, "GET", f"{LOGS}{below}") == {"reader"}


def test_write_on_the_namespace_emits_and_read_views_in_the_older_profile(old: Wire) -> None:
    build(old)
    give(old, ID)
    assert lets(old, "POST", LOGS, b"x") == set()
    assert lets(old, "GET", LOGS) == {"reader"}
    for action in ("READ", "EXECUTE", "ADMIN"):
        old.grant("other", "namespace:sales", action)
    old.grant("source", "namespace:sales", "WRITE")
    assert old.status("POST", LOGS, b"x", user="other") == 403
    assert old.status("POST", LOGS, b"x", user="source") == 200
    assert old.status("GET", LOGS, user="source") == 403


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", LOGS, b""),
        ("POST", LOGS, b"\xff"),
        ("POST", LOGS, b"x\n" * 5_001),
        ("POST", LOGS, b"short\n" + b"x" * 8_193),
        ("GET", f"{LOGS}?start=x", None),
        ("GET", f"{LOGS}?start=2&stop=1", None),
        ("GET", f"{LOGS}/next?max=x", None),
        ("GET", f"{LOGS}/next?fromOffset=x", None),
        ("GET", f"{LOGS}/prev?fromOffset=1.2", None),
        ("GET", f"{LOGS}/prev?fromOffset={'1' * 18}.", None),
    ],
)
def test_what_is_no_line_and_no_place_is_400(
    new: Wire, method: str, path: str, body: bytes | None
) -> None:
    assert new.status(method, path, body) == 400
    assert lines(new) == []


def test_refused_before_not_found(new: Wire) -> None:
    path = "namespaces/sales/apps/shop/workflows/absent/logs"
    assert new.status("GET", path, user="eve") == 403
    assert new.status("GET", path) == 404
    assert new.status("POST", path, b"x") == 404
