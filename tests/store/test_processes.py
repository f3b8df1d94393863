"""Two processes on one SQLite file: each sees the other's commits, whatever the order of opens."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from lakewarden.service.effect import RealmChanged
from lakewarden.service.realm import Realm
from lakewarden.store import SqlStore, open_store

ELSEWHERE = """
import sys
from lakewarden.store import open_store
with open_store(sys.argv[1]) as store:
    print(store.revision())
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    return tmp_path / "lakewarden.db"


@pytest.fixture
def store(file: Path) -> Iterator[SqlStore]:
    with open_store(f"sqlite:///{file}") as opened:
        yield opened


PLAIN = """
import sqlite3, sys
database = sqlite3.connect(sys.argv[1].removeprefix("sqlite:///"))
print(database.execute("select revision from counter").fetchone()[0])
database.close()
"""


def elsewhere(file: Path, program: str = PLAIN) -> int:
    """The newest revision, read by a separate process, which then ends."""
    asked = [sys.executable, "-c", program, f"sqlite:///{file}"]
    done = subprocess.run(asked, capture_output=True, text=True, timeout=60, check=True)
    return int(done.stdout)


def write(store: SqlStore) -> int:
    with store.writing() as writing:
        name = f"r{writing.revision}"
        writing.apply(name, [RealmChanged(name, Realm(name, "gravitino"))])
        return writing.commit([])


def use_many_connections(store: SqlStore) -> None:
    with ExitStack() as stack:
        for _ in range(3):
            stack.enter_context(store.reading())


def test_what_is_committed_is_seen_after_another_process_came_and_went(
    store: SqlStore, file: Path
) -> None:
    for program in (PLAIN, ELSEWHERE, PLAIN):
        use_many_connections(store)
        assert elsewhere(file, program) == store.revision()
        written = write(store)
        assert elsewhere(file, program) == written


def test_the_log_of_a_store_in_use_is_never_deleted(store: SqlStore, file: Path) -> None:
    write(store)
    use_many_connections(store)
    log = Path(f"{file}-wal")
    before = log.stat().st_ino
    elsewhere(file)
    assert log.stat().st_ino == before


def test_closing_the_file_oneself_would_lose_what_is_written(store: SqlStore, file: Path) -> None:
    """The negative control: without the locks, the other process deletes the write-ahead log."""
    write(store)
    os.close(os.open(file, os.O_RDWR))
    elsewhere(file)
    assert elsewhere(file) != write(store)
