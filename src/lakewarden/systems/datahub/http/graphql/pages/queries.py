"""Queries: their text, and what they are about. Who may read one, the model says.

SOURCE: datahub reference 5.1, 6.7.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub import names as datahub
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.pages.following import (
    alone,
    each,
    follow,
    naming,
    resolved_stamp,
)
from lakewarden.systems.datahub.http.graphql.pages.part import (
    Part,
    aspect,
    custom_properties,
    stamp,
    typed,
)
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers

_NAMED: Final = naming("querySubjects", each("subjects", "entity"), "dataset", "schemaField")


def _about(call: Call, query: Entity) -> list[Entity]:
    """The datasets that a query is about; of a column, the one that has it."""
    found = (datahub.parent(one) or one for one in _NAMED(call, query))
    return [one for one in dict.fromkeys(found) if one.type == "dataset"]


def _subjects(query: Entity, info: Info) -> list[Mapping[str, Any]] | None:
    call: Call = info.context
    if not call.aspect(query, "querySubjects"):
        return None
    datasets = set(follow(call, query, _about))
    found = [(one, datahub.parent(one) or one) for one in follow(call, query, _NAMED)]
    return [
        {"dataset": dataset, "schemaField": one if one != dataset else None}
        for one, dataset in found
        if dataset in datasets
    ]


def _statement(properties: Part, _info: Info) -> Part:
    return properties.part("statement") or properties.of({})


RESOLVERS: Final[Resolvers] = {
    "QueryEntity": {"properties": aspect("queryProperties"), "subjects": _subjects},
    "QueryProperties": {
        "statement": _statement,
        "source": typed(otherwise="SYSTEM"),
        "created": stamp("created", always=True),
        "lastModified": stamp("lastModified", always=True),
        "createdOn": resolved_stamp("created", always=True),
        "origin": alone("origin"),
        "customProperties": custom_properties,
    },
    "QueryStatement": {"language": typed(otherwise="UNKNOWN")},
}
