"""The display name of an entity: its name without the parts that repeat entities above it."""

from __future__ import annotations

from typing import Final

from lakewarden.kernel.entity import Entity, Spelling
from lakewarden.names.identities import URN

_NAME_PART: Final = 1
"""The position of the name in a composed key: after the platform or the containing entity."""


def label(entity: Entity, spelling: Spelling) -> str:
    """The last part of the name; for a URN, the name in its key.

    >>> from lakewarden.names import control
    >>> label(Entity("realm", "lake"), control)
    'lake'
    """
    return urn_label(spelling.parts(entity)[-1])


def urn_label(text: str) -> str:
    """The entity's name in the key of a URN; any other text unchanged.

    >>> urn_label("urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)")
    'shop.orders'
    >>> urn_label("urn:li:domain:hr"), urn_label("urn:li:broken")
    ('hr', 'broken')
    """
    if not text.startswith(URN):
        return text
    key = text.removeprefix(URN).partition(":")[2] or text.removeprefix(URN)
    if not (key.startswith("(") and key.endswith(")")):
        return key
    parts = _split(key[1:-1])
    return parts[_NAME_PART] if len(parts) > _NAME_PART else parts[0]


def _split(text: str) -> list[str]:
    """The parts between the commas that are outside parentheses."""
    parts, depth, start = [], 0, 0
    for at, character in enumerate(text):
        depth += (character == "(") - (character == ")")
        if character == "," and depth == 0:
            parts.append(text[start:at])
            start = at + 1
    return [*parts, text[start:]]
