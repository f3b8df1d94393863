"""What people call an entity: its name without what the name repeats of the entities above it."""

from __future__ import annotations

from typing import Final

from lakewarden.kernel.entity import Entity, Spelling

_URN: Final = "urn:li:"
_NAME_PART: Final = 1
"""Where a composed key has the name: behind the platform, or behind what it is a part of."""


def label(entity: Entity, spelling: Spelling) -> str:
    """The last part of the name; of a URN the name in its key.

    >>> from lakewarden.names import control
    >>> label(Entity("realm", "lake"), control)
    'lake'
    """
    last = spelling.parts(entity)[-1]
    return urn_label(last) if last.startswith(_URN) else last


def urn_label(urn: str) -> str:
    """What the key of a URN calls the entity.

    >>> urn_label("urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)")
    'shop.orders'
    >>> urn_label("urn:li:domain:hr"), urn_label("urn:li:broken")
    ('hr', 'broken')
    """
    key = urn.removeprefix(_URN).partition(":")[2] or urn.removeprefix(_URN)
    if not (key.startswith("(") and key.endswith(")")):
        return key
    parts = _split(key[1:-1])
    return parts[_NAME_PART] if len(parts) > _NAME_PART else parts[0]


def _split(text: str) -> list[str]:
    """The parts between the commas that no parenthesis holds."""
    parts, depth, start = [], 0, 0
    for at, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    return [*parts, text[start:]]
