"""lakewarden in its own process, queried like the rivals: `ours TABLES USER,USER`.

Prints the same as `go/measure.go`. A list returns names, like the rivals' lists; the set of ids
that a service would page through is timed separately.
"""

from __future__ import annotations

import json
import resource
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

from bench import ours
from bench.rivals.world import PREFIX
from bench.timing import WARM, quantile, settle, stretch, timed
from lakewarden.kernel import listing
from lakewarden.kernel.batch import decide_many
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.principal import USER, Principal
from lakewarden.kernel.request import Request
from lakewarden.service.system import load_system
from lakewarden.testing.workload import Workload, draw

BATCH = 1_000


def measured(workload: Workload, listed: Sequence[str]) -> dict[str, Any]:
    """Answers and figures."""
    system, facts = load_system("gravitino"), workload.facts()
    matrix, load_s = timed(lambda: ours.built(facts, system))
    settle()
    return {
        "load_s": load_s,
        "single": single(matrix, workload),
        "batch": batch(matrix, workload),
        "lists": [lists(matrix, user) for user in listed],
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def single(matrix: Matrix, workload: Workload) -> dict[str, Any]:
    """All questions one by one, after a first pass over all of them, as in a warm server."""
    asked, clock, taken = ours.questions(workload), time.perf_counter_ns, []
    first: list[bool] = []
    cold = _pass(lambda: first.extend(matrix.check(*each).allow for each in asked))
    answers: list[bool] = []

    def ask() -> None:
        for each in asked:
            start = clock()
            decision = matrix.check(*each)
            taken.append(clock() - start)
            answers.append(decision.allow)

    for each in asked[:WARM]:
        matrix.check(*each)
    figures = _pass(ask)
    figures |= {"p50_us": quantile(taken, 0.5) / 1e3, "p99_us": quantile(taken, 0.99) / 1e3}
    if answers != first:
        raise AssertionError("a question asked again has another answer")
    first_us = cold["cpu_s"] / len(asked) * 1e6
    return {**figures, "from": 0, "answers": _bits(answers), "first_us": first_us}


def batch(matrix: Matrix, workload: Workload) -> dict[str, Any]:
    """All questions by names, a thousand per call."""
    requests = [
        Request(Principal(USER, user), operation, workload.entity(node), now)
        for (user, operation, _, now), (_, node) in zip(
            ours.questions(workload), workload.queries, strict=True
        )
    ]
    answers: list[bool] = []

    def ask() -> None:
        for start in range(0, len(requests), BATCH):
            answers.extend(decide_many(matrix, requests[start : start + BATCH]))

    ask()  # as with single questions
    answers.clear()
    return {**_pass(ask), "from": 0, "size": BATCH, "answers": _bits(answers)}


def lists(matrix: Matrix, user: str) -> dict[str, Any]:
    """The names of all tables that a user may load; `set_s` is the time for the set of ids."""
    request = Request(Principal(USER, user), ours.OPERATION, now=ours.NOW)
    entity = matrix.snapshot.coded.tree.entity
    listing.listing(matrix, request)
    _, set_s = timed(lambda: listing.listing(matrix, request))
    tables: list[str] = []
    figures = _pass(
        lambda: tables.extend(entity(id).name for id in listing.listing(matrix, request))
    )
    names = [name.removeprefix(PREFIX) for name in tables]
    return {**figures, "user": user, "tables": names, "complete": True, "set_s": set_s}


def _pass(ask: Callable[[], None]) -> dict[str, float]:
    with stretch():
        cpu, start = time.process_time(), time.perf_counter()
        ask()
        seconds, cpu = time.perf_counter() - start, time.process_time() - cpu
    return {"seconds": seconds, "cpu_s": cpu, "store_cpu_s": 0.0}


def _bits(answers: Sequence[bool]) -> str:
    return "".join(str(int(each)) for each in answers)


if __name__ == "__main__":
    tables, listed = sys.argv[1:]
    print(json.dumps(measured(draw(int(tables)), listed.split(","))))
