"""A name that is not stored, with what follows from the name alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from lakewarden.kernel.blocks import Named
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.facts import Coded
from lakewarden.kernel.scopes import Reaching, match


@dataclass(frozen=True, slots=True)
class NamedPlace:
    """A name that is not stored, the entities above it, and the scopes that it lies in."""

    entity: Entity
    ancestors: tuple[Entity, ...]
    scopes: frozenset[int]
    block: Named

    @staticmethod
    def of(coded: Coded, entity: Entity, scopes: Sequence[Reaching]) -> NamedPlace:
        """The place of a name; a scope's number is its index in `scopes`."""
        block = Named(coded, entity)
        rows = match(block, scopes)
        inside = frozenset(number for number, row in enumerate(rows) if row)
        return NamedPlace(entity, block.ancestors, inside, block)
