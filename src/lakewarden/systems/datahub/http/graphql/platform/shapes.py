"""Members of stored aspects that have the types of the schema.

An aspect may come from ingestion, with any content. Values of other types are left out. Both
spellings of JSON are read (`lakewarden.systems.datahub.aspects.fields`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.systems.datahub import names as datahub
from lakewarden.systems.datahub.aspects.fields import without_avro_type


def text(value: object) -> str | None:
    """A string."""
    plain = without_avro_type(value)
    return plain if isinstance(plain, str) else None


def mapping(value: object) -> Mapping[str, Any]:
    """An object; an empty one for anything else."""
    plain = without_avro_type(value)
    return plain if isinstance(plain, Mapping) else {}


def objects(value: object) -> list[Mapping[str, Any]]:
    """The objects of a list."""
    return [
        member for member in map(without_avro_type, _members(value)) if isinstance(member, Mapping)
    ]


def texts(value: object) -> list[str]:
    """The strings of a list."""
    return [member for member in map(without_avro_type, _members(value)) if isinstance(member, str)]


def _members(value: object) -> list[object]:
    plain = without_avro_type(value)
    return plain if isinstance(plain, list) else []


def entity(value: object, *types: str) -> Entity | None:
    """The entity of a URN, of one of the types if any are given."""
    urn = text(value)
    if urn is None:
        return None
    try:
        parsed = datahub.parse("", urn)
    except BadInput:
        return None
    return parsed if not types or parsed.type in types else None


def entities(value: object, *types: str) -> list[Entity]:
    """The entities of a list of URNs."""
    parsed = (entity(text, *types) for text in texts(value))
    return [item for item in parsed if item is not None]


def entries(value: object) -> list[Mapping[str, str]]:
    """A map of strings, as entries sorted by key."""
    pairs = ((key, text(member)) for key, member in sorted(mapping(value).items()))
    return [{"key": key, "value": member} for key, member in pairs if member is not None]
