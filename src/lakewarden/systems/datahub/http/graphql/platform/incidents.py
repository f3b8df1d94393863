"""Incidents: problems with assets.

A change of an incident requires the privilege on all its assets, before and after. SOURCE: datahub
reference 1.2; datahub-project/datahub:…/resolvers/incident.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql import call as calls
from lakewarden.systems.datahub.http.graphql.aspect_record import Record, aspect
from lakewarden.systems.datahub.http.graphql.authorization import Requirement
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.errors import bad
from lakewarden.systems.datahub.http.graphql.paging import page
from lakewarden.systems.datahub.http.graphql.platform import shapes
from lakewarden.systems.datahub.http.graphql.platform.aspect_write import (
    AspectChanges,
    AspectWrite,
    by_urn,
    check_limit,
    mutation,
    new_entity,
    urns,
)
from lakewarden.systems.datahub.http.graphql.platform.columns import dataset_of
from lakewarden.systems.datahub.http.graphql.platform.listing import stored_entities
from lakewarden.systems.datahub.http.graphql.records import Input, Member, members, provided_members
from lakewarden.systems.datahub.http.graphql.resolving import Fields, Info, Resolvers
from lakewarden.systems.datahub.use_cases.aspects import Value

_ASPECT: Final = "incidentInfo"
_TYPE: Final = "incident"
_EDIT: Final = "incidents.edit"
_ASSETS: Final = "resourceUrns"
_ACTORS: Final = ("corpuser", "corpGroup")

_PRIORITIES: Final = ("CRITICAL", "HIGH", "MEDIUM", "LOW")
"""The priorities; an aspect stores the index in this list."""


def _assets_of(call: Call, input: Input) -> list[Entity]:
    single = input.get("resourceUrn")
    urns = input.get(_ASSETS) or ([] if single is None else [single])
    assets = check_limit(call, list(dict.fromkeys(calls.entity(urn) for urn in urns)), _ASSETS)
    if not assets:
        raise bad("expected `resourceUrns`: the assets that the incident is about")
    return assets


def _assets(call: Call, _: str, input: Input) -> list[Entity]:
    return _assets_of(call, {_ASSETS: input[_ASSETS]})


def _requirements(assets: Iterable[Entity]) -> list[Requirement]:
    return [Requirement(_EDIT, dataset_of(asset)) for asset in assets]


def _change_requirements(
    changes: AspectChanges, incident: Entity, input: Input
) -> list[Requirement]:
    """A change requires the privilege on its assets, on itself without any, and on new assets."""
    assets = shapes.entities(changes.value(incident, _ASPECT).get("entities"))
    return _requirements([*(assets or [incident]), *(input.get(_ASSETS) or ())])


def _raise(changes: AspectChanges, entities: Sequence[Entity], input: Input) -> None:
    incident, *assets = entities
    changes.check_exists(*assets)
    value: Value = {
        "type": input["type"],
        **provided_members(members("customType"), input),
        "source": {"type": (input.get("source") or {}).get("type", "MANUAL")},
        "created": changes.stamp,
    }
    members_of_input = {
        **input,
        "status": input.get("status") or {"state": "ACTIVE"},
        _ASSETS: assets,
    }
    changes.put(incident, _ASPECT, {**value, **_provided(changes, members_of_input)})


def _update(changes: AspectChanges, incident: Entity, input: Input) -> None:
    changes.check_exists(incident, *(input.get(_ASSETS) or ()))
    changes.merge(incident, _ASPECT, **_provided(changes, input))


def _set_status(changes: AspectChanges, incident: Entity, input: Input) -> None:
    changes.check_exists(incident)
    changes.merge(incident, _ASPECT, status=_status(changes, input))


def _provided(changes: AspectChanges, input: Input) -> Value:
    stamp = changes.stamp
    record = (
        *members("title", "description", "startedAt"),
        Member("priority", read=_PRIORITIES.index),
        Member("status", read=lambda input: _status(changes, input)),
        Member("entities", of=_ASSETS, read=lambda assets: [asset.name for asset in assets]),
        Member(
            "assignees",
            of="assigneeUrns",
            read=lambda people: [
                {"actor": urn, "assignedAt": stamp} for urn in urns(*_ACTORS)(people)
            ],
        ),
    )
    return provided_members(record, input)


def _status(changes: AspectChanges, input: Input) -> Value:
    return {
        **provided_members(members("state", "stage", "message"), input),
        "lastUpdated": changes.stamp,
    }


def _incidents(asset: Entity, info: Info, **arguments: Any) -> Mapping[str, Any]:
    """The matching incidents of an asset, newest first."""
    call: Call = info.context
    fitting = [
        incident
        for incident in incidents_of(call, asset)
        if _matches(aspect(call, incident, _ASPECT), arguments)
    ]
    incidents, numbers = page(fitting, arguments, call.exchange.services.page_rows)
    return {**numbers, "incidents": incidents}


def incidents_of(call: Call, asset: Entity) -> list[Entity]:
    """The visible incidents of an asset, newest first."""
    return _incidents_by_asset(call).get(asset, [])


def is_active(call: Call, incident: Entity) -> bool:
    """Whether an incident is not resolved."""
    status = aspect(call, incident, _ASPECT).record_or_empty("status")
    return status.text("state") != "RESOLVED"


def _matches(incident: Record, arguments: Mapping[str, Any]) -> bool:
    status = incident.record_or_empty("status")
    members_of_incident = {
        "state": status.text("state"),
        "stage": status.text("stage"),
        "priority": _priority_word(incident),
    }
    assignees = {record.text("actor") for record in incident.records("assignees")}
    people = arguments.get("assigneeUrns")
    return all(
        arguments.get(name) in (None, value) for name, value in members_of_incident.items()
    ) and (people is None or not assignees.isdisjoint(people))


def _incidents_by_asset(call: Call) -> Mapping[Entity, list[Entity]]:
    def find() -> dict[Entity, list[Entity]]:
        by_asset: dict[Entity, list[Entity]] = {}
        for incident in sorted(
            stored_entities(call, _TYPE), key=lambda incident: _newest(call, incident)
        ):
            for asset in shapes.entities(call.aspect(incident, _ASPECT).get("entities")):
                by_asset.setdefault(asset, []).append(incident)
        return by_asset

    return call.cached(_incidents_by_asset, find)


def _newest(call: Call, incident: Entity) -> tuple[int, str]:
    created = aspect(call, incident, _ASPECT).record_or_empty("created")
    return -(created.number("time") or 0), incident.name


def _priority_of(incident: Entity, info: Info) -> str | None:
    return _priority_word(aspect(info.context, incident, _ASPECT))


def _priority_word(incident: Record) -> str | None:
    place = incident.number("priority")
    is_known = place is not None and 0 <= place < len(_PRIORITIES)
    return _PRIORITIES[place] if place is not None and is_known else None


SHARED: Final[Fields] = {"incidents": _incidents}

RESOLVERS: Final[Resolvers] = {
    "Mutation": {
        "raiseIncident": AspectWrite(
            lambda call, input: [new_entity(_TYPE, None), *_assets_of(call, input)],
            lambda _, entities, __: _requirements(entities[1:]),
            _raise,
            audited_as="incident",
        ),
        "updateIncident": mutation(
            by_urn(_TYPE), _change_requirements, _update, reads={_ASSETS: _assets}
        ),
        "updateIncidentStatus": mutation(by_urn(_TYPE), _change_requirements, _set_status),
    },
    "Incident": {"priority": _priority_of},
}
