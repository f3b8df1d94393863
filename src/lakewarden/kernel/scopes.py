"""Which entities of a block lie in which scope: columns in, one bitmap per scope out.

This is the only place that defines the meaning of a scope. In process it runs over all entities
at once, or over one row for a name that is not stored; Spark maps it over many blocks.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from pyroaring import BitMap

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.model import Reach
from lakewarden.kernel.statement import Anything, Condition, Criterion, Matching, On, Scope


@dataclass(frozen=True, slots=True)
class Reaching:
    """A statement's scope with the reach of one privilege: the unit that is matched to a block."""

    scope: Scope
    reach: Reach


class Column(Protocol):
    """The values that one field resolves to, for every row of a block."""

    def equal(self, value: str) -> BitMap:
        """The rows that have this value."""
        ...

    def starting(self, prefix: str) -> BitMap:
        """The rows with some value that starts with `prefix`."""
        ...


class Block(Protocol):
    """Some entities as rows, with what scopes need of them. Bitmaps hold row numbers."""

    def everything(self) -> BitMap:
        """All rows."""
        ...

    def resources(self) -> BitMap:
        """The rows that stand for a resource, or for a type alone."""
        ...

    def exactly(self, entity: Entity) -> BitMap:
        """The row of the entity, or none."""
        ...

    def below(self, entity: Entity) -> BitMap:
        """The rows of the entity and of everything below it."""
        ...

    def above(self, entity: Entity) -> BitMap:
        """The rows of the entity and of all its ancestors, or those its name spells."""
        ...

    def matching(self, type: str, parts: Sequence[str], reach: Reach) -> BitMap:
        """The rows of the type whose name parts match the patterns.

        Reaching below: also what lies below them. Reaching above: also the rows, of the
        types that may contain the type, whose parts match the first patterns.
        """
        ...

    def column(self, field: str) -> Column:
        """A criteria field of the model."""
        ...


def match(block: Block, scopes: Iterable[Reaching]) -> list[BitMap]:
    """For each scope the rows of the block that lie in it, in the order of `scopes`."""
    return [_match(block, reaching) for reaching in scopes]


def _match(block: Block, reaching: Reaching) -> BitMap:
    scope = reaching.scope
    match scope:
        case Anything():
            return block.everything()
        case On(entity):
            return _rows_in_reach(block, entity, reaching.reach)
        case Matching(type, parts):
            return block.matching(type, parts, reaching.reach)
        case _:
            return matching_resources(block, scope.criteria)


def _rows_in_reach(block: Block, entity: Entity, reach: Reach) -> BitMap:
    match reach:
        case Reach.EXACTLY:
            return block.exactly(entity)
        case Reach.BELOW:
            return block.below(entity)
        case _:
            return block.above(entity)


def matching_resources(block: Block, criteria: Sequence[Criterion]) -> BitMap:
    """The rows of resources on which every criterion holds."""
    rows = block.resources()
    for criterion in criteria:
        rows = rows & _matching_rows(block, criterion, rows)
    return rows


def _matching_rows(block: Block, criterion: Criterion, rows: BitMap) -> BitMap:
    column = block.column(criterion.field)
    match criterion.condition:
        case Condition.EQUALS:
            return _union(column.equal(value) for value in criterion.values)
        case Condition.STARTS_WITH:
            return _union(column.starting(prefix) for prefix in criterion.values if prefix)
        case _:
            return rows - _union(column.equal(value) for value in criterion.values)


def _union(bitmaps: Iterable[BitMap]) -> BitMap:
    maps = list(bitmaps)
    return BitMap.union(*maps) if maps else BitMap()


def normal(scope: Scope, reach: Reach) -> Reaching:
    """The scope to match; the same one for every reach where the reach makes no difference."""
    anchored = isinstance(scope, (On, Matching))
    return Reaching(scope, reach if anchored else Reach.EXACTLY)
