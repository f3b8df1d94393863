"""The measurements on one workload, by engine. Every stage verifies answers before it times."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from typing import Any

from pyroaring import BitMap

from bench import ours
from bench.baseline import Baseline
from bench.cedar import Cedar, engine_ns
from bench.literal import Literal, Void
from bench.timing import (
    Arguments,
    Call,
    interleaved,
    latencies,
    median,
    quantile,
    rate,
    ratio,
    settle,
    timed,
)
from lakewarden.kernel.matrix import Matrix
from lakewarden.service.system import load_system
from lakewarden.testing.workload import Workload, answers_digest, user

Figures = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Effort:
    """The number of measurements."""

    rounds: int
    users: int
    changes: int
    rebuilds: int
    builds: int
    swapping_s: float


FULL = Effort(rounds=5, users=200, changes=100, rebuilds=7, builds=3, swapping_s=3)
QUICK = Effort(rounds=2, users=40, changes=10, rebuilds=2, builds=1, swapping_s=0.5)


@dataclass(slots=True)
class Results:
    """The figures found so far: ours, the hand-made engine's, the rival's, and ratios.

    `tag` marks the figures of a larger workload: `list_ms_p50`, `list_1m_ms_p50`.
    """

    tag: str = ""
    ours: Figures = field(default_factory=dict)
    baseline: Figures = field(default_factory=dict)
    cedar: Figures = field(default_factory=dict)
    ratios: Figures = field(default_factory=dict)

    def key(self, stem: str, unit: str) -> str:
        """The key of a figure."""
        return f"{stem}{self.tag}_{unit}"


@dataclass(frozen=True, slots=True)
class World:
    """One workload and the engines that hold it; `answers` is the published digest."""

    workload: Workload
    literal: Literal
    answers: str
    matrix: Matrix
    baseline: Baseline
    cedar: Cedar | None

    def agree(self, name: str, answers: Sequence[bool]) -> None:
        """Raises `Void` unless the answers to the queries have the published digest."""
        digest = answers_digest(answers)
        if digest != self.answers:
            raise Void(f"{name}: the answers have the digest {digest}, not {self.answers}")


def build(
    workload: Workload, answers: str, effort: Effort, results: Results, *, rivals: bool
) -> World:
    """The engines, built alternately from decoded rows."""
    system = load_system("gravitino")
    facts = workload.facts()
    seconds = interleaved(
        effort.builds,
        {
            "ours": lambda: _building(lambda: ours.built(facts, system)),
            "baseline": lambda: _building(lambda: Baseline(workload)),
        },
    )
    results.ours[results.key("build", "s")] = median(seconds["ours"])
    results.baseline[results.key("build", "s")] = median(seconds["baseline"])
    cedar = Cedar.load(workload) if rivals else None
    if cedar is not None:
        results.cedar["build_s"] = cedar.build_s
    matrix, baseline = ours.built(facts, system), Baseline(workload)
    settle()
    return World(workload, Literal(workload), answers, matrix, baseline, cedar)


def _building(make: Callable[[], object]) -> float:
    gc.collect()
    return timed(make)[1]


@dataclass(frozen=True, slots=True)
class Pass:
    """One engine's figures for all queries in one round: single checks, a loop, one batch."""

    p50: float
    p99: float
    per_s: float
    batch_per_s: float = 0
    engine_ns: float = 0


def checks(world: World, effort: Effort, results: Results) -> None:
    """Single checks and batches, names in, decisions out."""
    passes = interleaved(effort.rounds, _takers(world, results))
    engines = (
        ("ours", results.ours),
        ("baseline", results.baseline),
        ("cedar", results.cedar),
    )
    for name, figures in engines:
        if name in passes:
            figures.update(_summary(passes[name], len(world.workload.queries), results))
    mine = [one.p50 for one in passes["ours"]]
    by_hand = [one.p50 for one in passes["baseline"]]
    results.ratios[f"check{results.tag}_vs_baseline"] = ratio(mine, by_hand)
    if "cedar" in passes:
        cedar = passes["cedar"]
        results.ratios["check_vs_cedarpy"] = ratio([one.p50 for one in cedar], mine)
        results.ratios["check_vs_engine"] = ratio([one.engine_ns for one in cedar], mine)
        results.ratios["batch_names_vs_cedarpy"] = ratio(
            [one.batch_per_s for one in passes["ours"]], [one.batch_per_s for one in cedar]
        )


def _takers(world: World, results: Results) -> dict[str, Callable[[], Pass]]:
    """Functions that measure each engine once, after its answers have been compared."""
    matrix, baseline, cedar = world.matrix, world.baseline, world.cedar
    asked = ours.questions(world.workload)
    answers, seconds = timed(lambda: [matrix.check(*each).allow for each in asked])
    world.agree("lakewarden", answers)
    results.ours[results.key("check_first", "us_mean")] = seconds * 1e6 / len(asked)
    results.ours[f"answers{results.tag}_sha256"] = answers_digest(answers)
    batches = ours.Batches.of(matrix, world.workload)
    world.agree("lakewarden's batch by names", batches.by_names(matrix))
    named = [(who, what) for who, _, what, _ in asked]
    world.agree("the hand-made engine", [baseline.check(*each) for each in named])
    takers = {
        "ours": lambda: _pass(matrix.check, asked, batches.names_per_s(matrix)),
        "baseline": lambda: _pass(baseline.check, named),
    }
    if cedar is not None:
        world.agree("cedarpy", [cedar.check(*each).allowed for each in cedar.arguments])
        world.agree("cedarpy's batch", [result.allowed for result in cedar.batch()])
        takers["cedar"] = lambda: _cedar_pass(cedar)
    return takers


def _pass(call: Call, arguments: Arguments, batch_per_s: float = 0) -> Pass:
    taken = latencies(call, arguments)
    return Pass(quantile(taken, 0.5), quantile(taken, 0.99), rate(call, arguments), batch_per_s)


def _cedar_pass(cedar: Cedar) -> Pass:
    single = _pass(cedar.check, cedar.arguments)
    results, seconds = timed(cedar.batch)
    per_s = len(results) / seconds
    return Pass(single.p50, single.p99, single.per_s, per_s, engine_ns(results))


def _summary(passes: Sequence[Pass], queries: int, results: Results) -> Figures:
    figures: Figures = {
        results.key("check", "ns_p50"): median([one.p50 for one in passes]),
        results.key("check", "ns_p99"): median([one.p99 for one in passes]),
        results.key("checks", "per_s"): median([one.per_s for one in passes]),
        "n": queries,
    }
    if passes[0].batch_per_s:
        key = results.key("batch_names", "per_s")
        figures[key] = median([one.batch_per_s for one in passes])
    if passes[0].engine_ns:
        figures["engine_ns_p50"] = median([one.engine_ns for one in passes])
    return figures


def more_checks(world: World, effort: Effort, results: Results) -> None:
    """Only ours: batches by ids, checks with the collector on, checks while matrices change."""
    matrix, asked = world.matrix, ours.questions(world.workload)
    batches = ours.Batches.of(matrix, world.workload)
    world.agree("lakewarden's batch by ids", batches.by_ids())
    rates = [batches.ids_per_s(20) for _ in range(effort.rounds)]
    collecting = latencies(matrix.check, asked, collecting=True)
    results.ours["batch_per_s"] = median(rates)
    results.ours["check_collecting_ns_p99"] = quantile(collecting, 0.99)
    changes = list(islice(ours.openings(world.workload, world.literal), 20))
    swapping = ours.while_swapping(matrix, world.workload, changes, effort.swapping_s)
    results.ours["swapping_ns_p50"] = quantile(swapping, 0.5)
    results.ours["swapping_ns_p99"] = quantile(swapping, 0.99)
    results.ours["swapping_p99_over_p50"] = quantile(swapping, 0.99) / quantile(swapping, 0.5)


def lists(world: World, effort: Effort, results: Results) -> None:
    """All tables that a user may load: sets, sorted ids, counts and pages, user by user."""
    mine = ours.Lists(world.matrix, world.workload, effort.users)
    first = mine.agree(world.literal)
    _agree_by_hand(world, effort.users)
    users = mine.users
    takers: dict[str, Callable[[], Sequence[float]]] = {
        "list": lambda: latencies(mine.bitmap, users),
        "list_ids": lambda: latencies(mine.sorted_ids, users),
        "count": lambda: latencies(mine.count, users),
        "page": lambda: latencies(mine.page, mine.middles()),
        "page_of_set": lambda: latencies(mine.slice, mine.slices()),
        "baseline": lambda: latencies(world.baseline.visible, users),
    }
    cedar = world.cedar
    if cedar is not None:
        turns = iter(range(effort.rounds))
        takers["cedar"] = lambda: [_cedar_list(world, cedar, next(turns)) * 1e9]
    rounds = interleaved(effort.rounds, takers)
    p50s = {name: [quantile(one, 0.5) / 1e6 for one in found] for name, found in rounds.items()}
    p99s = {name: [quantile(one, 0.99) / 1e6 for one in found] for name, found in rounds.items()}
    for name in ("list", "list_ids", "count", "page", "page_of_set"):
        results.ours[results.key(name, "ms_p50")] = median(p50s[name])
        results.ours[results.key(name, "ms_p99")] = median(p99s[name])
    results.ours[results.key("list_first", "ms_p50")] = quantile(first, 0.5) / 1e6
    results.ours[results.key("list_users", "n")] = len(users)
    results.baseline[results.key("list", "ms_p50")] = median(p50s["baseline"])
    results.ratios[f"list{results.tag}_vs_baseline"] = ratio(p50s["list"], p50s["baseline"])
    if cedar is not None:
        results.cedar["list_ms_p50"] = median(p50s["cedar"])
        results.cedar["list_users_n"] = effort.rounds
        results.ratios["list_vs_cedarpy"] = ratio(p50s["cedar"], p50s["list"])
        results.ratios["list_ids_vs_cedarpy"] = ratio(p50s["cedar"], p50s["list_ids"])


def _agree_by_hand(world: World, users: int) -> None:
    for number in range(users):
        truth = BitMap(world.literal.standing(number).loads.nonzero()[0].astype("uint32"))
        if world.baseline.visible(user(number).name) != truth:
            raise Void(f"the hand-made engine lists wrong tables for {user(number).name}")


def _cedar_list(world: World, cedar: Cedar, number: int) -> float:
    """Seconds to list all tables of one user, by a batch over every table."""
    gc.collect()
    given, seconds = cedar.list(user(number).name)
    truth = world.literal.standing(number).loads.tolist()
    if [result.allowed for result in given] != truth:
        raise Void(f"cedarpy lists wrong tables for {user(number).name}")
    return seconds


def changes(world: World, effort: Effort, results: Results) -> None:
    """From a changed grant to the answer that shows it: incrementally, and rebuilt."""
    found = ours.openings(world.workload, world.literal)
    openings = list(islice(found, effort.changes))
    state = ours.Changes(world.matrix, [], [])
    for opening in openings:
        state.alternate(opening)
    after = [state.matrix.check(*each).allow for each in ours.questions(world.workload)]
    world.agree("lakewarden after all changes are undone", after)
    both = [*state.added, *state.removed]
    tenth = max(1, len(openings) // 10)
    results.ours |= {
        results.key("grant_visible", "ms_p50"): quantile(both, 0.5),
        results.key("grant_visible", "ms_p99"): quantile(both, 0.99),
        results.key("grant_added", "ms_p50"): median(state.added),
        results.key("grant_removed", "ms_p50"): median(state.removed),
        results.key("grant_visible", "n"): len(both),
        f"grant_visible{results.tag}_drift": median(state.added[-tenth:])
        / median(state.added[:tenth]),
    }
    _rebuilds(world, openings[: effort.rebuilds], results)


def _rebuilds(world: World, openings: Iterable[ours.Opening], results: Results) -> None:
    mine, by_hand = [], []
    for opening in openings:
        mine.append(ours.rebuild(world.matrix, opening))
        by_hand.append(_building(lambda: world.baseline.rebuild(world.workload, {})) * 1e3)
    results.ours[results.key("rebuild", "ms_p50")] = median(mine)
    results.baseline[results.key("rebuild", "ms_p50")] = median(by_hand)
