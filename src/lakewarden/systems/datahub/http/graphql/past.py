"""The known history of an entity; see `lakewarden.systems.datahub.aspects.history`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.aspects import history
from lakewarden.systems.datahub.http.graphql import authorization
from lakewarden.systems.datahub.http.graphql import call as calls
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.errors import bad
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers
from lakewarden.systems.datahub.http.timeline import known_writes

_READ: Final = "timeline.read"
_SCHEMA: Final = "schemaMetadata"
_OF_SCHEMA: Final = ("TECHNICAL_SCHEMA",)

Value = Mapping[str, Any]


def _transactions(call: Call, entity: Entity, categories: Iterable[str]) -> list[Value]:
    authorization.allow(call, _READ, entity)
    stored = call.aspects([entity]).get(entity, {})
    return history.transactions(entity.name, known_writes(stored), categories)


def timeline(_: object, info: Info, input: Value) -> Value:
    """The known writes, of the requested categories."""
    entity = calls.entity(input["urn"])
    categories = input.get("changeCategories") or history.CATEGORIES
    changes = _transactions(info.context, entity, categories)
    return {
        "changeTransactions": [_transaction(change) for change in changes],
        "skippedVersionCount": 0,
    }


def _transaction(transaction: Value) -> Value:
    return {
        "timestampMillis": transaction["timestamp"],
        "lastSemanticVersion": transaction["semVer"],
        "versionStamp": transaction["versionStamp"],
        "changeType": "ADD",
        "actor": transaction["actor"],
        "changes": [_event(event) for event in transaction["changeEvents"]],
    }


def _event(event: Value) -> Value:
    parameters = [{"key": k, "value": str(v)} for k, v in event["parameters"].items()]
    return {**event, "urn": event["entityUrn"], "parameters": parameters}


def schema_versions(_: object, info: Info, input: Value) -> Value:
    """The one known version of a dataset's schema, if there is any."""
    dataset = calls.entity(input["datasetUrn"], "dataset")
    changes = _transactions(info.context, dataset, _OF_SCHEMA)
    versions = [
        _version(change) for change in changes if change["versionStamp"].startswith(_SCHEMA)
    ]
    newest = versions[-1] if versions else None
    return {"latestVersion": newest, "version": newest, "semanticVersionList": versions or None}


def _version(version: Value) -> Value:
    return {
        "semanticVersion": version["semVer"],
        "semanticVersionTimestamp": version["timestamp"],
        "versionStamp": version["versionStamp"],
    }


def schema_blame(_: object, info: Info, input: Value) -> Value:
    """The columns of a dataset's schema, each with its last write."""
    dataset = calls.entity(input["datasetUrn"], "dataset")
    version = input.get("version")
    changes = _transactions(info.context, dataset, _OF_SCHEMA)
    if version is not None and version != history.FIRST:
        raise bad(f"`version`: expected `{history.FIRST}`, the one that is kept")
    if not changes:
        return {"version": None, "schemaFieldBlameList": None}
    newest = changes[-1]
    return {
        "version": _version(newest),
        "schemaFieldBlameList": [
            _blame(newest, changeEvent) for changeEvent in newest["changeEvents"]
        ],
    }


def _blame(write: Value, event: Value) -> Value:
    change = {
        "timestampMillis": write["timestamp"],
        "lastSemanticVersion": write["semVer"],
        "versionStamp": write["versionStamp"],
        "changeType": "ADD",
        "lastSchemaFieldChange": f"added in {write['semVer']}",
    }
    return {"fieldPath": event["parameters"]["fieldPath"], "schemaFieldChange": change}


RESOLVERS: Final[Resolvers] = {
    "Query": {
        "getTimeline": timeline,
        "getSchemaVersionList": schema_versions,
        "getSchemaBlame": schema_blame,
    },
}
