"""The file locations of stored objects, from their documents."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

Document = Mapping[str, Any]


def _of_fileset(document: Document) -> tuple[str, ...]:
    """A fileset has one or several; a managed one created without a location has none stored."""
    return tuple((document.get("storageLocations") or {}).values())


def _of_properties(document: Document) -> tuple[str, ...]:
    location = (document.get("properties") or {}).get("location")
    return (location,) if location else ()


LOCATED: Final[Mapping[str, Callable[[Document], tuple[str, ...]]]] = {
    "fileset": _of_fileset,
    "schema": _of_properties,
    "table": _of_properties,
}
"""The types of entities with files, each with the function that reads addresses from a document.

A table without a stored address may lie below that of its schema.
"""
