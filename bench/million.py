"""Workload W-1M, in its own process, without other worlds in memory."""

from __future__ import annotations

from dataclasses import replace
from multiprocessing import get_context

from bench import ours, stages
from bench.memory import resident_mib
from bench.stages import Effort, Results
from lakewarden.service.system import load_system
from lakewarden.testing.workload import ANSWERS_W_1M, TABLES_W_1M, draw


def apart(effort: Effort) -> Results:
    """The figures of W-1M, measured in a fresh process; raises `Void` as `measure` does."""
    with get_context("spawn").Pool(1) as pool:
        return pool.apply(measure, (effort,))


def measure(effort: Effort) -> Results:
    """The figures of W-1M; raises `Void` when an answer is wrong."""
    effort = replace(effort, rounds=3, builds=2, changes=effort.changes // 2, rebuilds=3)
    results = Results("_1m")
    before = resident_mib()
    matrix = ours.built(draw(TABLES_W_1M).facts(), load_system("gravitino"))
    results.ours["resident_1m_mib"] = resident_mib() - before
    del matrix
    workload = draw(TABLES_W_1M)
    world = stages.build(workload, ANSWERS_W_1M, effort, results, rivals=False)
    results.ours["workload_1m_sha256"] = workload.digest()
    stages.checks(world, effort, results)
    stages.lists(world, effort, results)
    stages.changes(world, effort, results)
    return results
