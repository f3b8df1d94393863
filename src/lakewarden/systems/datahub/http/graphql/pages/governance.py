"""Domains, tags, the glossary and data products.

What lies in them is counted and told by the facts that decide. SOURCE: datahub reference 6.7.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final

from pyroaring import BitMap

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub import names as datahub
from lakewarden.systems.datahub.http.graphql import authorization
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.edges import children
from lakewarden.systems.datahub.http.graphql.pages.assets import key, or_key
from lakewarden.systems.datahub.http.graphql.pages.following import Fields, resolved_stamp
from lakewarden.systems.datahub.http.graphql.pages.part import (
    Part,
    aspect,
    custom_properties,
    of_aspect,
    typed,
)
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers


def _short(urn: str) -> str:
    """What stands behind the last dot of a term's name."""
    name = datahub.key_parts(urn)[0]
    return name.rpartition(".")[2] or name


def _term_name(term: Part, _info: Info) -> str:
    return term.text("name") or _short(term.entity.name)


def _assets(properties: Part, info: Info) -> int:
    """How many assets a product has, of those that the caller is shown."""
    call: Call = info.context
    coded = call.state.matrix.snapshot.coded
    id, edges = coded.tree.find(properties.entity), coded.relations.get("asset")
    targets = () if id is None or edges is None else edges.of(id)
    return _count(call, BitMap(target for target, _ in targets))


def _count(call: Call, ids: BitMap) -> int:
    return len(authorization.visible_ids(call, ids))


def _counted(node: Entity, info: Info) -> Mapping[str, int]:
    call: Call = info.context
    snapshot = call.state.matrix.snapshot
    id = snapshot.coded.tree.find(node)
    below = BitMap() if id is None else children(snapshot, id)
    return {
        "termsCount": _count(call, below & snapshot.of_type("glossaryTerm")),
        "nodesCount": _count(call, below & snapshot.of_type("glossaryNode")),
    }


_OF_TERM: Final[Fields] = {
    "name": _term_name,
    "description": typed("definition"),
    "customProperties": custom_properties,
}
_TAG: Final = "tagProperties"
_MADE: Final[Callable[..., object]] = resolved_stamp("created")

RESOLVERS: Final[Resolvers] = {
    "Domain": {"id": key(0), "properties": aspect("domainProperties")},
    "DomainProperties": {
        "name": or_key("name", 0),
        "customProperties": custom_properties,
        "createdOn": _MADE,
    },
    "Tag": {
        "name": key(0),
        "properties": aspect(_TAG),
        "editableProperties": aspect(_TAG),
        "description": of_aspect(_TAG),
    },
    "TagProperties": {"name": or_key("name", 0)},
    "GlossaryTerm": {
        "name": lambda term, _info: _short(term.name),
        "hierarchicalName": key(0),
        "properties": aspect("glossaryTermInfo"),
        "glossaryTermInfo": aspect("glossaryTermInfo"),
    },
    "GlossaryTermProperties": {**_OF_TERM, "createdOn": _MADE},
    "GlossaryTermInfo": _OF_TERM,
    "GlossaryNode": {
        "properties": aspect("glossaryNodeInfo"),
        "childrenCount": _counted,
    },
    "GlossaryNodeProperties": {
        "name": or_key("name", 0),
        "description": typed("definition"),
        "customProperties": custom_properties,
        "createdOn": _MADE,
    },
    "DataProduct": {"properties": aspect("dataProductProperties")},
    "DataProductProperties": {
        "name": or_key("name", 0),
        "numAssets": _assets,
        "customProperties": custom_properties,
        "createdOn": _MADE,
    },
}
