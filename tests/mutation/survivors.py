"""The surviving mutants, in a file between runs."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from tests.mutation.mutant import Mutant


def save(path: Path, survivors: Iterable[Mutant]) -> None:
    """Write the change of each mutant without line numbers, so other code may change meanwhile."""
    path.write_text(json.dumps([_table(mutant) for mutant in survivors], indent=1) + "\n")


def load(path: Path) -> list[Mutant]:
    """Create the mutants of the file from the current modules, except those with missing lines."""
    return [mutant for table in json.loads(path.read_text()) for mutant in _placed(**table)]


def _table(mutant: Mutant) -> dict[str, object]:
    before = mutant.path.read_text().splitlines(keepends=True)
    after = mutant.source.splitlines(keepends=True)
    matcher = difflib.SequenceMatcher(None, before, after, autojunk=False)
    changes = [change for change in matcher.get_opcodes() if change[0] != "equal"]
    start, end = changes[0][1], changes[-1][2]
    return {
        "module": mutant.module,
        "operator": mutant.operator,
        "line": start + 1,
        "before": before[start:end],
        "after": after[start : len(after) - (len(before) - end)],
    }


def _placed(
    module: str, operator: str, line: int, before: Sequence[str], after: Sequence[str]
) -> Iterator[Mutant]:
    """Yield the mutant at the nearest place with the same text; nothing if there is none."""
    lines = Path(module).read_text().splitlines(keepends=True)
    size = len(before)
    places = [at for at in range(len(lines)) if lines[at : at + size] == [*before]]
    if places:
        at = min(places, key=lambda place: abs(place + 1 - line))
        source = "".join((*lines[:at], *after, *lines[at + size :]))
        yield Mutant(module, operator, 0, at + 1, at + size, source)
