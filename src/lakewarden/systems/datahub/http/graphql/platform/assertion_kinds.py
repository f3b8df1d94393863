"""Assertions of every kind: how often, how many rows, what a statement finds, which columns.

What the record does not say is null. SOURCE: AssertionInfo, AssertionActions and
AssertionRunEvent of acryl-datahub 1.7.0.17.
"""

from __future__ import annotations

from typing import Final

from lakewarden.systems.datahub.http.graphql.pages import columns
from lakewarden.systems.datahub.http.graphql.pages.association import SHARED
from lakewarden.systems.datahub.http.graphql.pages.part import (
    Field,
    Part,
    aspect,
    entries,
    number,
    part,
    parts,
    text,
)
from lakewarden.systems.datahub.http.graphql.platform import shapes
from lakewarden.systems.datahub.http.graphql.platform.listing import shown
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers

_VOLUMES: Final = (
    *("rowCountTotal", "rowCountChange"),
    *("incrementingSegmentRowCountTotal", "incrementingSegmentRowCountChange"),
)


def _urn(key: str) -> Field:
    """What a claim is about, if the caller is shown that."""

    def resolve(of: Part, info: Info) -> str | None:
        found = shown(info.context, shapes.entity(of.get(key)))
        return None if found is None else found.name

    return resolve


def _flag(key: str) -> Field:
    def resolve(of: Part, _info: Info) -> bool | None:
        found = of.get(key)
        return found if isinstance(found, bool) else None

    return resolve


def _columns(claim: Part, info: Info) -> list[Part] | None:
    schema = claim.part("schema")
    if schema is None:
        return None
    said = (
        {
            "path": one.text("fieldPath"),
            "type": columns.type_of(one, info),
            "nativeType": one.text("nativeDataType"),
        }
        for one in schema.parts("fields")
    )
    return [claim.of(one) for one in said]


_TYPE: Final = {"type": text("type")}
_COMPARED: Final = {"operator": text("operator"), "parameters": part("parameters")}
_ABOUT: Final = {**_TYPE, "entityUrn": _urn("entity"), "filter": part("filter")}
_OF_COLUMN: Final = {**_COMPARED, "field": part("field")}

RESOLVERS: Final[Resolvers] = {
    "Assertion": {"ownership": SHARED["ownership"], "actions": aspect("assertionActions")},
    "AssertionActions": {name: parts(name) for name in ("onSuccess", "onFailure")},
    "AssertionAction": _TYPE,
    "AssertionInfo": {
        f"{name}Assertion": part(f"{name}Assertion")
        for name in ("freshness", "volume", "sql", "field", "schema")
    },
    "DatasetAssertionInfo": {"datasetUrn": _urn("dataset")},
    "CustomAssertionInfo": {"entityUrn": _urn("entity")},
    "AssertionRunEvent": {
        "lastObservedMillis": number("lastObservedMillis"),
        "partitionSpec": part("partitionSpec"),
        "runtimeContext": entries("runtimeContext"),
    },
    "FreshnessAssertionInfo": {**_ABOUT, "schedule": part("schedule")},
    "FreshnessAssertionSchedule": {
        **_TYPE,
        "cron": part("cron"),
        "fixedInterval": part("fixedInterval"),
    },
    "AssertionCron": {"cron": text("cron"), "timezone": text("timezone")},
    "AssertionInterval": {"unit": text("unit"), "multiple": number("multiple")},
    "AssertionFilter": {**_TYPE, "sql": text("sql")},
    "VolumeAssertionInfo": {**_ABOUT, **{name: part(name) for name in _VOLUMES}},
    "VolumeClaim": {**_TYPE, **_COMPARED, "segment": part("segment")},
    "IncrementingSegmentSpec": {"field": part("field"), "transformer": part("transformer")},
    "AssertionTransform": {**_TYPE, "nativeType": text("nativeType")},
    "AssertedColumn": {name: text(name) for name in ("path", "type", "nativeType")},
    "SqlAssertionInfo": {
        **_TYPE,
        **_COMPARED,
        "entityUrn": _urn("entity"),
        "statement": text("statement"),
        "changeType": text("changeType"),
    },
    "FieldAssertionInfo": {
        **_ABOUT,
        "fieldValuesAssertion": part("fieldValuesAssertion"),
        "fieldMetricAssertion": part("fieldMetricAssertion"),
    },
    "FieldValuesAssertion": {
        **_OF_COLUMN,
        "transform": part("transform"),
        "failThreshold": part("failThreshold"),
        "excludeNulls": _flag("excludeNulls"),
    },
    "FieldValuesFailThreshold": {**_TYPE, "value": number("value")},
    "FieldMetricAssertion": {**_OF_COLUMN, "metric": text("metric")},
    "SchemaAssertionInfo": {
        "entityUrn": _urn("entity"),
        "compatibility": text("compatibility"),
        "fields": _columns,
        "schema": part("schema"),
    },
    "AssertedSchema": {"fields": parts("fields")},
}
