"""The memory of a job is that of the process and of all its descendants."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from lakewarden.pipeline import memory
from lakewarden.pipeline.memory import Peak, peak

MIB = 1024 * 1024
LARGE = 64 * MIB

pytestmark = pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="needs /proc")


def test_what_a_child_process_holds_counts() -> None:
    alone = Peak()
    alone.measure()
    assert alone.bytes > MIB
    holds = f"x = bytearray(b'x' * {LARGE}); print(len(x), flush=True); input()"
    with subprocess.Popen(
        [sys.executable, "-c", holds], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == f"{LARGE}\n"
        together = Peak()
        together.measure()
        child.communicate("\n")
    assert together.bytes >= alone.bytes + LARGE // 2


def test_the_most_stays_when_it_is_gone() -> None:
    with peak() as seen:
        held = bytearray(b"x" * LARGE)
        seen.measure()
        with_it = seen.bytes
        del held
        seen.measure()
        assert seen.bytes == with_it
    assert seen.bytes >= with_it > LARGE


def test_memory_is_sampled_once_more_at_the_end() -> None:
    with peak() as seen:
        pass
    assert seen.bytes > 0


def test_where_nothing_can_be_seen_nothing_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(memory, "_PROC", tmp_path)
    with peak() as seen:
        pass
    assert seen.bytes == 0


def test_a_container_has_what_it_may_have(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = memory.machine_bytes()
    limit = tmp_path / "memory.max"
    monkeypatch.setattr(memory, "_LIMITS", (tmp_path / "none", limit))
    limit.write_text("4096\n")
    assert memory.machine_bytes() == 4096
    for text in ("max\n", str(1 << 62)):
        limit.write_text(text)
        assert memory.machine_bytes() >= whole
