"""A backup taken under load gives the store's decisions at its revision (F-11)."""

from __future__ import annotations

import random
import threading
from pathlib import Path

import pytest

from lakewarden.service.decision_service import DecisionService
from lakewarden.service.state import State
from lakewarden.store import open_store, restore
from tests.reliability.estate import ANA, OWNER, add_tables, build, may, plane_of, put, table

TABLES = 60


@pytest.mark.slow
def test_a_restored_backup_decides_as_the_store_did_at_its_revision(
    url: str, tmp_path: Path
) -> None:
    rng = random.Random(11)
    keys = [table(number) for number in range(TABLES)]
    seen: dict[int, State] = {}
    done = threading.Event()
    with plane_of(url) as service:
        build(service)
        add_tables(service, *keys)
        seen[service.state.revision] = service.state

        def write() -> None:
            while not done.is_set():
                put(service, rng.choice(keys), allowed=rng.random() < 0.6)
                seen[service.state.revision] = service.state

        writer = threading.Thread(target=write)
        writer.start()
        try:
            while len(seen) < 2 * TABLES:
                done.wait(0.01)
            started = len(seen)
            service.store.backup(tmp_path / "backup")  # type: ignore[attr-defined]
            while len(seen) == started:
                done.wait(0.01)
        finally:
            done.set()
            writer.join()
    other = f"sqlite:///{tmp_path / 'other.db'}"
    restore(tmp_path / "backup", other)
    with open_store(other) as store:
        again = DecisionService(store)
        again.open()
        then, now = seen[again.state.revision], again.state
        moment = again.clock()
        asked = [(key, user) for key in keys for user in (ANA, OWNER)]
        before = [may(then, key, moment, user) for key, user in asked]
        assert [may(now, key, moment, user) for key, user in asked] == before
        assert len(set(before)) == 2
        newest = seen[max(seen)]
        assert [may(newest, key, moment, ANA) for key in keys] != [
            may(seen[min(seen)], key, moment, ANA) for key in keys
        ]
