"""Assertions: claims about data that are checked elsewhere and reported here.

A change of an assertion requires the privilege on its subject, before and after. SOURCE: datahub
reference 1.3; datahub-project/datahub:…/resolvers/assertion.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql import call as calls
from lakewarden.systems.datahub.http.graphql.authorization import Requirement
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.errors import bad
from lakewarden.systems.datahub.http.graphql.platform.aspect_write import (
    AspectChanges,
    AspectWrite,
    Kind,
    by_urn,
    deletion,
    mutation,
    new_entity,
)
from lakewarden.systems.datahub.http.graphql.platform.assertion_output import ASPECT, TYPE, about
from lakewarden.systems.datahub.http.graphql.platform.columns import column, dataset_of
from lakewarden.systems.datahub.http.graphql.records import (
    Input,
    Member,
    entries,
    members,
    provided_members,
)
from lakewarden.systems.datahub.http.graphql.resolving import Resolvers
from lakewarden.systems.datahub.use_cases.aspects import Value

_EDIT: Final = "assertions.edit"


def _entities(_: Call, input: Input) -> list[Entity]:
    """The assertion, which may be new; its asset; its columns."""
    urn, path = input.get("urn"), input.get("fieldPath")
    assertion = new_entity(TYPE, None) if urn is None else calls.entity(urn, TYPE)
    asset = calls.entity(input["entityUrn"])
    paths = list(input.get("fieldPaths") or ([] if path is None else [path]))
    if paths and asset.type != "dataset":
        raise bad("`fieldPaths`: only datasets have columns")
    return [assertion, asset, *(column(asset, path) for path in paths)]


def _upsert_requirements(
    changes: AspectChanges, entities: Sequence[Entity], input: Input
) -> list[Requirement]:
    assertion, asset, *_ = entities
    before = _requirements(changes, assertion, input) if changes.is_stored(assertion) else []
    return [*before, Requirement(_EDIT, asset)]


def _upsert(changes: AspectChanges, entities: Sequence[Entity], input: Input) -> None:
    assertion, asset, *columns = entities
    changes.check_exists(asset, *([] if input.get("urn") is None else [assertion]))
    before, stamp = changes.value(assertion, ASPECT), changes.stamp
    custom = {**provided_members(_CUSTOM, input), "entity": asset.name}
    if columns:
        custom |= {"field": columns[0].name, "fields": [column.name for column in columns]}
    value = {
        **before,
        "source": before.get("source") or {"type": "EXTERNAL", "created": stamp},
        "lastUpdated": stamp,
        "customProperties": {},
        "type": "CUSTOM",
        "customAssertion": custom,
        "description": input["description"],
        "externalUrl": input.get("externalUrl"),
    }
    changes.put(assertion, ASPECT, value)
    changes.merge(assertion, "dataPlatformInstance", platform=input["platform"].name)


_CUSTOM: Final = (
    *members("type", "logic", "scope", "aggregation", "operator", "parameters", "nativeType"),
    Member("nativeParameters", read=entries),
)


def _platform(_: Call, argument: str, input: Input) -> Entity:
    urn, name = input[argument].get("urn"), input[argument].get("name")
    if urn is None and not name:
        raise bad("`platform`: expected its `urn` or its `name`")
    return calls.entity(urn or f"urn:li:dataPlatform:{name}", "dataPlatform")


def _requirements(changes: AspectChanges, assertion: Entity, _: Input) -> list[Requirement]:
    """A change requires the privilege on the assertion's asset, or on itself if it has none."""
    asset = about(changes.value(assertion, ASPECT))
    return [Requirement(_EDIT, assertion if asset is None else dataset_of(asset))]


def _report(changes: AspectChanges, assertion: Entity, input: Input) -> None:
    changes.check_exists(assertion)
    asset = about(changes.value(assertion, ASPECT))
    if asset is None:
        raise bad(f"`{assertion.name}` does not say what it is about")
    time, now = input["result"].get("timestampMillis"), changes.now_ms
    value = {
        "timestampMillis": now if time is None else time,
        "assertionUrn": assertion.name,
        "asserteeUrn": asset.name,
        "runId": f"lakewarden-{now}",
        "status": "COMPLETE",
        "result": _result(input["result"]),
    }
    changes.put(assertion, "assertionRunEvent", value)


def _result(input: Input) -> Value:
    value = provided_members(_RESULT, input)
    if input["type"] != "FAILURE":
        value.pop("severity", None)
    return value


_RESULT: Final = (
    *members("type", "externalUrl", "severity"),
    Member("nativeResults", of="properties", read=entries),
    Member(
        "error",
        read=lambda error: {"type": error["type"], "properties": {"message": error["message"]}},
    ),
)

RESOLVERS: Final[Resolvers] = {
    "Mutation": {
        "upsertCustomAssertion": AspectWrite(
            _entities,
            _upsert_requirements,
            _upsert,
            {"platform": _platform},
            audited_as="assertion",
        ),
        "reportAssertionResult": mutation(by_urn(TYPE), _requirements, _report),
        "deleteAssertion": deletion(Kind(TYPE, ASPECT), _requirements),
    },
}
