"""Deprecation and soft deletion; the latter requires the privilege to delete.

A column's deprecation is stored with the column's own entity.
SOURCE: DeprecationUtils.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.edits import page_edit, targets
from lakewarden.systems.datahub.http.graphql.edits.targets import EditTarget
from lakewarden.systems.datahub.http.graphql.records import Input, Member
from lakewarden.systems.datahub.http.graphql.resolving import Resolvers
from lakewarden.systems.datahub.use_cases.page_edits import Edit

_ASPECT: Final = "deprecation"


def put_deprecation(edit: Edit, entity: Entity, input: Input) -> None:
    """Writes the members of an input; members that it lacks are cleared."""
    value = {
        **edit.value(entity, _ASPECT),
        "deprecated": input["deprecated"],
        "note": input.get("note") or "",
        "actor": edit.actor.name,
    }
    for key in ("decommissionTime", "replacement"):
        value.pop(key, None)
        if input.get(key) is not None:
            value[key] = input[key]
    edit.put(entity, _ASPECT, value)


def _places(call: Call, input: Input) -> Sequence[EditTarget]:
    urn = input.get("urn")
    places = targets.places(call, input if urn is None else {**input, "resourceUrn": urn})
    for place in places:
        _holder(place)
    return places


def _holder(place: EditTarget) -> Entity:
    """The entity whose aspect has the deprecation of the place; raises `Failure` 400."""
    if not place.column:
        return place.entity
    urn = f"urn:li:schemaField:({place.entity.name},{place.column})"
    return targets.parse_entity("subResource", urn, "schemaField")


def _entities(call: Call, input: Input) -> list[Entity]:
    return targets.parse_entities("urns", targets.check_count(call, "urns", input["urns"]))


_DEPRECATION: Final = page_edit.PageEdit(
    _places,
    lambda edit, place, _: edit.ask("deprecation.edit", place.entity),
    lambda edit, place, input: put_deprecation(edit, _holder(place), input["input"]),
    reads={"replacement": page_edit.reference()},
    check=page_edit.exists("replacement"),
)

RESOLVERS: Final[Resolvers] = {
    "Mutation": {
        "updateDeprecation": _DEPRECATION,
        "batchUpdateDeprecation": _DEPRECATION,
        "batchUpdateSoftDeleted": page_edit.change(
            _entities,
            "soft_delete",
            page_edit.merge_members("status", Member("removed", of="deleted")),
        ),
    }
}
