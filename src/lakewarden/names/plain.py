"""How a system without a grammar of names spells them: any readable text, taken as it is.

No name spells a parent, and there are no wildcards. For models of one's own whose resources
are known by plain ids.
"""

from __future__ import annotations

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.names.canonical import check_text, quoted


def parse(type: str, text: str) -> Entity:
    """The entity of that name; `text` is kept as it is. Raises `BadInput`.

    Which types there are only the model knows.

    >>> parse("record", "record-1")
    Entity(type='record', name='record-1')
    """
    check_text(type, "the type")
    check_text(text)
    return Entity(type, text)


def parent(entity: Entity) -> Entity | None:  # noqa: ARG001 — as every spelling has it
    """None: what contains what is stored, not spelt."""
    return None


def parts(entity: Entity) -> tuple[str, ...]:
    """The whole name: it has no parts."""
    return (entity.name,)


def pattern(type: str, text: str) -> tuple[str, ...]:
    """Always `BadInput`: there are no wildcards."""
    raise BadInput(f"plain names have no wildcards, got {quoted(f'{type}:{text}')}")
