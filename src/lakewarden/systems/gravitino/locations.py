"""Where the files of what is stored lie, as its document tells."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

Document = Mapping[str, Any]


def _of_fileset(document: Document) -> tuple[str, ...]:
    """A fileset has one or several; a managed one that was created without has none stored."""
    return tuple((document.get("storageLocations") or {}).values())


def _of_properties(document: Document) -> tuple[str, ...]:
    location = (document.get("properties") or {}).get("location")
    return (location,) if location else ()


LOCATED: Final[Mapping[str, Callable[[Document], tuple[str, ...]]]] = {
    "fileset": _of_fileset,
    "schema": _of_properties,
    "table": _of_properties,
}
"""The types of entities that have files, each with what its document says of their addresses.

A table whose own address is not stored may lie below that of its schema.
"""
