"""Views: named filters, personal and global.

SOURCE: datahub reference 1.1; datahub-project/datahub:datahub-graphql-core/…/resolvers/view.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql.aspect_record import Record, aspect
from lakewarden.systems.datahub.http.graphql.authorization import Requirement
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.errors import bad, missing
from lakewarden.systems.datahub.http.graphql.kinds import type_word, types_of
from lakewarden.systems.datahub.http.graphql.platform import personal
from lakewarden.systems.datahub.http.graphql.platform.aspect_write import (
    AspectChanges,
    Kind,
    change,
    creation,
    deletion,
)
from lakewarden.systems.datahub.http.graphql.platform.criteria import criterion
from lakewarden.systems.datahub.http.graphql.platform.listing import Listing
from lakewarden.systems.datahub.http.graphql.records import Input, Member, members
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers
from lakewarden.systems.datahub.use_cases.aspects import Value

ASPECT: Final = "dataHubViewInfo"
TYPE: Final = "dataHubView"

_MANAGE: Final = "public_view.manage"


def _definition(input: Mapping[str, Any]) -> dict[str, Any]:
    """A definition in its stored form: alternatives of criteria that must all match."""
    criteria = [criterion(item) for item in input["filter"]["filters"]]
    if input["filter"]["operator"] == "AND":
        alternatives = [{"and": criteria}] if criteria else []
    else:
        alternatives = [{"and": [criterion]} for criterion in criteria]
    types = sorted({type for name in input["entityTypes"] for type in _types(name)})
    return {"entityTypes": types, "filter": {"or": alternatives}}


def _types(name: str) -> frozenset[str]:
    types = types_of(name)
    if not types:
        raise bad(f"`entityTypes`: a view is not of `{name}`")
    return types


_KIND: Final = Kind(
    TYPE,
    ASPECT,
    (
        *members("name", "description"),
        Member("type", of="viewType"),
        Member("definition", read=_definition),
    ),
    stamps=("created", "lastModified"),
)


def _creation_requirements(_: AspectChanges, __: Entity, input: Input) -> Sequence[Requirement]:
    return personal.creation_requirement(input["viewType"], _MANAGE)


def _change_requirements(changes: AspectChanges, view: Entity, _: Input) -> Sequence[Requirement]:
    value = changes.value(view, ASPECT)
    return personal.change_requirement(value.get("type"), value.get("created"), _MANAGE)


def _check_definition(changes: AspectChanges, view: Entity, _: Value, __: Input) -> None:
    if not changes.value(view, ASPECT):
        raise missing(view.name)


def _belongs_to_caller(call: Call, input: Input) -> Callable[[Record], bool]:
    type = input.get("viewType")
    return lambda view: (
        type in (None, view.text("type")) and personal.is_own(view.value, call.actor)
    )


def _is_global(_: Call, __: Input) -> Callable[[Record], bool]:
    return lambda view: view.text("type") == personal.GLOBAL


def _definition_record(view: Entity, info: Info) -> Mapping[str, Any]:
    definition = aspect(info.context, view, ASPECT).record_or_empty("definition")
    alternatives = definition.record_or_empty("filter").records("or")
    operator = "AND" if len(alternatives) < 2 else "OR"
    criteria = [record for each in alternatives for record in each.records("and")]
    return {
        "entityTypes": [
            type_word(Entity(text, ""), info) for text in definition.texts("entityTypes")
        ],
        "filter": {"operator": operator, "filters": criteria},
    }


RESOLVERS: Final[Resolvers] = {
    "Query": {
        "listMyViews": Listing(TYPE, ASPECT, "views", where=_belongs_to_caller),
        "listGlobalViews": Listing(TYPE, ASPECT, "views", where=_is_global),
    },
    "Mutation": {
        "createView": creation(_KIND, _creation_requirements, audited_as="view"),
        "updateView": change(_KIND, _change_requirements, _check_definition),
        "deleteView": deletion(_KIND, _change_requirements),
    },
    "DataHubView": {"definition": _definition_record},
}
