"""What a realm allows and a system is not told, and why."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from pyroaring import BitMap

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
    """What is left out so far: each thing once, of which so many are listed.

    COST: an entity of many users is a number in a bitmap for each of them, so that millions can be
    told apart in some megabytes.
    """

    def __init__(self) -> None:
        self.count = 0
        self._listed: list[Residue] = []
        self._numbers: dict[str, int] = {}
        self._seen: dict[tuple[str, str, str, str], BitMap] = {}

    def add(self, residue: Residue) -> None:
        """Adds one, if it is not there."""
        number = self._numbers.setdefault(residue.entity, len(self._numbers))
        of = residue.why, residue.principal, residue.statement, residue.access
        seen = self._seen.setdefault(of, BitMap())
        if number in seen:
            return
        seen.add(number)
        self.count += 1
        if self.count <= MOST:
            self._listed.append(residue)

    def __iter__(self) -> Iterator[Residue]:
        return iter(sorted(self._listed))
