"""Whether something is deprecated. Of a column it is kept with the column's own entity.

SOURCE: DeprecationUtils.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql import authorization
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.edits import targets
from lakewarden.systems.datahub.http.graphql.edits.targets import Input, Place
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers
from lakewarden.systems.datahub.use_cases.page_edits import Edit

_ASPECT: Final = "deprecation"


def put(edit: Edit, entity: Entity, input: Input) -> None:
    """Writes what an input says; what it does not say is no longer so."""
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


def _change(call: Call, places: Sequence[Place], input: Input) -> bool:
    urn = input.get("replacement")
    replacement = None if urn is None else targets.parsed("replacement", urn)
    kept = [_kept(place) for place in places]

    def task(edit: Edit) -> bool:
        for place in places:
            edit.ask("deprecation.edit", place.entity)
        targets.check_places(edit, places)
        if replacement is not None:
            targets.check_named(edit, "replacement", replacement)
        for entity in kept:
            put(edit, entity, input)
        return True

    return authorization.edit(call, task)


def _kept(place: Place) -> Entity:
    """Where it is kept that the place is deprecated."""
    if not place.column:
        return place.entity
    urn = f"urn:li:schemaField:({place.entity.name},{place.column})"
    return targets.parsed("subResource", urn, "schemaField")


def _update(_: object, info: Info, input: Input) -> bool:
    place = targets.place({**input, "resourceUrn": input["urn"]})
    return _change(info.context, [place], input)


def _update_many(_: object, info: Info, input: Input) -> bool:
    call: Call = info.context
    return _change(call, targets.places(call, input), input)


RESOLVERS: Final[Resolvers] = {
    "Mutation": {"updateDeprecation": _update, "batchUpdateDeprecation": _update_many}
}
