"""One command while it runs: seconds, and the memory of all its processes together.

PSS, the proportional share, counts a page that several processes map once in all, so its sum
is what the machine gives. RSS counts it for each of them; Spark's Python workers are forks and
share much, so its sum is above. Both are samples, and a peak between two of them is missed.
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
"""Of its time the sampler works at most so much; walking the pages of a large process takes."""

SHOWN = 2_000
"""Characters of a failing command's output that are kept, from its end."""

_PROC = Path("/proc")
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True, slots=True)
class Memory:
    """MiB of some processes; PSS is None where the system does not tell it of each."""

    rss_mib: float = 0.0
    pss_mib: float | None = 0.0

    def peak(self, other: Memory) -> Memory:
        """The higher ones of both."""
        pss = (
            None
            if self.pss_mib is None or other.pss_mib is None
            else max(self.pss_mib, other.pss_mib)
        )
        return Memory(max(self.rss_mib, other.rss_mib), pss)


@dataclass(frozen=True, slots=True)
class Run:
    """What a command took, its exit code, and the end of what it said.

    `cpu_s` are the seconds of processors of all its processes, as they were last seen: Spark ends
    its workers without waiting for them, so that the system counts those of none of them.
    """

    wall_s: float
    cpu_s: float
    code: int
    peak: Memory
    said: str
    printed: str


def run(command: Sequence[str], env: Mapping[str, str] | None = None) -> Run:
    """Runs a command to its end; whatever it started is ended with it."""
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
    """Seconds of processors of the ended children, and of theirs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def _read(file: IO[bytes]) -> str:
    file.seek(0)
    return file.read().decode("utf-8", "replace")


def _watched(process: subprocess.Popen[bytes]) -> tuple[Memory, float]:
    """The peak until the process ends, and the seconds of processors seen of its family."""
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
    """Ends what is left of the session that the process leads."""
    with suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def family(root: int) -> set[int]:
    """The process and all that descend from it now."""
    children: dict[int, list[int]] = {}
    for entry in _PROC.iterdir():
        if entry.name.isdecimal():
            with suppress(OSError, ValueError, IndexError):
                # The name, in parentheses, may hold anything; behind it: state, parent.
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                children.setdefault(parent, []).append(int(entry.name))
    members, left = set[int](), [root]
    while left:
        process = left.pop()
        members.add(process)
        left += children.get(process, [])
    return members


def processors(processes: Iterable[int]) -> dict[int, float]:
    """Seconds of processors that each of the processes has used itself."""
    seconds: dict[int, float] = {}
    for process in processes:
        with suppress(OSError, ValueError, IndexError):
            # Behind the name: state, then 3 to 13 that are of no use here, utime, stime.
            cells = (_PROC / str(process) / "stat").read_text().rpartition(")")[2].split()
            seconds[process] = (int(cells[11]) + int(cells[12])) / _TICKS
    return seconds


def memory(processes: Iterable[int]) -> Memory:
    """What the processes hold together; those that are gone hold nothing."""
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
    """What a call in a process of its own took."""

    wall_s: float
    peak_rss_mib: float


def run_apart(call: Callable[..., object], *arguments: object) -> Call:
    """Calls in a fresh process, whose start is not counted and whose highest memory is exact."""
    with get_context("spawn").Pool(1) as pool:
        return pool.apply(_called, (call, arguments))


def _called(call: Callable[..., object], arguments: tuple[object, ...]) -> Call:
    began = time.perf_counter()
    call(*arguments)
    wall = time.perf_counter() - began
    unit = 1 if sys.platform == "darwin" else 1024
    return Call(wall, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit / 2**20)
