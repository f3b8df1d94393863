"""Members of stored aspects, as far as they are what the schema says: whoever wrote them.

An aspect may have been written by ingestion, with anything in it. What does not fit is left
out. Both spellings of JSON are read (`lakewarden.systems.datahub.aspects.fields`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.systems.datahub import names as datahub
from lakewarden.systems.datahub.aspects.fields import untagged


def text(value: object) -> str | None:
    """A text."""
    found = untagged(value)
    return found if isinstance(found, str) else None


def mapping(value: object) -> Mapping[str, Any]:
    """An object; an empty one for anything else."""
    found = untagged(value)
    return found if isinstance(found, Mapping) else {}


def objects(value: object) -> list[Mapping[str, Any]]:
    """The objects of a list."""
    return [one for one in map(untagged, _members(value)) if isinstance(one, Mapping)]


def texts(value: object) -> list[str]:
    """The texts of a list."""
    return [one for one in map(untagged, _members(value)) if isinstance(one, str)]


def _members(value: object) -> list[object]:
    found = untagged(value)
    return found if isinstance(found, list) else []


def entity(value: object, *types: str) -> Entity | None:
    """The entity of a URN, of one of the types if any are given."""
    urn = text(value)
    if urn is None:
        return None
    try:
        found = datahub.parse("", urn)
    except BadInput:
        return None
    return found if not types or found.type in types else None


def entities(value: object, *types: str) -> list[Entity]:
    """The entities of a list of URNs."""
    found = (entity(one, *types) for one in texts(value))
    return [one for one in found if one is not None]


def entries(value: object) -> list[Mapping[str, str]]:
    """A map of texts, as entries in order of their keys."""
    told = ((key, text(one)) for key, one in sorted(mapping(value).items()))
    return [{"key": key, "value": one} for key, one in told if one is not None]
