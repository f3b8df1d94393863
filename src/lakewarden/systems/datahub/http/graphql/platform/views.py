"""Views: filters with a name, one's own and everybody's.

SOURCE: datahub reference 1.1; datahub-project/datahub:datahub-graphql-core/…/resolvers/view.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql.authorization import Ask
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.errors import bad, missing
from lakewarden.systems.datahub.http.graphql.kinds import types_of, word_of
from lakewarden.systems.datahub.http.graphql.platform import personal, shapes
from lakewarden.systems.datahub.http.graphql.platform.aspect_write import (
    AspectChanges,
    Kind,
    change,
    creation,
    deletion,
)
from lakewarden.systems.datahub.http.graphql.platform.criteria import criterion
from lakewarden.systems.datahub.http.graphql.platform.listing import listed_by_name, stored
from lakewarden.systems.datahub.http.graphql.records import Input, Member, members
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers
from lakewarden.systems.datahub.use_cases.aspects import Value

ASPECT: Final = "dataHubViewInfo"
TYPE: Final = "dataHubView"

_MANAGE: Final = "public_view.manage"


def _definition(input: Mapping[str, Any]) -> dict[str, Any]:
    """A definition as it is stored: alternatives of criteria that hold together."""
    criteria = [criterion(one) for one in input["filter"]["filters"]]
    if input["filter"]["operator"] == "AND":
        alternatives = [{"and": criteria}] if criteria else []
    else:
        alternatives = [{"and": [one]} for one in criteria]
    types = sorted({type for word in input["entityTypes"] for type in _types(word)})
    return {"entityTypes": types, "filter": {"or": alternatives}}


def _types(word: str) -> frozenset[str]:
    found = types_of(word)
    if not found:
        raise bad(f"`entityTypes`: a view is not of `{word}`")
    return found


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


def _asks_creation(_: AspectChanges, __: Entity, input: Input) -> Sequence[Ask]:
    return personal.creating(input["viewType"], _MANAGE)


def _asks_change(changes: AspectChanges, view: Entity, _: Input) -> Sequence[Ask]:
    value = changes.value(view, ASPECT)
    return personal.changing(value.get("type"), value.get("created"), _MANAGE)


def _check_defined(changes: AspectChanges, view: Entity, _: Value, __: Input) -> None:
    if not changes.value(view, ASPECT):
        raise missing(view.name)


def _list_mine(_: object, info: Info, input: Mapping[str, Any]) -> Mapping[str, Any]:
    call: Call = info.context
    kind = input.get("viewType")
    views = [
        view
        for view in stored(call, TYPE)
        if personal.is_own(_info(view, call), call.actor)
        and kind in (None, _info(view, call).get("type"))
    ]
    return listed_by_name(call, views, ASPECT, input, "views")


def _list_global(_: object, info: Info, input: Mapping[str, Any]) -> Mapping[str, Any]:
    call: Call = info.context
    views = [v for v in stored(call, TYPE) if _info(v, call).get("type") == personal.GLOBAL]
    return listed_by_name(call, views, ASPECT, input, "views")


def _info(view: Entity, call: Call) -> Mapping[str, Any]:
    return call.aspect(view, ASPECT)


def _shown_definition(view: Entity, info: Info) -> Mapping[str, Any]:
    definition = shapes.mapping(_info(view, info.context).get("definition"))
    alternatives = shapes.objects(shapes.mapping(definition.get("filter")).get("or"))
    criteria = [one for each in alternatives for one in shapes.objects(each.get("and"))]
    types = shapes.texts(definition.get("entityTypes"))
    return {
        "entityTypes": [word_of(Entity(type, ""), info) for type in types],
        "filter": {
            "operator": "AND" if len(alternatives) < 2 else "OR",
            "filters": [_shown_criterion(one, info) for one in criteria],
        },
    }


def _shown_criterion(criterion: Mapping[str, Any], info: Info) -> Mapping[str, Any]:
    known: Any = info.schema.type_map["FilterOperator"]
    return {
        "field": shapes.text(criterion.get("field")) or "",
        "condition": shapes.word(criterion.get("condition"), known.values),
        "values": shapes.texts(criterion.get("values")),
        "negated": criterion.get("negated") is True,
    }


RESOLVERS: Final[Resolvers] = {
    "Query": {"listMyViews": _list_mine, "listGlobalViews": _list_global},
    "Mutation": {
        "createView": creation(_KIND, _asks_creation, audited_as="view"),
        "updateView": change(_KIND, _asks_change, _check_defined),
        "deleteView": deletion(_KIND, _asks_change),
    },
    "DataHubView": {"definition": _shown_definition},
}
