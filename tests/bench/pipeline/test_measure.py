"""A command's time, its memory including all child processes, and its exit."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterable
from pathlib import Path

import pytest

from bench.pipeline import measure
from bench.pipeline.measure import Memory, family, run, run_apart

HOLDS = (
    "import os, sys, time; held = bytearray(60_000_000); held[::4096] = b'x' * len(held[::4096]); "
)
WAITS = HOLDS + "[time.sleep(0.05) for _ in range(2000) if not os.path.exists(sys.argv[1])]"


def python(code: str) -> list[str]:
    return [sys.executable, "-c", code]


def test_a_command_is_timed_and_what_it_says_is_kept() -> None:
    taken = run(python("import sys, time; time.sleep(0.2); print('out'); sys.exit('err')"))
    assert taken.wall_s > 0.2
    assert (taken.code, taken.printed.strip(), taken.said.strip()) == (1, "out", "err")


def _peak_once_seen(code: str, least: Memory, file: Path, patch: pytest.MonkeyPatch) -> Memory:
    """The peak of a process that waits for the file, which appears once more was measured."""
    whole = measure.memory

    def memory(processes: Iterable[int]) -> Memory:
        found = whole(processes)
        if found.rss_mib > least.rss_mib and (found.pss_mib or 0) > (least.pss_mib or 0):
            file.touch()
        return found

    patch.setattr(measure, "memory", memory)
    return run([*python(code), str(file)]).peak


def test_memory_is_that_of_all_processes_together(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    alone = _peak_once_seen(WAITS, Memory(57, 57), tmp_path / "alone", monkeypatch)
    both = f"import subprocess; subprocess.run([sys.executable, '-c', {WAITS!r}, sys.argv[1]]); "
    # Shared memory counts less in PSS, the more processes there are.
    least = Memory(alone.rss_mib + 57, 2 * 57)
    together = _peak_once_seen(HOLDS + both, least, tmp_path / "together", monkeypatch)
    assert alone.rss_mib > 57
    assert together.rss_mib > alone.rss_mib + 57
    assert together.pss_mib is not None
    assert together.pss_mib > 2 * 57


def test_the_family_of_a_process_are_its_children_and_theirs() -> None:
    assert os.getpid() in family(os.getppid())
    assert family(os.getpid()) >= {os.getpid()}
    assert os.getppid() not in family(os.getpid())


def test_what_a_command_leaves_running_is_ended_with_it(tmp_path: Path) -> None:
    told = tmp_path / "pid"
    lasting = f"import os, time; open({str(told)!r}, 'w').write(str(os.getpid())); time.sleep(60)"
    waiting = f"while not os.path.exists({str(told)!r}): time.sleep(0.05)"
    code = (
        f"import os, subprocess, sys, time\nsubprocess.Popen([sys.executable, '-c', {lasting!r}])"
    )
    run(python(f"{code}\n{waiting}\ntime.sleep(0.1)"))
    left = int(told.read_text())
    for _ in range(100):
        try:
            state = Path(f"/proc/{left}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return
        if state == "Z":
            return
        time.sleep(0.05)
    pytest.fail("it is still running")


def test_a_peak_keeps_the_highest_of_each_and_knows_nothing_of_what_was_not_told() -> None:
    assert Memory(5, 3).peak(Memory(4, 4)) == Memory(5, 4)
    assert Memory(5, 3).peak(Memory(4, None)) == Memory(5, None)


def test_memory_that_may_not_be_looked_at_is_not_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def refused(file: Path, key: str) -> int:
        if file.name == "smaps_rollup":
            raise PermissionError
        return 2048

    monkeypatch.setattr(measure, "_kib", refused)
    assert measure.memory([os.getpid()]) == Memory(2.0, None)


def test_processes_that_are_gone_hold_nothing() -> None:
    assert measure.memory([2**30]) == Memory(0.0, 0.0)


def test_a_call_in_a_process_of_its_own_is_measured() -> None:
    taken = run_apart(time.sleep, 0.2)
    assert taken.wall_s >= 0.2
    assert taken.peak_rss_mib > 5


def test_the_processors_seconds_are_those_of_the_command_alone() -> None:
    busy = python("import time\nwhile time.process_time() < 0.5: pass")
    assert run(busy).cpu_s >= 0.5
    assert run(["true"]).cpu_s < 0.5
