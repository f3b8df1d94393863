"""PostgreSQL goes and comes back: nothing wrong is allowed, nothing answered is lost (F-02)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.reliability.history import violations
from tests.reliability.restarting import Restartable, faults, restartable, under_load
from tests.servers import NoServer

# A connection that died takes its cursors with it, of which the driver warns.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

MODES = ("fast", "immediate", "fast", "immediate", "immediate")


@pytest.fixture(scope="module")
def server() -> Iterator[Restartable]:
    try:
        started = restartable()
        found = started.__enter__()
    except NoServer as error:
        pytest.skip(str(error))
    yield found
    started.__exit__(None, None, None)


@pytest.mark.postgres
@pytest.mark.slow
def test_a_restart_is_answered_by_unavailable_and_by_nothing_else(server: Restartable) -> None:
    url = server.database()
    seen = under_load(server, url, MODES, seed=1)
    assert faults(url, seen) == []
    assert seen.refused
    assert max(seen.seconds_to_first_success()) <= 2.0
    assert len([each for each in seen.history if each.is_write]) > 5 * len(MODES)


@pytest.mark.postgres
@pytest.mark.slow
def test_writes_that_are_answered_without_a_commit_are_found_lost(server: Restartable) -> None:
    seen = under_load(server, server.database(), ["immediate"], seed=1, gullible=True)
    assert violations(seen.history)
