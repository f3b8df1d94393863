"""What a realm allows and a system is not told, and why."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

MOST: Final = 10_000
"""How many are listed; all of them are counted."""


@dataclass(frozen=True, slots=True, order=True)
class Residue:
    """One thing that is left out. `statement`, `principal`, `entity` and `access` where known."""

    why: str
    entity: str = ""
    principal: str = ""
    statement: str = ""
    access: str = ""


class Residues:
    """What is left out so far: each thing once."""

    def __init__(self) -> None:
        self.count = 0
        self._listed: dict[Residue, None] = {}

    def add(self, residue: Residue) -> None:
        """Adds one, if it is not there."""
        if residue in self._listed:
            return
        self.count += 1
        if len(self._listed) < MOST:
            self._listed[residue] = None

    def __iter__(self) -> Iterator[Residue]:
        return iter(sorted(self._listed))
