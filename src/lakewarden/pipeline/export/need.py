"""What it takes to be let in: of whom which ties to the entity are needed, class by class.

A class is what is left of a rule on some entities. Statements let in the same people on all of
them; owners, and whoever the entity itself is, differ from one entity to the next. So a class
is read as pairs: a *need*, ties that a user must have to the entity, and the users for whom
these are enough. Who has the ties is told entity by entity, see `meeting`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import reduce
from typing import Final

from pyroaring import BitMap

from lakewarden.pipeline.review.audience import Audience, People, spoken
from lakewarden.pipeline.review.residue import (
    All,
    Any,
    Itself,
    One,
    Owned,
    Owners,
    Residues,
)

Tie = Owned | Itself
"""Owning, or being, what a path leads to; through which statements that counts is left out."""

Need = frozenset[Tie]
"""Ties, all of which are needed."""

NOTHING: Final[Need] = frozenset()

Found = Mapping[Need, BitMap]
"""The users for whom a need is enough, not all of them by less; none of the sets is empty."""


class Needs:
    """What the residues of a collection need."""

    def __init__(self, people: People, residues: Residues, audience: Audience) -> None:
        self._people = people
        self._residues = residues
        self._audience = audience
        self._known: dict[int, Found] = {}

    def of(self, number: int) -> Found:
        """What a residue needs; remembered. With `NOTHING` come those who need no tie.

        Those are let in by statements, or by owning, or being, what a relation leads to.
        """
        known = self._known.get(number)
        if known is None:
            known = self._known[number] = _least(self._read(number))
        return known

    def _read(self, number: int) -> Found:
        if not self._residues.is_own(number):
            return {NOTHING: self._audience.stated(number)}
        match self._residues[number]:
            case All(parts):
                return reduce(_both, map(self.of, parts))
            case Any(parts):
                return reduce(_either, map(self.of, parts))
            case Owned(path, types, _):
                return {frozenset({Owned(path, types)}): self._people.crowd.everyone}
            case Itself() as tie:
                return {frozenset({tie}): self._people.crowd.everyone}
            case Owners(_, _, _, principals):
                return {NOTHING: self._people.of(principals)}
            case One(_, exactly, principal):
                return {NOTHING: self._people.one(principal, exactly=exactly)}
            case residue:
                raise AssertionError(f"{residue} turns on ownership and is not read")


def _either(one: Found, other: Found) -> Found:
    found = dict(one)
    for need, users in other.items():
        found[need] = found.get(need, BitMap()) | users
    return _least(found)


def _both(one: Found, other: Found) -> Found:
    found: dict[Need, BitMap] = {}
    for need, users in one.items():
        for more, others in other.items():
            common = users & others
            if common:
                joined = need | more
                found[joined] = found.get(joined, BitMap()) | common
    return _least(found)


def _least(found: Found) -> Found:
    """The same without needs that let in nobody whom less does not.

    Who is let in by less stays with the others: a crowd is easier to say whole than with holes.
    """
    kept: dict[Need, BitMap] = {}
    for need in sorted(found, key=len):
        less = (users for smaller, users in kept.items() if smaller < need)
        if not found[need].issubset(BitMap.union(BitMap(), *less)):
            kept[need] = found[need]
    return kept


# as text, which is the same in all tasks


def need_text(need: Need) -> str:
    """The need for `need_of`; the same text for the same need."""
    cells = ([type(tie).__name__, *_cells(tie)] for tie in need)
    return json.dumps(sorted(cells, key=repr), ensure_ascii=False)


def _cells(tie: Tie) -> list[object]:
    if isinstance(tie, Owned):
        return [list(tie.path), None if tie.types is None else list(tie.types)]
    return [list(tie.path), tie.exactly]


def need_of(text: str) -> Need:
    """The need that `need_text` wrote.

    >>> need_of(need_text(frozenset({Owned(("schema",), None)})))
    frozenset({Owned(path=('schema',), types=None, statements=())})
    """
    return frozenset(
        Owned(tuple(path), None if more is None else tuple(more))
        if word == Owned.__name__
        else Itself(tuple(path), more)
        for word, path, more in json.loads(text)
    )


def need_words(need: Need) -> str:
    """The need as people read it.

    >>> need_words(frozenset({Owned(("schema",), None), Itself((), True)}))
    'owner of schema and self'
    """
    return " and ".join(sorted(map(spoken, need)))
