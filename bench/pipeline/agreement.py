"""Checks that an index answers like the kernel; otherwise the figures taken with it are void.

The kernel's snapshot is compiled from the directory, as by verbs with `--from`; the other snapshot
is read from the index. Both answer the same aimed questions. Larger worlds than `LARGEST` are
compared block by block: `bench.pipeline.by_blocks`.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterable
from multiprocessing import get_context
from pathlib import Path
from random import Random
from typing import Any

from bench.literal import Void
from bench.pipeline import opening
from bench.pipeline.aiming import Aiming
from lakewarden.kernel.errors import WardenError
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.request import Decision, Reason, Request
from lakewarden.kernel.snapshot import Snapshot, compile
from lakewarden.pipeline.directory import load

QUESTIONS = 20_000
LARGEST = 1_100_000
"""The largest world that is compiled as a whole: a million entities, and people."""

MIB_PER_MILLION = 6_000
"""Memory for two snapshots of a million entities and their rows."""


def reason_not_to(entities: int) -> str:
    """Why the answers are not compared; empty if they can be."""
    if not opening.can_read():
        return f"there is no `{opening.INDEX}` yet"
    needed, free = MIB_PER_MILLION * min(entities, LARGEST) / 1e6, _available_mib()
    return "" if free > needed else f"needs {needed:,.0f} MiB of memory, {free:,.0f} are there"


def _available_mib() -> float:
    file = Path("/proc/meminfo")
    lines = file.read_text().splitlines() if file.exists() else []
    found = [int(line.split()[1]) for line in lines if line.startswith("MemAvailable:")]
    return found[0] / 1024 if found else float("inf")


def apart(directory: Path, index: Path, seed: int, count: int = QUESTIONS) -> dict[str, Any]:
    """The comparison in a separate process; raises `Void` if an answer differs."""
    with get_context("spawn").Pool(1) as pool:
        return pool.apply(agree, (directory, index, seed, count))


def agree(directory: Path, index: Path, seed: int, count: int = QUESTIONS) -> dict[str, Any]:
    """The number of questions and of allowed ones, by aim; raises `Void` like `apart`."""
    now = time.time()
    try:
        other = opening.read(index)
    except (WardenError, OSError, ValueError, LookupError) as error:
        raise Void(f"the index cannot be read: {type(error).__name__}: {error}") from error
    return compared(compiled(directory, now), other, Random(seed), now, count)


def compiled(directory: Path, now: float) -> Snapshot:
    """The snapshot that the kernel compiles from a directory."""
    loaded = load(directory)
    return compile(loaded.facts, loaded.system.model, loaded.system.spelling, now=now)


def compared(
    kernel: Snapshot, other: Snapshot, random: Random, now: float, count: int
) -> dict[str, Any]:
    """The answers of both sides; raises `Void` for the first one that differs or failed."""
    return compared_by(kernel, Matrix(other).decide, Aiming(kernel, random, now).questions(count))


def compared_by(
    kernel: Snapshot,
    decide: Callable[[Request], Decision],
    questions: Iterable[tuple[str, Request]],
) -> dict[str, Any]:
    """The kernel's answers and those of `decide`; each question has its aim. Raises `Void`."""
    asked, allowed, denied = Counter[str](), Counter[str](), 0
    ours = Matrix(kernel)
    for aim, request in questions:
        truth, answer = ours.decide(request), decide(request)
        if (truth.allow, truth.reason) != (answer.allow, answer.reason):
            raise Void(f"the index says {answer.reason}, the kernel {truth.reason}: {request}")
        if truth.reason is Reason.ERROR:
            raise Void(f"neither the index nor the kernel can judge {request}")
        asked[aim] += 1
        allowed[aim] += truth.allow
        denied += not truth.allow
    if not allowed.total() or not denied:
        raise Void("all answers are alike: the questions miss what they were aimed at")
    return {
        "asked": asked.total(),
        "allowed": allowed.total(),
        "by_aim": {aim: [asked[aim], allowed[aim]] for aim in sorted(asked)},
    }
