"""What is secured: entities, and how a system spells their names.

An entity is identified by its type and its canonical name. The kernel never splits a name:
where it needs the ancestors or the parts that a name spells, it calls the `Spelling` of
the model's system, which lives in `lakewarden.names`.
"""

from __future__ import annotations

from typing import NamedTuple, Protocol


class Entity(NamedTuple):
    """One secured thing: its type and its canonical name, compared byte for byte.

    Two values of this type stand for no stored entity: `NO_RESOURCE`, and a type with an
    empty name, which stands for the type alone.

    >>> str(Entity("table", "lake:sales.raw.orders"))
    'table:lake:sales.raw.orders'
    """

    type: str
    name: str

    def __str__(self) -> str:
        """`type:name`, the notation of policy files, questions and messages."""
        return f"{self.type}:{self.name}"


NO_RESOURCE = Entity("", "")
"""The request names no resource at all (a platform operation)."""


class Spelling(Protocol):
    """How one system spells entity names. Implemented by the modules of `lakewarden.names`."""

    def parse(self, type: str, text: str) -> Entity:
        """The entity that `text` names, in canonical form.

        Raises `BadInput` naming the offending part when `text` does not match the grammar of
        `type`, and `Unknown` when the system has no such type.
        """
        ...

    def parent(self, entity: Entity) -> Entity | None:
        """The containment parent that the name itself spells; None at the top.

        Total for canonical names: it never raises for an entity that `parse` returned.
        """
        ...

    def parts(self, entity: Entity) -> tuple[str, ...]:
        """The name's parts from the outermost container inwards, as wildcards see them."""
        ...

    def pattern(self, type: str, text: str) -> tuple[str, ...]:
        """The parts of a wildcard pattern over names of `type`, comparable with `parts`.

        Raises `BadInput` in a system that has no wildcards.
        """
        ...
