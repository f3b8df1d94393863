"""Measures one running command: time, and the memory of all its processes together.

PSS, the proportional share, counts a page that several processes map only once in total, so its sum
is the memory that the machine provides. RSS counts the page for each process; Spark's Python
workers are forks and share much, so its sum is higher. Both are samples; a peak between two samples
is missed.
"""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from typing import IO

EVERY_S = 0.3
SHARE = 0.1
"""The largest share of time that the sampler uses; walking a large process's pages is slow."""

SHOWN = 2_000
"""How many characters of a failing command's output are kept, from its end."""

_PROC = Path("/proc")
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Memory:
    """MiB of some processes; PSS is None if the system does not report it for all of them."""

    rss_mib: float = 0.0
    pss_mib: float | None = 0.0

    def peak(self, other: Memory) -> Memory:
        """The maximum of both."""
        pss = (
            None
            if self.pss_mib is None or other.pss_mib is None
            else max(self.pss_mib, other.pss_mib)
        )
        return Memory(max(self.rss_mib, other.rss_mib), pss)


@dataclass(frozen=True, slots=True)
class Run:
    """The cost of a command, its exit code, and the end of its output.

    `cpu_s` is the CPU time of all its processes, as last seen: Spark ends its workers without
    waiting for them, so the system's own count does not include them.
    """

    wall_s: float
    cpu_s: float
    code: int
    peak: Memory
    said: str
    printed: str


def run(command: Sequence[str], env: Mapping[str, str] | None = None) -> Run:
    """Runs a command to its end; then kills all processes that it started."""
    with tempfile.TemporaryFile() as out, tempfile.TemporaryFile() as err:
        began, before = time.perf_counter(), _processors()
        process = subprocess.Popen(command, stdout=out, stderr=err, env=env, start_new_session=True)
        try:
            peak, seen = _watched(process)
        finally:
            _end(process)
        wall = time.perf_counter() - began
        used = max(seen, _processors() - before)
        return Run(wall, used, process.returncode, peak, _read(err)[-SHOWN:], _read(out))


def _processors() -> float:
    """CPU seconds of the ended children, and of theirs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _read(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode("utf-8", "replace")


def _watched(process: subprocess.Popen[bytes]) -> tuple[Memory, float]:
    """The peak until the process ends, and the CPU seconds of all its processes."""
    peak, used = Memory(), dict[int, float]()
    while True:
        began = time.perf_counter()
        processes = family(process.pid)
        peak = peak.peak(memory(processes))
        used.update(processors(processes))
        took = time.perf_counter() - began
        with suppress(subprocess.TimeoutExpired):
            process.wait(max(EVERY_S - took, took / SHARE))
            return peak, sum(used.values())


def _end(process: subprocess.Popen[bytes]) -> None:
    """Kills all remaining processes of the session that the process leads."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def family(root: int) -> set[int]:
    """The process and all its current descendants."""
    children: dict[int, list[int]] = {}
    for entry in _PROC.iterdir():
        if entry.name.isdecimal():
            with suppress(OSError, ValueError, IndexError):
                # The name, in parentheses, may contain anything; then follow state and parent.
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                children.setdefault(parent, []).append(int(entry.name))
    members, left = set[int](), [root]
    while left:
        process = left.pop()
        members.add(process)
        left += children.get(process, [])
    return members


def processors(processes: Iterable[int]) -> dict[int, float]:
    """CPU seconds that each of the processes has used itself."""
    seconds: dict[int, float] = {}
    for process in processes:
        with suppress(OSError, ValueError, IndexError):
            # After the name: state, fields 3 to 13 (unused here), utime, stime.
            cells = (_PROC / str(process) / "stat").read_text().rpartition(")")[2].split()
            seconds[process] = (int(cells[11]) + int(cells[12])) / _TICKS
    return seconds


def memory(processes: Iterable[int]) -> Memory:
    """The total memory of the processes; ended ones count as zero."""
    rss, pss, is_known = 0, 0, True
    for process in processes:
        with suppress(FileNotFoundError, ProcessLookupError):
            rss += _kib(_PROC / str(process) / "status", "VmRSS:")
            try:
                pss += _kib(_PROC / str(process) / "smaps_rollup", "Pss:")
            except PermissionError:
                is_known = False
    return Memory(rss / 1024, pss / 1024 if is_known else None)


def _kib(file: Path, key: str) -> int:
    for line in file.read_text().splitlines():
        if line.startswith(key):
            return int(line.split()[1])
    return 0


@dataclass(frozen=True, slots=True)
class Call:
    """The cost of a call in a separate process."""

    wall_s: float
    peak_rss_mib: float


def run_apart(call: Callable[..., object], *arguments: object) -> Call:
    """Calls in a fresh process; excludes its start, and measures its peak memory exactly."""
    with get_context("spawn").Pool(1) as pool:
        return pool.apply(_called, (call, arguments))


def _called(call: Callable[..., object], arguments: tuple[object, ...]) -> Call:
    began = time.perf_counter()
    call(*arguments)
    wall = time.perf_counter() - began
    unit = 1 if sys.platform == "darwin" else 1024
    return Call(wall, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20)
