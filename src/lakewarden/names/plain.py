"""The spelling of a system without a grammar of names: any readable text, unchanged.

No name spells a parent, and there are no wildcards. For custom models whose resources
have plain ids.
"""

from __future__ import annotations

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.names.canonical import check_text, quoted


def parse(type: str, text: str) -> Entity:
    """The entity of that name; `text` is kept unchanged. Raises `BadInput`.

    Only the model knows which types exist.

    >>> parse("record", "record-1")
    Entity(type='record', name='record-1')
    """
    check_text(type, "the type")
    check_text(text)
    return Entity(type, text)


def parent(entity: Entity) -> Entity | None:  # noqa: ARG001 — the signature of every spelling
    """None: containment is stored, not spelt in names."""
    return None


def parts(entity: Entity) -> tuple[str, ...]:
    """The whole name: it has no parts."""
    return (entity.name,)


def pattern(type: str, text: str) -> tuple[str, ...]:
    """Always `BadInput`: there are no wildcards."""
    raise BadInput(f"plain names have no wildcards, got {quoted(f'{type}:{text}')}")
