"""The known history of an entity: the last write of each of its aspects.

Older versions of an aspect are not stored, so its history begins with the current version: all its
content counts as added then. SOURCE: shapes of ChangeTransaction and ChangeEvent, DataHub's
timeline service.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from lakewarden.systems.datahub.aspects.fields import without_avro_type

Value = Mapping[str, Any]

FIRST: Final = "0.0.0-computed"
"""The number of the only known version."""


class LastWrite(NamedTuple):
    """A stored aspect, with the time (in milliseconds) and the writer of its last write."""

    aspect: str
    value: Value
    time: int
    actor: str


class Addition(NamedTuple):
    """A statement that an aspect added: its subject, a sentence, and the sentence's parameters."""

    modifier: str
    description: str
    parameters: Mapping[str, object]


def _list_entries(key: str, inner: str, label: str, parameter: str) -> Any:
    def read(value: Value) -> Iterator[Addition]:
        for member in _list_members(value, key):
            name = str(member.get(inner, "")) if isinstance(member, Mapping) else str(member)
            yield Addition(name, f"{label} `{name}` was added", {parameter: name})

    return read


def _description_entries(value: Value) -> Iterator[Addition]:
    text = without_avro_type(value.get("description"))
    if isinstance(text, str) and text:
        yield Addition("", "a description was added", {"description": text})


def _link_entries(value: Value) -> Iterator[Addition]:
    for member in _list_members(value, "elements"):
        url = str(member.get("url", ""))
        yield Addition(url, f"the link `{url}` was added", {"link": url})


def _read_fields(value: Value) -> Iterator[Addition]:
    for member in _list_members(value, "fields"):
        path = str(member.get("fieldPath", ""))
        parameters = {"fieldPath": path, "nullable": bool(member.get("nullable", False))}
        yield Addition(path, f"the column `{path}` was added", parameters)


def _list_members(value: Value, key: str) -> list[Any]:
    members = without_avro_type(value.get(key))
    return members if isinstance(members, list) else []


_CATEGORIES: Final[Mapping[str, Mapping[str, Any]]] = {
    "APPLICATION": {
        "applications": _list_entries("applications", "", "the application", "applicationUrn")
    },
    "ASSET_MEMBERSHIP": {
        "dataProductProperties": _list_entries("assets", "destinationUrn", "the asset", "assetUrn")
    },
    "DOCUMENTATION": {
        "containerProperties": _description_entries,
        "datasetProperties": _description_entries,
        "domainProperties": _description_entries,
        "editableDatasetProperties": _description_entries,
        "institutionalMemory": _link_entries,
        "tagProperties": _description_entries,
    },
    "DOMAIN": {"domains": _list_entries("domains", "", "the domain", "domainUrn")},
    "GLOSSARY_TERM": {"glossaryTerms": _list_entries("terms", "urn", "the term", "termUrn")},
    "OWNERSHIP": {"ownership": _list_entries("owners", "owner", "the owner", "ownerUrn")},
    "STRUCTURED_PROPERTY": {
        "structuredProperties": _list_entries(
            "properties", "propertyUrn", "the structured property", "propertyUrn"
        )
    },
    "TAG": {"globalTags": _list_entries("tags", "tag", "the tag", "tagUrn")},
    "TECHNICAL_SCHEMA": {"schemaMetadata": _read_fields},
    "VERSIONING": {},
}
"""The aspects of each category of changes."""

CATEGORIES: Final = tuple(_CATEGORIES)


def transactions(urn: str, writes: Iterable[LastWrite], categories: Iterable[str]) -> list[Value]:
    """The known writes, oldest first, each with its additions."""
    readers = {
        aspect: (category, read)
        for category in categories
        for aspect, read in _CATEGORIES[category].items()
    }
    values = [
        _transaction(urn, write, *readers[write.aspect])
        for write in writes
        if write.aspect in readers
    ]
    return sorted(
        values, key=lambda transaction: (transaction["timestamp"], transaction["versionStamp"])
    )


def _transaction(urn: str, write: LastWrite, category: str, read: Any) -> Value:
    stamp = {"actor": write.actor, "time": write.time}
    events = [
        {
            "category": category,
            "operation": "ADD",
            "entityUrn": urn,
            "modifier": added.modifier or None,
            "parameters": added.parameters,
            "auditStamp": stamp,
            "semVerChange": "MINOR",
            "description": added.description,
        }
        for added in read(write.value)
    ]
    return {
        "timestamp": write.time,
        "actor": write.actor,
        "semVer": FIRST,
        "semVerChange": "MINOR",
        "changeEvents": events,
        "rawDiff": None,
        "versionStamp": f"{write.aspect}:0",
    }
