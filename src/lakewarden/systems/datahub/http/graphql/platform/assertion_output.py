"""Assertions in the form of the schema: their claim, subject and results.

SOURCE: PDL records of assertions, acryl-datahub 1.7.0.17; its queries of assertions.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql import timed
from lakewarden.systems.datahub.http.graphql.aspect_record import Record
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.pages import columns
from lakewarden.systems.datahub.http.graphql.paging import page
from lakewarden.systems.datahub.http.graphql.platform import shapes
from lakewarden.systems.datahub.http.graphql.platform.columns import dataset_of
from lakewarden.systems.datahub.http.graphql.platform.listing import stored_entities, visible_entity
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers

TYPE: Final = "assertion"
ASPECT: Final = "assertionInfo"

RUN: Final = "assertionRunEvent"
"""The aspect with the result of a run."""

_RUNS: Final = 100
"""The default number of runs in a reply."""

_KINDS: Final = {
    "DATASET": ("datasetAssertion", "dataset"),
    "FRESHNESS": ("freshnessAssertion", "entity"),
    "VOLUME": ("volumeAssertion", "entity"),
    "SQL": ("sqlAssertion", "entity"),
    "FIELD": ("fieldAssertion", "entity"),
    "DATA_SCHEMA": ("schemaAssertion", "entity"),
    "CUSTOM": ("customAssertion", "entity"),
}
"""The member with the subject of an assertion, by its type."""


def about(value: Mapping[str, Any]) -> Entity | None:
    """The subject of an assertion, by its aspect."""
    member, key = _KINDS.get(shapes.text(value.get("type")) or "", ("", ""))
    reference = shapes.mapping(value.get(member)).get(key)
    return shapes.entity(reference) or shapes.entity(value.get("entityUrn"))


def assertions_of(call: Call, asset: Entity) -> list[Entity]:
    """The assertions about an asset, or a column of it, by name."""

    def find() -> dict[Entity, list[Entity]]:
        by_asset: dict[Entity, list[Entity]] = {}
        for assertion in stored_entities(call, TYPE):
            target = about(call.aspect(assertion, ASPECT))
            if target is not None:
                by_asset.setdefault(dataset_of(target), []).append(assertion)
        return by_asset

    return call.cached((assertions_of, TYPE), find).get(asset, [])


def _assertions(
    asset: Entity,
    info: Info,
    start: int | None = None,
    count: int | None = None,
    includeSoftDeleted: bool | None = False,  # noqa: N803 — the schema's name and default
) -> Mapping[str, Any]:
    call: Call = info.context
    paging = {"start": start, "count": count}
    assertions = assertions_of(call, asset)
    if not includeSoftDeleted:
        assertions = [
            assertion
            for assertion in assertions
            if call.aspect(assertion, "status").get("removed") is not True
        ]
    assertions, numbers = page(assertions, paging, call.exchange.services.page_rows)
    return {**numbers, "assertions": assertions}


def _dataset(assertion: Entity, info: Info) -> Entity | None:
    target = about(info.context.aspect(assertion, ASPECT))
    dataset = None if target is None else dataset_of(target)
    if dataset is None or dataset.type != "dataset":
        return None
    return visible_entity(info.context, dataset)


def _entity_urn(of: Record, info: Info) -> str | None:
    target = visible_entity(info.context, about(of.value))
    return None if target is None else target.name


def _fields(of: Record, info: Info) -> list[Mapping[str, str]]:
    urns = of.texts("fields") or [urn for urn in (of.text("field"),) if urn is not None]
    fields = shapes.entities(urns, "schemaField")
    return [
        {"urn": field.name, "path": _path(field)}
        for field in fields
        if visible_entity(info.context, field)
    ]


def _field(of: Record, info: Info) -> Mapping[str, str] | None:
    return next(iter(_fields(of, info)), None)


def _path(column: Entity) -> str:
    return column.name.removesuffix(")").rpartition(",")[2]


def _runs(assertion: Entity, info: Info, **arguments: Any) -> Mapping[str, Any] | None:
    """Its results, newest first; null for callers who may not read timeseries values."""
    call: Call = info.context
    if not timed.may_read(call, assertion):
        return None
    most = timed.limit(call, arguments, _RUNS)
    runs = timed.values(call, assertion, RUN, most, timed.window(arguments))
    results = [run.record_or_empty("result").text("type") for run in runs]
    return {
        "total": len(runs),
        "succeeded": results.count("SUCCESS"),
        "failed": results.count("FAILURE"),
        "errored": results.count("ERROR"),
        "runEvents": runs,
    }


def _column_claims(claim: Record, info: Info) -> list[Mapping[str, Any]] | None:
    """The columns that a schema claim lists."""
    schema = claim.record("schema")
    if schema is None:
        return None
    return [
        {
            "path": record.text("fieldPath"),
            "type": columns.type_of(record, info),
            "nativeType": record.text("nativeDataType"),
        }
        for record in schema.records("fields")
    ]


RESOLVERS: Final[Resolvers] = {
    "Dataset": {"assertions": _assertions},
    "Assertion": {"dataset": _dataset, "runEvents": _runs},
    "AssertionInfo": {"entityUrn": _entity_urn},
    "DatasetAssertionInfo": {"fields": _fields},
    "CustomAssertionInfo": {"fields": _fields, "field": _field},
    "SchemaAssertionInfo": {"fields": _column_claims},
}
