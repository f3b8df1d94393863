"""The figures of docs/capacity.md, and the chart of the soak, from the committed results.

python -m bench.capacity_page [--check]
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from bench.result import LAST
from bench.soak import chart
from bench.text import number

DOCS: Final = Path(__file__).parents[1] / "docs"
PAGE: Final = DOCS / "capacity.md"
CHART: Final = DOCS / "pictures" / "measured" / "soak.svg"
END: Final = "<!-- end of figures -->"

Result = Mapping[str, Any]


def _start(name: str) -> str:
    return f"<!-- {name}: written by `python -m bench.capacity_page` from bench/results -->"


def _where(result: Result) -> str:
    load = result["load"][0]
    return (
        f"Measured on {result['date']}: {result['machine']}, {result['cores']} cores,"
        f" Python {result['python']}; the machine's load was {load:g} when it began."
    )


def capacity(result: Result) -> Iterator[str]:
    """The grid and the formulas."""
    yield _where(result)
    yield ""
    yield (
        "| Realms | Entities of each | Users | Writes/s | Memory, MiB | after the writes"
        " | Processor, ms a write | at rest, % | Store, MiB |"
    )
    yield "|" + "---|" * 9
    for row in result["rows"]:
        figures = (
            f"{row['realms']}",
            f"{row['entities']:,}",
            f"{row['users']:,}",
            f"{row['written_per_s']:.2g}",
            f"{row['memory_mib']:.0f}",
            f"{row['memory_after_mib']:.0f}",
            f"{row['cpu_ms_per_write']:.0f}",
            f"{row['rest_cpu_percent']:.1f}",
            f"{row['store_mib']:.1f}",
        )
        yield f"| {' | '.join(figures)} |"
    yield ""
    yield "| Figure | Formula | Worst point |"
    yield "|---|---|---|"
    for figure, formula in result["formulas"].items():
        terms = [
            f"{value:.3g} {TERMS[name]}".strip()
            for name, value in formula.items()
            if name != "worst_error"
        ]
        off = f"{formula['worst_error']:.0%} off"
        yield f"| {FIGURES[figure]} | {' + '.join(terms)} | {off} |"


FIGURES: Final = {
    "memory_mib": "memory of a worker, MiB",
    "cpu_ms_per_write": "processor of a worker, ms a write",
    "store_mib": "store without its history, MiB",
}
TERMS: Final = {
    "base": "",
    "per_100k_entities": "per 100,000 entities",
    "per_100k_entities_of_realm": "per 100,000 entities of the realm",
    "per_1k_users": "per 1,000 users",
    "per_1k_users_and_realm": "per 1,000 users and realm",
}


def soak(result: Result) -> Iterator[str]:
    """The results of the soak."""
    counts, bounds = result["counts"], result["bounds"]
    yield _where(result)
    yield ""
    yield "![The soak by windows of five minutes](pictures/measured/soak.svg)"
    yield ""
    yield (
        f"{result['minutes']:g} minutes at {result['rate_per_s']:.1f} requests/s, which is"
        f" {result['load_share']:.0%} of what the ramp reached on the machine as it was:"
        f" {counts['asked']:,} requests, {counts['judged']:,} answers judged"
        f" ({counts['positive']:,} of them an allow or a list with something in it)."
    )
    yield ""
    server = result.get("server")
    if server is not None:
        ended = ", ".join(f"{number:,} {name}" for name, number in server["outcomes"].items())
        yield (
            f"The server itself counted, the ramp included: {ended}; {server['stale_answers']:,}"
            " answers said that they may be old."
        )
        yield ""
    yield "| Bound | Measured | At most | Kept |"
    yield "|---|---|---|---|"
    for name, bound in bounds.items():
        kept = "yes" if bound["value"] <= bound["most"] else "**no**"
        yield f"| {BOUNDS[name]} | {number(bound['value'])} | {number(bound['most'])} | {kept} |"
    yield ""
    yield "| Client | p99, last third over first | the same of the constant server | Ratio |"
    yield "|---|---|---|---|"
    for group, each in sorted(result["p99"].items()):
        figures = " | ".join(f"{each[name]:.2f}" for name in ("plain", "control", "ratio"))
        yield f"| {group.replace('.', ', ')} | {figures} |"
    yield ""
    yield "| Kind | Requests | Answers judged | Wrong | Errors |"
    yield "|---|---|---|---|---|"
    for kind, of in result["kinds"].items():
        figures = " | ".join(f"{of[name]:,}" for name in ("asked", "judged", "wrong", "errors"))
        yield f"| `{kind}` | {figures} |"
    first, last = result["windows"][0], result["windows"][-1]
    writes = sum(
        of["asked"]
        for kind, of in result["kinds"].items()
        if kind.rpartition(".")[2] in ("grant", "statement", "import")
    )
    grown = (last["store_mib"] - first["store_mib"]) * 1024
    hours = (last["at_s"] - first["at_s"]) / 3600
    share = 1 - first["at_s"] / last["at_s"]
    yield ""
    yield (
        f"The store grew from {first['store_mib']:.1f} to {last['store_mib']:.1f} MiB in"
        f" {hours:.2f} hours, {grown / (writes * share):.1f} KiB a write: its change, its audit row"
        " and indexes; an import writes twelve statements at once."
    )


BOUNDS: Final = {
    "worker_uss_mib_per_hour": "private memory of a worker, second half, MiB an hour",
    "p99_last_third_over_first": "p99 of reads, last third over first, beside the constant's",
    "wrong": "wrong answers",
    "errors": "errors",
}


def written(text: str) -> str:
    """The page with figures from the available results."""
    for name, section in (("capacity", capacity), ("soak", soak)):
        place = LAST / f"{name}.json"
        if not place.exists():
            continue
        lines = section(json.loads(place.read_text()))
        head, start, tail = text.partition(_start(name))
        text = f"{head}{start}\n\n{chr(10).join(lines)}\n\n{END}{tail.partition(END)[2]}"
    return text


def main(given: Sequence[str]) -> int:
    """Writes page and chart; with --check only reports (exit code 1) that they are out of date."""
    pairs = [(PAGE, written(PAGE.read_text()))]
    result = LAST / "soak.json"
    if result.exists():
        pairs.append((CHART, chart.drawn(json.loads(result.read_text()))))
    if "--check" in given:
        return int(any(not path.exists() or path.read_text() != text for path, text in pairs))
    for path, text in pairs:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
