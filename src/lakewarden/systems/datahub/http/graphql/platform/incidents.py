"""Incidents: what went wrong with assets.

A change of an incident is asked about every asset that it is about, before and after.
SOURCE: datahub reference 1.2; datahub-project/datahub:…/resolvers/incident.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql import call as calls
from lakewarden.systems.datahub.http.graphql.authorization import Ask
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.errors import bad
from lakewarden.systems.datahub.http.graphql.pages.part import Part, of_aspect, stamp, typed
from lakewarden.systems.datahub.http.graphql.paging import page
from lakewarden.systems.datahub.http.graphql.platform import shapes
from lakewarden.systems.datahub.http.graphql.platform.columns import dataset_of
from lakewarden.systems.datahub.http.graphql.platform.draft import (
    Draft,
    given,
    limited,
    named,
    write_all,
)
from lakewarden.systems.datahub.http.graphql.platform.listing import shown, stored
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers

_ASPECT: Final = "incidentInfo"
_TYPE: Final = "incident"
_EDIT: Final = "incidents.edit"

_PRIORITIES: Final = ("CRITICAL", "HIGH", "MEDIUM", "LOW")
"""The words of priorities; an aspect has their place here."""


HAVING_INCIDENTS: Final = ("Chart", "Dashboard", "DataFlow", "DataJob", "Dataset")
"""The types of assets that show their incidents."""


def _raise(_: object, info: Info, input: Mapping[str, Any]) -> str:
    incident = named(_TYPE, None)
    one = input.get("resourceUrn")
    assets = _assets(info, input.get("resourceUrns") or ([] if one is None else [one]))

    def task(draft: Draft) -> str:
        draft.check_there(*assets)
        value: dict[str, Any] = {
            "type": input["type"],
            "entities": [asset.name for asset in assets],
            "status": _status(draft, input.get("status") or {"state": "ACTIVE"}),
            "source": {"type": (input.get("source") or {}).get("type", "MANUAL")},
            "created": draft.stamp(),
            **given(input, "customType", "title", "description", "startedAt"),
            **_priority(input),
            **_assignees(draft, input),
        }
        draft.put(incident, _ASPECT, value)
        return incident.name

    return write_all(info.context, lambda _: _asks(assets), task, {"incident": incident.name})


def _assets(info: Info, urns: Iterable[str]) -> list[Entity]:
    named = dict.fromkeys(calls.entity(urn) for urn in urns)
    found = limited(info.context, list(named), "resourceUrns")
    if not found:
        raise bad("expected `resourceUrns`: the assets that the incident is about")
    return found


def _asks(assets: Iterable[Entity]) -> list[Ask]:
    return [Ask(_EDIT, dataset_of(asset)) for asset in assets]


def _asked(draft: Draft, incident: Entity) -> list[Ask]:
    """What a change asks: about its assets, or about itself where it has none."""
    assets = shapes.entities(draft.value(incident, _ASPECT).get("entities"))
    return _asks(assets or [incident])


def _update(_: object, info: Info, urn: str, input: Mapping[str, Any]) -> bool:
    incident = calls.entity(urn, _TYPE)
    named = input.get("resourceUrns")
    assets = [] if named is None else _assets(info, named)

    def asks(draft: Draft) -> list[Ask]:
        return [*_asked(draft, incident), *_asks(assets)]

    def task(draft: Draft) -> bool:
        draft.check_there(incident, *assets)
        value = draft.value(incident, _ASPECT)
        value |= {
            **given(input, "title", "description", "startedAt"),
            **_priority(input),
            **_assignees(draft, input),
        }
        if assets:
            value["entities"] = [asset.name for asset in assets]
        if input.get("status") is not None:
            value["status"] = _status(draft, input["status"])
        draft.put(incident, _ASPECT, value)
        return True

    return write_all(info.context, asks, task)


def _set_status(_: object, info: Info, urn: str, input: Mapping[str, Any]) -> bool:
    incident = calls.entity(urn, _TYPE)

    def task(draft: Draft) -> bool:
        draft.check_there(incident)
        value = draft.value(incident, _ASPECT)
        draft.put(incident, _ASPECT, {**value, "status": _status(draft, input)})
        return True

    return write_all(info.context, lambda draft: _asked(draft, incident), task)


def _status(draft: Draft, input: Mapping[str, Any]) -> dict[str, Any]:
    return {**given(input, "state", "stage", "message"), "lastUpdated": draft.stamp()}


def _priority(input: Mapping[str, Any]) -> dict[str, Any]:
    word = input.get("priority")
    return {} if word is None else {"priority": _PRIORITIES.index(word)}


def _assignees(draft: Draft, input: Mapping[str, Any]) -> dict[str, Any]:
    urns = input.get("assigneeUrns")
    if urns is None:
        return {}
    people = [calls.entity(urn, "corpuser", "corpGroup") for urn in urns]
    return {"assignees": [{"actor": one.name, "assignedAt": draft.stamp()} for one in people]}


def _incidents(asset: Entity, info: Info, **asked: Any) -> Mapping[str, Any]:
    """The incidents of an asset that fit, the newest first."""
    call: Call = info.context
    found = [
        one
        for one in of_asset(call, asset)
        if _fits(Part(one, call.aspect(one, _ASPECT)), info, asked)
    ]
    shown_ones, numbers = page(found, asked, call.exchange.services.page_rows)
    return {**numbers, "incidents": shown_ones}


def of_asset(call: Call, asset: Entity) -> list[Entity]:
    """The incidents of an asset, of those that the caller is shown, the newest first."""
    return _of_assets(call).get(asset, [])


def is_active(call: Call, incident: Entity) -> bool:
    """Whether an incident is not resolved."""
    status = Part(incident, call.aspect(incident, _ASPECT)).part("status")
    return status is None or status.text("state") != "RESOLVED"


def _fits(value: Part, info: Info, asked: Mapping[str, Any]) -> bool:
    status = value.part("status") or Part(value.entity, {})
    wanted = {name: asked.get(name) for name in ("state", "stage", "priority")}
    there = {
        "state": status.text("state"),
        "stage": status.text("stage"),
        "priority": _shown_priority(value, info),
    }
    assignees = {one.text("actor") for one in value.parts("assignees")}
    people = asked.get("assigneeUrns")
    return all(word in (None, there[name]) for name, word in wanted.items()) and (
        people is None or not assignees.isdisjoint(people)
    )


def _of_assets(call: Call) -> Mapping[Entity, list[Entity]]:
    def find() -> dict[Entity, list[Entity]]:
        found: dict[Entity, list[Entity]] = {}
        for one in sorted(stored(call, _TYPE), key=lambda one: _newest(call, one)):
            for asset in shapes.entities(call.aspect(one, _ASPECT).get("entities")):
                found.setdefault(asset, []).append(one)
        return found

    return call.kept(_of_assets, find)


def _newest(call: Call, incident: Entity) -> tuple[int, str]:
    made = shapes.stamp(call.aspect(incident, _ASPECT).get("created")) or shapes.NO_STAMP
    return -int(made["time"]), incident.name


def _status_of(incident: Entity, info: Info) -> Part:
    value = Part(incident, info.context.aspect(incident, _ASPECT))
    return value.part("status") or Part(incident, {})


def _created(incident: Entity, info: Info) -> Mapping[str, Any]:
    value = info.context.aspect(incident, _ASPECT)
    return shapes.stamp(value.get("created")) or shapes.NO_STAMP


def _entity(incident: Entity, info: Info) -> Entity | None:
    """The first of its assets that the caller is shown."""
    assets = shapes.entities(info.context.aspect(incident, _ASPECT).get("entities"))
    return next((one for one in assets if shown(info.context, one) is not None), None)


def _shown_priority(value: Part, _info: Info) -> str | None:
    place = value.number("priority")
    is_known = place is not None and 0 <= place < len(_PRIORITIES)
    return _PRIORITIES[place] if place is not None and is_known else None


def _shown_assignees(value: Part, info: Info) -> list[Entity]:
    people = (
        shapes.entity(one.get("actor"), "corpuser", "corpGroup") for one in value.parts("assignees")
    )
    found = (shown(info.context, one) for one in people)
    return [one for one in found if one is not None]


def _source(value: Part, info: Info) -> Entity | None:
    return shown(info.context, shapes.entity(value.get("sourceUrn")))


def _of(field: Callable[..., Any] | None = None) -> Callable[..., Any]:
    return of_aspect(_ASPECT, field)


def _started(value: Part, _info: Info) -> int | None:
    return value.number("startedAt")


RESOLVERS: Final[Resolvers] = {
    "Mutation": {
        "raiseIncident": _raise,
        "updateIncident": _update,
        "updateIncidentStatus": _set_status,
    },
    **{type: {"incidents": _incidents} for type in HAVING_INCIDENTS},
    "Incident": {
        "incidentType": _of(typed("type", "CUSTOM")),
        "customType": _of(),
        "title": _of(),
        "description": _of(),
        "incidentStatus": _status_of,
        "status": _status_of,
        "priority": _of(_shown_priority),
        "assignees": _of(_shown_assignees),
        "entity": _entity,
        "source": _of(),
        "startedAt": _of(_started),
        "created": _created,
    },
    "IncidentStatus": {
        "state": typed(otherwise="ACTIVE"),
        "lastUpdated": stamp("lastUpdated", always=True),
    },
    "IncidentSource": {"type": typed(otherwise="MANUAL"), "source": _source},
}
