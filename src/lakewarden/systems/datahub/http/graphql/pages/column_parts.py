"""Where aspects have tags and terms: of the entity itself, and of its columns."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from lakewarden.systems.datahub.http.graphql.pages.part import Part

_COLUMNS: Final = ("fields", "editableSchemaFieldInfo")
_ASSOCIATIONS: Final = ("globalTags", "glossaryTerms")

TAGGED: Final = (
    *("globalTags", "glossaryTerms", "schemaMetadata", "editableSchemaMetadata", "inputFields"),
    "businessAttributeInfo",
)
"""The aspects that have some."""


def urns(part: Part, key: str, member: str) -> Iterator[object]:
    """The URNs under `member` of the objects in each list `key` of an aspect's associations."""
    for holder in _holders(part):
        for one in holder.parts(key):
            yield one.get(member)


def _holders(part: Part) -> Iterator[Part]:
    """The aspect's own associations, and those of each column."""
    yield part
    within = [part]
    for key in _COLUMNS:
        for column in part.parts(key):
            within += [column, inner] if (inner := column.part("schemaField")) else [column]
    for one in within:
        for key in _ASSOCIATIONS:
            found = one.part(key)
            if found is not None:
                yield found
