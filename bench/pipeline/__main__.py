"""The pipeline at estate scale: its jobs on generated worlds, with time, memory and outputs.

A cell is a kind of world, a size and a seed. Each result is stored as soon as it is complete; a
rerun only measures missing cells. If an index answers differently from the kernel, its cell is
void.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from bench.pipeline.attributes import ATTRIBUTES
from bench.pipeline.cells import KEPT, Bench, Cell
from bench.pipeline.estate import Size
from bench.pipeline.grants import GRANTS
from bench.pipeline.stages import EVERY, chosen
from bench.pipeline.summary import summed, text
from bench.pipeline.tree import COLUMN_WIDTH
from bench.result import kept, rounded
from bench.text import say

EXAMPLES = """\
examples:
  python -m bench.pipeline                             100k to 10M, three seeds (one at 10M): hours
  python -m bench.pipeline --sizes 100k,1M --seeds 1   a first impression
  python -m bench.pipeline --worlds grants --sizes 10k --stages ingest,index,review,diff
  python -m bench.pipeline --worlds grants --stages index,snapshot --sizes 1M --again
  python -m bench.pipeline --worlds grants --sizes 100k --columns 20 --seeds 1
  python -m bench.pipeline --save bench/results/pipeline.json   make it the one to compare with

exit codes: 0 measured; 1 a cell is void, or a stage failed; 2 bad usage
"""

WORLDS = {world.kind: world for world in (GRANTS, ATTRIBUTES)}

SIZES = ("100k", "300k", "1M", "3M", "10M")
RICH = frozenset({1_000_000})
"""The sizes of the world of attributes, unless the caller names worlds."""

SEEDS, SEEDS_OF_LARGEST, LARGEST = 3, 1, 10_000_000

_UNITS = {"k": 1_000, "M": 1_000_000}


def count(text: str) -> int:
    """A number in its written form.

    >>> count("300k"), count("3M"), count("500")
    (300000, 3000000, 500)
    """
    unit = _UNITS.get(text[-1:], 1)
    return int(text[:-1] if unit > 1 else text) * unit


def cells(options: argparse.Namespace) -> Iterator[Cell]:
    """The cells that the options select, the small ones first."""
    for entities in sorted(map(count, options.sizes.split(","))):
        most = options.seeds or (SEEDS_OF_LARGEST if entities >= LARGEST else SEEDS)
        for kind in WORLDS if options.worlds is None else options.worlds.split(","):
            if options.worlds is None and kind == ATTRIBUTES.kind and entities not in RICH:
                continue
            for seed in range(1, most + 1):
                columns = options.columns if kind == GRANTS.kind else 0
                yield Cell(WORLDS[kind], Size.of(entities, columns), seed)


def arguments(given: Sequence[str] | None) -> argparse.Namespace:
    """The options of a call; exits for invalid usage."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(
        prog="python -m bench.pipeline",
        description=__doc__.partition("\n")[0],
        epilog=EXAMPLES,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--sizes", default=",".join(SIZES), help="entities, such as 100k,1M")
    parser.add_argument("--seeds", type=int, help="how many; default: 3, and 1 from 10M on")
    parser.add_argument("--worlds", help=f"of {', '.join(WORLDS)}; default: attributes at 1M only")
    parser.add_argument("--columns", type=int, default=0, help="columns of each table of grants")
    parser.add_argument("--stages", default="", help=f"of {', '.join(EVERY)}; default: not ingest")
    parser.add_argument("--again", action="store_true", help="measure finished cells again")
    parser.add_argument(
        "--keep", action="store_true", help="keep worlds and outputs; use kept worlds"
    )
    parser.add_argument("--out", type=Path, default=KEPT, help="where cells are kept")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    parser.add_argument("--save", nargs="?", const="", metavar="FILE", help="keep the result")
    options = parser.parse_args(given)
    if not 0 <= options.columns < 10**COLUMN_WIDTH:
        parser.error(f"expected --columns below {10**COLUMN_WIDTH}")
    options.stages = [name for name in options.stages.split(",") if name]
    for what, names, known in (
        ("stage", options.stages, EVERY),
        ("world", (options.worlds or "grants").split(","), WORLDS),
    ):
        for name in set(names) - set(known):
            parser.error(f"no {what} `{name}`; there are {', '.join(known)}")
    return options


def main(given: Sequence[str] | None = None) -> int:
    """Measures, prints and stores; returns the exit code."""
    options = arguments(given)
    bench = Bench(chosen(options.stages), options.out, options.again, options.keep)
    found = bench.cells(list(cells(options)))
    result = rounded(summed(found))
    if options.save is not None:
        say(f"kept in {kept(result, 'pipeline', options.save)}")
    print(json.dumps(result) if options.json else text(result))
    stages = (figures for cell in found for figures in cell["stages"].values())
    return int(bool(result["void"]) or any("failed" in figures for figures in stages))


if __name__ == "__main__":
    sys.exit(main())
