"""The resources of processes: private memory, CPU time, and the store's disk space."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import sqlalchemy as sa

_TICK = os.sysconf("SC_CLK_TCK")


def descendants(pid: int) -> list[int]:
    """A process and all its descendants."""
    found = [pid]
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        for child in task.read_text().split():
            found += descendants(int(child))
    return found


def workers(pid: int) -> list[int]:
    """The worker processes of a server: its children without the helpers."""
    return [
        each
        for each in descendants(pid)[1:]
        if b"resource_tracker" not in Path(f"/proc/{each}/cmdline").read_bytes()
    ]


def memory_mib(pid: int) -> dict[str, float]:
    """Resident, proportional and private memory of a process."""
    found = {}
    for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]:
        name, value = line.split()[:2]
        found[name.rstrip(":")] = int(value) / 1024
    private = found["Private_Clean"] + found["Private_Dirty"]
    return {"rss": found["Rss"], "pss": found["Pss"], "uss": private}


def processor_s(pids: list[int]) -> float:
    """CPU seconds of the processes that still exist."""
    total = 0.0
    for pid in pids:
        try:
            fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        total += (int(fields[11]) + int(fields[12])) / _TICK
    return total


def open_files(pid: int) -> int:
    """The number of open files of a process."""
    return len(os.listdir(f"/proc/{pid}/fd"))


class Database:
    """The PostgreSQL of the soak: its size, its rows, its processes."""

    def __init__(self, url: str) -> None:
        self._engine = sa.create_engine(url, isolation_level="AUTOCOMMIT", pool_size=1)
        with self._engine.connect() as connection:
            place = connection.execute(sa.text("SHOW data_directory")).scalar_one()
        self._pid = int(Path(place, "postmaster.pid").read_text().split()[0])

    def size_mib(self) -> float:
        """The database's size on disk, without the write-ahead log."""
        with self._engine.connect() as connection:
            query = sa.text("SELECT pg_database_size(current_database())")
            return int(connection.execute(query).scalar_one()) / 2**20

    def tables(self) -> dict[str, Any]:
        """Bytes of each table with its indexes."""
        with self._engine.connect() as connection:
            query = sa.text(
                "SELECT relname, pg_total_relation_size(relid) FROM pg_stat_user_tables"
                " ORDER BY 2 DESC"
            )
            return {name: int(size) for name, size in connection.execute(query)}

    def pids(self) -> list[int]:
        """Its processes."""
        return descendants(self._pid)

    def pss_mib(self) -> float:
        """The total memory of its processes; shared buffers count once."""
        total = 0.0
        for pid in self.pids():
            try:
                total += memory_mib(pid)["pss"]
            except OSError:
                continue
        return total

    def close(self) -> None:
        """Closes its connection."""
        self._engine.dispose()
