"""Permissions of a realm that a system does not receive, with the reasons."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from pyroaring import BitMap

MOST: Final = 10_000
"""The most that are listed; all are counted."""


@dataclass(frozen=True, slots=True, order=True)
class Residue:
    """One omitted permission. `statement`, `principal`, `entity` and `access` if known."""

    why: str
    entity: str = ""
    principal: str = ""
    statement: str = ""
    access: str = ""


class Residues:
    """The residue so far: each item once, of which a limited number is listed.

    COST: an entity of many users is a number in a bitmap for each of them, so millions can be
    distinguished in a few megabytes.
    """

    def __init__(self) -> None:
        self.count = 0
        self._listed: list[Residue] = []
        self._numbers: dict[str, int] = {}
        self._seen: dict[tuple[str, str, str, str], BitMap] = {}

    def add(self, residue: Residue) -> None:
        """Adds one, unless it already exists."""
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
