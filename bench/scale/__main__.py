"""The cost of an index as a function of the estate: measured, fitted, checked, and for a billion.

Runs `bench.scale.run` on ten sizes, some also with other numbers of cores, fits the costs of each
stage, and compares them with two sizes that are not part of the fit. The runs of each number of
cores are saved when they finish; a rerun measures only the missing ones.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from bench.pipeline.estate import Size
from bench.pipeline.grants import GRANTS, USERS
from bench.pipeline.measure import run_apart
from bench.result import kept, machine, rounded
from bench.scale.fitting import Cost, fitted
from bench.scale.page import text
from bench.text import say
from lakewarden.pipeline.directory_manifest import read_manifest
from lakewarden.pipeline.index.numbering import BLOCK_BITS

KEPT = Path("build/bench/scale")
CORES = 2
"""The number of cores for all sizes."""

OTHER_CORES = (1, 4)
"""The numbers of cores for some sizes, in addition."""

SEED = 1

BITS = {
    Size(160_000, statements=1_000): 13,
    Size(200_000, statements=10_000, owned=0.3): 13,
    Size(250_000, owned=0.8): 15,
    Size(100_000, columns=3): 16,
    Size(60_000, columns=8, statements=2_000): 14,
    Size(150_000, columns=2, owned=0.5): 14,
    Size(180_000, columns=1, owned=0.4, statements=6_000): 15,
}
"""Estates with smaller blocks than usual, so blocks and entities are not proportional."""

FITTED = (
    Size(140_000),
    Size(160_000, statements=1_000),
    Size(200_000, statements=10_000, owned=0.3),
    Size(250_000, owned=0.8),
    Size(100_000, columns=3),
    Size(60_000, columns=8, statements=2_000),
    Size(40_000, columns=12, statements=8_000),
    Size(150_000, columns=2, owned=0.5),
    Size(300_000, statements=3_000),
    Size(350_000, owned=0.2),
)
"""The estates to which the costs are fitted."""

LEFT_OUT = (Size(450_000), Size(180_000, columns=1, owned=0.4, statements=6_000))
"""The estates for the comparison: one beyond the fitted sizes, one between them."""

SOME = (FITTED[1], FITTED[7], FITTED[4])
"""The sizes that are also measured with other numbers of cores."""

EVEN, LOPSIDED = FITTED[-1], replace(FITTED[-1], lopsided=True)
"""An estate, and the same with half of all objects in one schema and everybody in one group."""

BILLION = {"entities": 50e6, "columns": 950e6, "statements": 100e3, "owners": 25e6}
"""A billion: fifty million objects, nineteen columns of each, an owner for every second object."""

MEASURES = ("driver_s", "tasks_s", "shuffled", "tasks")
NODES, CORES_OF_NODE = 50, 16

EXAMPLES = """\
examples:
  python -m bench.scale                                   19 runs, about 10 minutes
  python -m bench.scale --save bench/results/scale.json   and the page: python -m bench.scale.page

exit codes: 0 measured, and the check holds; 1 a cost that was left out is missed by a fifth or more
"""


def known(size: Size, world: Path) -> dict[str, float]:
    """The variables of the costs: counts in millions, thousands of statements, and cores."""
    rows = {name: content.rows for name, content in read_manifest(world).tables.items()}
    columns = rows["entities"] - _people(size) - size.entities
    blocks = -(-rows["entities"] >> bits_of(size))
    return features(size.entities, columns, size.statements, rows["owners"], blocks)


def bits_of(size: Size) -> int:
    """The size of a block of the estate: log2 of its number of entities."""
    return BITS.get(size, BLOCK_BITS)


def _people(size: Size) -> int:
    """The number of users, groups and roles, which are entities as well."""
    return size.roles + 3 * size.groups + sum(round(size.users * share) for share in USERS)


def features(
    entities: float, columns: float, statements: float, owners: float, blocks: float
) -> dict[str, float]:
    """The terms of a cost; `blocks of statements`: every block processes every statement."""
    return {
        "run": 1.0,
        "million entities": entities / 1e6,
        "million columns": columns / 1e6,
        "million owners": owners / 1e6,
        "thousand statements": statements / 1e3,
        "blocks": blocks,
        "blocks of a thousand statements": blocks * statements / 1e3,
    }


def runs(sizes: Sequence[Size], cores: int, place: Path) -> list[dict[str, Any]]:
    """One run of each size, or the saved runs."""
    file = place / f"{len(sizes)}-{cores}.json"
    if file.exists():
        found: list[dict[str, Any]] = json.loads(file.read_text())
        return found
    worlds = [_world(size, place) for size in sizes]
    out = place / "indexes"
    shutil.rmtree(out, ignore_errors=True)
    named = [f"{world}:{bits_of(size)}" for world, size in zip(worlds, sizes, strict=True)]
    command = [sys.executable, "-m", "bench.scale.run", str(cores), str(out), *named]
    printed = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    found = [
        {"size": asdict(size), "cores": cores, "known": known(size, world), **told}
        for size, world, told in zip(sizes, worlds, json.loads(printed), strict=True)
    ]
    file.write_text(json.dumps(found, indent=1))
    say(f"{cores} cores: {len(found)} runs")
    return found


def _world(size: Size, place: Path) -> Path:
    world = place / f"world-{'-'.join(map(str, asdict(size).values()))}"
    if not world.exists():
        run_apart(GRANTS.write, world, size, SEED)
    return world


def costs(cells: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Cost]]:
    """The costs of each stage, by measure."""
    names = list(dict.fromkeys(name for one in cells for name in one["stages"]))
    return {
        name: {
            measure: fitted(
                [_with_cores(one) for one in cells],
                [one["stages"].get(name, {}).get(measure, 0.0) for one in cells],
            )
            for measure in MEASURES
        }
        for name in names
    }


def _with_cores(one: Mapping[str, Any]) -> dict[str, float]:
    return {**one["known"], "cores": float(one["cores"])}


def checks(
    fits: Mapping[str, Mapping[str, Cost]], cells: Sequence[Mapping[str, Any]]
) -> Iterator[dict[str, Any]]:
    """For the sizes left out: the measured and the fitted totals, over the cores."""
    for size in sorted({json.dumps(one["size"]) for one in cells}):
        some = [one for one in cells if json.dumps(one["size"]) == size]
        for measure in MEASURES[:2]:
            pairs = {
                name: (
                    sum(one["stages"].get(name, {}).get(measure, 0.0) for one in some) / len(some),
                    sum(by[measure].of(_with_cores(one)) for one in some) / len(some),
                )
                for name, by in fits.items()
            }
            measured, said = (sum(pair[place] for pair in pairs.values()) for place in (0, 1))
            yield {
                "size": json.loads(size),
                "measure": measure,
                "measured": measured,
                "fitted": said,
                "error": said / measured - 1,
                "stages": {name: list(pair) for name, pair in pairs.items()},
            }


def at(fits: Mapping[str, Mapping[str, Cost]], estate: Mapping[str, float]) -> dict[str, Any]:
    """The fitted costs of an estate on a cluster, where tasks use all cores."""
    blocks = (estate["entities"] + estate["columns"]) / (1 << BLOCK_BITS)
    terms = {**features(**estate, blocks=blocks), "cores": 1.0}
    stages = {}
    for name, by in fits.items():
        cost = {measure: by[measure].of(terms) for measure in MEASURES}
        cost["wall_s"] = cost["driver_s"] + cost["tasks_s"] / (NODES * CORES_OF_NODE)
        stages[name] = cost
    return {**estate, "nodes": NODES, "cores": CORES_OF_NODE, "stages": stages}


def lopsided(cells: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """The cost of the lopsided estate as a multiple of the even one.

    `seconds`: CPU time; `longest`: the sum of the longest task of each Spark stage.
    """
    even, odd = (
        _total(one)
        for size in (EVEN, LOPSIDED)
        for one in cells
        if one["cores"] == CORES and one["size"] == asdict(size)
    )
    return {name: odd[name] / even[name] for name in even}


def _total(one: Mapping[str, Any]) -> dict[str, float]:
    stages = one["stages"].values()
    return {
        "seconds": sum(stage["driver_s"] + stage["tasks_s"] for stage in stages),
        "longest": sum(stage.get("longest_s", 0.0) for stage in stages),
    }


def measured(place: Path) -> dict[str, Any]:
    """All runs, the costs, the check and the billion."""
    place.mkdir(parents=True, exist_ok=True)
    cells = runs((*FITTED, LOPSIDED, *LEFT_OUT), CORES, place)
    cells += [one for cores in OTHER_CORES for one in runs(SOME, cores, place)]
    found = [
        [one for one in cells if one["size"] in list(map(asdict, sizes))]
        for sizes in (FITTED, LEFT_OUT)
    ]
    fits = costs(found[0])
    factors = {n: {m: dict(c.factors) for m, c in by.items()} for n, by in fits.items()}
    return {
        **machine(),
        "runs": sum(map(len, found)),
        "factors": factors,
        "checks": list(checks(fits, found[1])),
        "bytes": fitted(*_of_output(found[0], "bytes")).factors,
        "files": fitted(*_of_output(found[0], "files")).factors,
        "lopsided": lopsided(cells),
        "billion": at(fits, BILLION),
    }


def _of_output(
    cells: Sequence[Mapping[str, Any]], name: str
) -> tuple[list[dict[str, float]], list[float]]:
    return [_with_cores(one) for one in cells], [float(one[name]) for one in cells]


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    """The command-line options."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(
        prog="python -m bench.scale",
        description=__doc__.partition("\n")[0],
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--out", type=Path, default=KEPT, help="where runs are kept")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--save", nargs="?", const="", metavar="FILE", help="keep the result")
    return parser.parse_args(given)


def main(given: Sequence[str] | None = None) -> int:
    """Measures, prints and saves the result; returns the exit code."""
    options = arguments(given)
    result = rounded(measured(options.out))
    if options.save is not None:
        say(f"kept in {kept(result, 'scale', options.save)}")
    print(json.dumps(result) if options.json else text(result))
    return int(any(abs(check["error"]) >= 0.2 for check in result["checks"]))


if __name__ == "__main__":
    sys.exit(main())
