"""One change of one module."""

from __future__ import annotations

import difflib
from dataclasses import dataclass, field
from pathlib import Path


@dataclass(frozen=True)
class Mutant:
    """One change of one module; see `mutants.Place`."""

    module: str
    operator: str
    occurrence: int
    line: int
    end_line: int
    source: str = field(repr=False)

    @property
    def path(self) -> Path:
        return Path(self.module).resolve()

    @property
    def difference(self) -> list[str]:
        """The lines that differ, with `-` and `+`."""
        lines = difflib.unified_diff(
            self.path.read_text().splitlines(), self.source.splitlines(), lineterm="", n=0
        )
        return [line for line in lines if not line.startswith(("---", "+++", "@@"))]

    @property
    def name(self) -> str:
        """The change, without a line number, because code above it may change."""
        return f"{self.path.name}: " + " => ".join(line[1:].strip() for line in self.difference)
