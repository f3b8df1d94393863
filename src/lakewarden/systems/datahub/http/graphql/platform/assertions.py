"""Assertions: claims about data, that are checked elsewhere and reported here.

A change of an assertion is asked about what it is about, before and after.
SOURCE: datahub reference 1.3; datahub-project/datahub:…/resolvers/assertion.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql import call as calls
from lakewarden.systems.datahub.http.graphql.authorization import Ask
from lakewarden.systems.datahub.http.graphql.errors import bad
from lakewarden.systems.datahub.http.graphql.platform.assertion_output import ASPECT, TYPE, about
from lakewarden.systems.datahub.http.graphql.platform.columns import column, dataset_of
from lakewarden.systems.datahub.http.graphql.platform.deletion import deleting
from lakewarden.systems.datahub.http.graphql.platform.draft import Draft, given, named, write_all
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers

_EDIT: Final = "assertions.edit"
_PLATFORM: Final = "dataPlatformInstance"
_RUN: Final = "assertionRunEvent"


def _upsert(_: object, info: Info, input: Mapping[str, Any], urn: str | None = None) -> Entity:
    assertion = named(TYPE, None) if urn is None else calls.entity(urn, TYPE)
    asset = calls.entity(input["entityUrn"])
    value = _custom(asset, input)
    platform = _platform(input["platform"])

    def asks(draft: Draft) -> list[Ask]:
        before = [] if urn is None or not draft.is_there(assertion) else _asked(draft, assertion)
        return [*before, Ask(_EDIT, asset)]

    def task(draft: Draft) -> Entity:
        draft.check_there(asset)
        if urn is not None:
            draft.check_there(assertion)
        before = draft.value(assertion, ASPECT)
        source = before.get("source") or {"type": "EXTERNAL", "created": draft.stamp()}
        told = {"source": source, "lastUpdated": draft.stamp(), "customProperties": {}}
        draft.put(assertion, ASPECT, {**before, **told, **value})
        kept = draft.value(assertion, _PLATFORM)
        draft.put(assertion, _PLATFORM, {**kept, "platform": platform.name})
        return assertion

    return write_all(info.context, asks, task, {"assertion": assertion.name})


def _custom(asset: Entity, input: Mapping[str, Any]) -> dict[str, Any]:
    one = input.get("fieldPath")
    paths = list(input.get("fieldPaths") or ([] if one is None else [one]))
    if paths and asset.type != "dataset":
        raise bad("`fieldPaths`: only datasets have columns")
    fields = [column(asset, path).name for path in paths]
    custom: dict[str, Any] = {
        "type": input["type"],
        "entity": asset.name,
        **given(input, "logic", "scope", "aggregation", "operator", "parameters", "nativeType"),
    }
    if fields:
        custom |= {"field": fields[0], "fields": fields}
    if input.get("nativeParameters") is not None:
        custom["nativeParameters"] = _map(input["nativeParameters"])
    return {
        "type": "CUSTOM",
        "customAssertion": custom,
        "description": input["description"],
        "externalUrl": input.get("externalUrl"),
    }


def _map(entries: list[Mapping[str, Any]]) -> dict[str, str]:
    return {one["key"]: one.get("value") or "" for one in entries}


def _platform(input: Mapping[str, Any]) -> Entity:
    urn, name = input.get("urn"), input.get("name")
    if urn is None and not name:
        raise bad("`platform`: expected its `urn` or its `name`")
    return calls.entity(urn or f"urn:li:dataPlatform:{name}", "dataPlatform")


def _asked(draft: Draft, assertion: Entity) -> list[Ask]:
    """What a change of an assertion asks: about its asset, or about itself if it has none."""
    found = about(draft.value(assertion, ASPECT))
    return [Ask(_EDIT, assertion if found is None else dataset_of(found))]


def _report(_: object, info: Info, urn: str, result: Mapping[str, Any]) -> bool:
    assertion = calls.entity(urn, TYPE)

    def task(draft: Draft) -> bool:
        draft.check_there(assertion)
        asset = about(draft.value(assertion, ASPECT))
        if asset is None:
            raise bad(f"`{urn}` does not say what it is about")
        time = result.get("timestampMillis")
        value = {
            "timestampMillis": draft.now_ms if time is None else time,
            "assertionUrn": assertion.name,
            "asserteeUrn": asset.name,
            "runId": f"lakewarden-{draft.now_ms}",
            "status": "COMPLETE",
            "result": _result(result),
        }
        draft.put(assertion, _RUN, value)
        return True

    return write_all(info.context, lambda draft: _asked(draft, assertion), task)


def _result(input: Mapping[str, Any]) -> dict[str, Any]:
    value: dict[str, Any] = {"type": input["type"], **given(input, "externalUrl")}
    if input["type"] == "FAILURE":
        value |= given(input, "severity")
    if input.get("properties") is not None:
        value["nativeResults"] = _map(input["properties"])
    if input.get("error") is not None:
        error = input["error"]
        value["error"] = {"type": error["type"], "properties": {"message": error["message"]}}
    return value


RESOLVERS: Final[Resolvers] = {
    "Mutation": {
        "upsertCustomAssertion": _upsert,
        "reportAssertionResult": _report,
        "deleteAssertion": deleting(TYPE, _asked),
    },
}
