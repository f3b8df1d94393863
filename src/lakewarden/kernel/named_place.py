"""A name that is not stored, with what follows from the name alone."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from lakewarden.kernel.blocks import Named
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.facts import Coded
from lakewarden.kernel.scopes import Reaching, match


@dataclass(frozen=True, slots=True)
class NamedPlace:
    """A name that is not stored, the entities above it, and the scopes that it lies in.

    A scope is matched on first use: a check reads only the few grants of its subject,
    and there may be thousands of scopes.
    """

    entity: Entity
    ancestors: tuple[Entity, ...]
    block: Named
    scopes: Sequence[Reaching] = field(compare=False)
    inside: dict[int, bool] = field(default_factory=dict, compare=False)

    @staticmethod
    def of(coded: Coded, entity: Entity, scopes: Sequence[Reaching]) -> NamedPlace:
        """The place of a name; a scope's number is its index in `scopes`."""
        block = Named(coded, entity)
        return NamedPlace(entity, block.ancestors, block, scopes)

    def lies_in(self, scope: int) -> bool:
        """Whether the scope of this number contains the name; cached."""
        inside = self.inside.get(scope)
        if inside is None:
            inside = self.inside[scope] = bool(match(self.block, (self.scopes[scope],))[0])
        return inside
