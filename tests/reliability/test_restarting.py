"""PostgreSQL is restarted: nothing is wrongly allowed, no confirmed write is lost (F-02)."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.reliability.history import violations
from tests.reliability.restarting import (
    WRITES_BETWEEN,
    Restartable,
    faults,
    restartable,
    under_load,
)
from tests.servers import NoServer

# A dead connection invalidates its cursors, and the driver warns about that.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

MODES = ("fast", "immediate")
MORE = ("fast", "immediate", "fast", "immediate", "immediate")


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
@pytest.mark.parametrize(
    "modes", [MODES, pytest.param(MORE, marks=pytest.mark.nightly)], ids=["day", "night"]
)
def test_a_restart_is_answered_by_unavailable_and_by_nothing_else(
    server: Restartable, modes: tuple[str, ...]
) -> None:
    url = server.database()
    seen = under_load(server, url, modes, seed=1)
    assert faults(url, seen) == []
    # The clients continued after each restart: it would have waited for them otherwise.
    assert len(seen.accepted) == len(modes)
    assert set(seen.refused) >= {0, 1}
    assert min(seen.answered_writes().values()) >= WRITES_BETWEEN * (len(modes) + 1)


@pytest.mark.postgres
@pytest.mark.slow
def test_writes_that_are_answered_without_a_commit_are_found_lost(server: Restartable) -> None:
    seen = under_load(server, server.database(), ["immediate"], seed=1, gullible=True)
    assert violations(seen.history)
