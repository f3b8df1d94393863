"""Two processes on one store: each reflects the other's confirmed writes, also without a token."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from lakewarden.app.freshness import Consistency, Freshness
from lakewarden.kernel.errors import Unavailable
from lakewarden.service.actor import SYSTEM
from lakewarden.service.decision_service import DecisionService, StaleRevision
from lakewarden.service.effect import DocumentChanged
from tests.reliability.estate import REALM, Stale, add_tables, check, may, put, table
from tests.reliability.linearizable import sites_on
from tests.reliability.site import Site

ROUNDS = 24
FILE = table("file")


@pytest.fixture
def sites(url: str) -> Iterator[list[Site]]:
    with sites_on(url, 2) as found:
        found[0].call(add_tables, FILE)
        yield found


def write_content(service: DecisionService, text: str) -> int:
    """Writes new content of the file; returns the revision, which its readers keep as token."""
    service.write(SYSTEM, lambda d: d.change(REALM, DocumentChanged(FILE, {"text": text})))
    return service.state.revision


def check_aged(
    service: DecisionService, at_least: int, age: float, wait_seconds: float = 60.0
) -> bool:
    """The answer for a caller that accepts an old state, but none older than the token."""

    async def found() -> bool:
        with ThreadPoolExecutor(1) as executor:
            freshness = Freshness(service, executor, wait_seconds=wait_seconds)
            freshness.opened()
            state = (await freshness.state(Consistency(at_least, age))).state
        return may(state, FILE, service.clock())

    return asyncio.run(found())


def polled(service: DecisionService, begun: str, ended: str) -> list[tuple[float, bool]]:
    """The time of each check, one per millisecond, and its answer, until a file exists.

    The file `begun` is created after the first; the last check follows the creation of `ended`.
    """
    seen: list[tuple[float, bool]] = []
    is_last = False
    while not is_last:
        is_last = Path(ended).exists()
        start = time.monotonic()
        seen.append((start, check(service, FILE)))
        Path(begun).touch()
        time.sleep(0.001)
    return seen


def test_what_one_process_answered_the_other_shows_at_once(sites: list[Site]) -> None:
    """F-06, without a token: no check that began after the response is stale."""
    here, there = sites
    stale = 0
    for number in range(ROUNDS):
        here.call(put, FILE, allowed=number % 2 == 0)
        stale += there.call(check, FILE) is not (number % 2 == 0)
    assert stale == 0


def test_a_check_that_is_asked_all_the_time_changes_no_later_than_the_answer(
    sites: list[Site], tmp_path: Path
) -> None:
    here, there = sites
    here.call(put, FILE, allowed=True)
    begun, ended = tmp_path / "begun", tmp_path / "ended"
    there.start(polled, str(begun), str(ended))
    while not begun.exists():
        time.sleep(0.001)
    here.call(put, FILE, allowed=False)
    revoked = time.monotonic()
    ended.touch()
    seen = there.result()
    assert seen[0][1] is True
    later = [answer for start, answer in seen if start > revoked]
    assert later
    assert not any(later)


def test_a_process_that_never_asks_for_news_is_found_stale(url: str) -> None:
    with sites_on(url, 1) as (here,), Site(url, Stale) as there:
        assert there.call(check, FILE) is False  # it is ready, and has loaded everything
        here.call(add_tables, FILE)
        here.call(put, FILE, allowed=True)
        assert there.call(check, FILE) is False


def test_nobody_reads_with_an_old_right_what_was_written_after_the_right_ended(
    sites: list[Site],
) -> None:
    """T-21: the right is revoked, then the file gets content; the reader's token protects it."""
    here, there = sites
    for number in range(ROUNDS // 4):
        token = here.call(put, FILE, allowed=True)
        assert there.call(check_aged, token, 60.0) is True
        here.call(put, FILE, allowed=False)
        token = here.call(write_content, f"secret {number}")
        assert there.call(check_aged, token, 60.0) is False


def test_without_the_token_the_old_right_reads_the_new_content(sites: list[Site]) -> None:
    here, there = sites
    token = here.call(put, FILE, allowed=True)
    assert there.call(check_aged, token, 60.0) is True
    here.call(put, FILE, allowed=False)
    here.call(write_content, "secret")
    assert there.call(check_aged, 0, 60.0) is True


def test_a_token_from_the_future_gets_no_older_answer(sites: list[Site]) -> None:
    here, there = sites
    token = here.call(put, FILE, allowed=True)
    with pytest.raises((StaleRevision, Unavailable)):
        there.call(check_aged, token + 1, 60.0, 0.2)
