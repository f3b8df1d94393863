"""Workload W: the declared Gravitino model, compared with Cedar and with a hand-made engine.

    python -m bench.w [--json] [--quick] [--no-rivals] [--save [FILE]]

Prints the figures as a table, or with --json as one JSON object. First, every answer of every
engine is compared with the truth. If one differs, the figures are void and the exit code is 1.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from typing import Any

from bench import cedar, million, stages
from bench.literal import Literal, Void
from bench.result import against, kept, machine, rounded
from bench.stages import FULL, QUICK, Effort, Results
from bench.targets import judged
from bench.text import number, say, section
from lakewarden.testing.workload import ANSWERS_W, SHA256_W, TABLES_W, answers_digest, draw

EXAMPLES = """\
examples:
  python -m bench.w                          everything, as a table (about two minutes)
  python -m bench.w --json > result.json     everything, as one JSON object
  python -m bench.w --quick --no-rivals      a first impression in seconds: no W-1M, few rounds
  python -m bench.w --save                   keep the result in build/bench/<date>-w.json
  python -m bench.w --save bench/results/w.json   make it the one to compare with

exit codes: 0 measured, whether or not targets are met; 1 void, an answer is wrong; 2 bad usage
"""

HEADLINES = (
    "check_ns_p50",
    "check_ns_p99",
    "checks_per_s",
    "batch_per_s",
    "list_ms_p50",
    "list_1m_ms_p50",
    "count_ms_p50",
    "build_s",
    "build_1m_s",
    "grant_visible_ms_p50",
)
"""The figures that every run reports; None for those that were not measured."""

COMPARED = (
    *HEADLINES,
    "baseline.check_ns_p50",
    "baseline.list_ms_p50",
    "ratios.check_vs_baseline",
    "ratios.check_vs_cedarpy",
    "ratios.list_vs_baseline",
    "ratios.list_vs_cedarpy",
)
"""The figures that are compared with the last committed ones."""


def measured(effort: Effort, *, rivals: bool, large: bool) -> dict[str, Any]:
    """The result of one run; raises `Void` when an answer is wrong."""
    workload = draw(TABLES_W)
    digest = workload.digest()
    if digest != SHA256_W:
        raise Void(f"the workload drawn has the digest {digest}, not {SHA256_W}")
    truth = answers_digest(Literal(workload).answers())
    if truth != ANSWERS_W:
        raise Void(f"the truth has the digest {truth}, not {ANSWERS_W}")
    about = machine()
    small, big = Results(), Results("_1m")
    world = stages.build(workload, ANSWERS_W, effort, small, rivals=rivals)
    for stage in (stages.checks, stages.lists, stages.changes, stages.more_checks):
        say(f"{stage.__name__.replace('_', ' ')} on W")
        stage(world, effort, small)
    rival = None if world.cedar is None else {"version": world.cedar.version, **small.cedar}
    del world
    if large:
        say("everything on W-1M")
        big = million.apart(effort)
    result: dict[str, Any] = {
        "workload_sha256": digest,
        **dict.fromkeys(HEADLINES),
        **small.ours,
        **big.ours,
        "baseline": {**small.baseline, **big.baseline},
        "rivals": {"cedarpy": rival},
        "ratios": {**small.ratios, **big.ratios},
        "rounds": effort.rounds,
        "interleaved": ["lakewarden", "baseline", *(["cedarpy"] if rival else [])],
        **about,
    }
    final: dict[str, Any] = rounded({**result, "targets": judged(result)})
    return final


def table(result: Mapping[str, Any]) -> str:
    """The result as readable text."""
    figures = {k: v for k, v in result.items() if "_" in k and not k.endswith("_sha256")}
    last = result["against"]
    lines = [
        f"Workload W, {result['date']}: {result['machine']}, {result['cores']} cores,"
        f" load {result['load'][0]}, Python {result['python']}",
        *section("lakewarden", figures),
        *section("the hand-made engine", result["baseline"]),
        *section("cedarpy", result["rivals"]["cedarpy"] or {"not measured": None}),
        *section("ratios", result["ratios"]),
        *(section(f"times the result of {last['date']}", last["ratios"]) if last else ()),
        "",
        "targets",
        *(_judgement(id, target) for id, target in result["targets"].items()),
    ]
    return "\n".join(lines)


def _judgement(id: str, target: Mapping[str, Any]) -> str:
    verdict = {True: "met", False: "MISSED", None: "–"}[target["met"]]
    figures = f"{number(target['value']):>14} of {number(target['must']):>10}"
    return f"  {id:<16}{verdict:<7}{figures}   {target['title']}"


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    """The command-line options."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(
        prog="python -m bench.w",
        description=__doc__.partition("\n")[0],
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--quick", action="store_true", help="no W-1M, fewer rounds")
    parser.add_argument("--no-rivals", action="store_true", help="leave Cedar out")
    parser.add_argument("--save", nargs="?", const="", metavar="FILE", help="keep the result")
    return parser.parse_args(given)


def main(given: Sequence[str] | None = None) -> int:
    """Measures, prints and saves the result; returns the exit code."""
    options = arguments(given)
    rivals = not options.no_rivals and cedar.is_installed()
    try:
        result = measured(QUICK if options.quick else FULL, rivals=rivals, large=not options.quick)
    except Void as reason:
        say(f"void: {reason}")
        if options.json:
            print(json.dumps({"void": str(reason)}))
        return 1
    result["against"] = rounded(against(result, "w", COMPARED))
    if options.save is not None:
        say(f"kept in {kept(result, 'w', options.save)}")
    print(json.dumps(result) if options.json else table(result))
    return 0


if __name__ == "__main__":
    sys.exit(main())
