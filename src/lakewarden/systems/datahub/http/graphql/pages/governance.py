"""The glossary and data products: names of terms, and counts of contents.

Counts follow the stored facts, without softly deleted entities. SOURCE: datahub reference 6.7.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pyroaring import BitMap

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub import names as datahub
from lakewarden.systems.datahub.http.graphql import authorization
from lakewarden.systems.datahub.http.graphql.aspect_record import Record
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.edges import children
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers
from lakewarden.systems.datahub.search.index import Index


def _short_name(term: Entity, _info: Info) -> str:
    """The part of a term's name after the last dot."""
    name = datahub.key_parts(term.name)[0]
    return name.rpartition(".")[2] or name


def _name(properties: Record, info: Info) -> str:
    return properties.text("name") or _short_name(properties.entity, info)


def _num_assets(properties: Record, info: Info) -> int:
    """The number of a product's visible assets."""
    call: Call = info.context
    coded = call.state.matrix.snapshot.coded
    id, edges = coded.tree.find(properties.entity), coded.relations.get("asset")
    targets = () if id is None or edges is None else edges.of(id)
    return _count(call, BitMap(target for target, _ in targets))


def _count(call: Call, ids: BitMap) -> int:
    removed = Index.of(call.state.matrix.snapshot).removed
    return len(authorization.visible_ids(call, ids - removed))


def _children_count(node: Entity, info: Info) -> Mapping[str, int]:
    call: Call = info.context
    snapshot = call.state.matrix.snapshot
    id = snapshot.coded.tree.find(node)
    below = BitMap() if id is None else children(snapshot, id)
    return {
        "termsCount": _count(call, below & snapshot.of_type("glossaryTerm")),
        "nodesCount": _count(call, below & snapshot.of_type("glossaryNode")),
    }


RESOLVERS: Final[Resolvers] = {
    "GlossaryTerm": {"name": _short_name},
    "GlossaryTermProperties": {"name": _name},
    "GlossaryTermInfo": {"name": _name},
    "GlossaryNode": {"childrenCount": _children_count},
    "DataProductProperties": {"numAssets": _num_assets},
}
