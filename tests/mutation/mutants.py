"""Draw mutants of some modules, as JSON, by the operators of cosmic-ray.

    PYTHON mutants.py --sample 300 --seed 1 MODULE.py ...

PYTHON has cosmic-ray and nothing of ours. Code that does not compile is not a mutant; neither are
changes only to annotations.
"""

from __future__ import annotations

import argparse
import ast
import json
import random
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code
from cosmic_ray.plugins import get_operator, operator_names


class Place(NamedTuple):
    """The n-th place in a module that an operator can change, and its lines."""

    module: str
    operator: str
    occurrence: int
    line: int
    end_line: int


def main() -> None:
    """Print the number of places, and the drawn mutants with their source."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--sample", type=int, default=300, help="how many (0: every one)")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("modules", nargs="+")
    options = parser.parse_args()

    places = sorted(place for module in options.modules for place in places_of(module))
    random.Random(options.seed).shuffle(places)
    drawn: list[dict[str, object]] = []
    for place in places:
        source = _mutated(place)
        if source is not None:
            drawn.append({**place._asdict(), "source": source})
        if len(drawn) == options.sample:
            break
    print(json.dumps({"places": len(places), "drawn": drawn}))


def places_of(module: str) -> Iterator[Place]:
    """Yield every place of a module that an operator without arguments can change."""
    text = Path(module).read_text()
    nodes = list(ast_nodes(get_ast(text)))
    unread = _spans_of_annotations(text)
    for name in operator_names():
        operator = get_operator(name)
        if operator.arguments():
            continue
        spans = (span for node in nodes for span in operator().mutation_positions(node))
        for occurrence, (start, end) in enumerate(spans):
            if not any(first <= start and end <= last for first, last in unread):
                yield Place(module, name, occurrence, start[0], end[0])


def _spans_of_annotations(text: str) -> list[tuple[tuple[int, int], tuple[int, int]]]:
    """Annotations are never evaluated in the kernel: every module defers them."""
    annotations: list[ast.expr] = []
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.arg | ast.AnnAssign) and node.annotation:
            annotations.append(node.annotation)
        elif isinstance(node, ast.FunctionDef) and node.returns:
            annotations.append(node.returns)
    return [
        ((node.lineno, node.col_offset), (node.end_lineno or 0, node.end_col_offset or 0))
        for node in annotations
    ]


def _mutated(place: Place) -> str | None:
    """Return the changed module; None if it does not compile or is the same code."""
    text = Path(place.module).read_text()
    changed: str | None = mutate_code(text, get_operator(place.operator)(), place.occurrence)
    try:
        is_same = changed is None or ast.dump(ast.parse(changed)) == ast.dump(ast.parse(text))
    except SyntaxError:
        return None
    return None if is_same else changed


if __name__ == "__main__":
    main()
