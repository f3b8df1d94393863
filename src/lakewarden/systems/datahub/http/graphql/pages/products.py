"""The data products of entities, and the older browse paths."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql import authorization, edges
from lakewarden.systems.datahub.http.graphql import call as calls
from lakewarden.systems.datahub.http.graphql.aspect_record import aspect
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.errors import bad
from lakewarden.systems.datahub.http.graphql.kinds import types_of
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers

_CONTAINS: Final = frozenset({"DataProductContains"})
_PRODUCT: Final = "dataProductProperties"


def _products(_: object, info: Info, input: Mapping[str, Any]) -> Mapping[str, Any]:
    call: Call = info.context
    most = call.exchange.services.page_rows
    if len(input["urns"]) > most:
        raise bad(f"expected at most {most} `urns`")
    entities = [calls.entity(urn) for urn in input["urns"]]
    visible = set(authorization.visible(call, entities))
    return {
        "entities": [
            {
                "urn": entity.name,
                "dataProductAssociations": _associations(call, entity) if entity in visible else [],
            }
            for entity in entities
        ]
    }


def _associations(call: Call, entity: Entity) -> list[Mapping[str, Any]]:
    call.start_list()
    tree = call.state.matrix.snapshot.coded.tree
    products = [
        tree.entity(id) for ends in edges.incoming(call, entity, _CONTAINS) for id in ends.ids
    ]
    call.add_group(products)
    call.end_list(looked_at=1 + len(products), shown=len(products))
    return [
        {"dataProduct": product, "isOutputPort": _is_output_port(call, product, entity)}
        for product in sorted(products)
    ]


def _is_output_port(call: Call, product: Entity, asset: Entity) -> bool:
    assets = aspect(call, product, _PRODUCT).records("assets")
    return any(
        association.get("destinationUrn") == asset.name and association.flag("outputPort")
        for association in assets
    )


def _paths(_: object, info: Info, input: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    call: Call = info.context
    entity = calls.entity(input["urn"], *sorted(types_of(input["type"])))
    if not authorization.visible(call, [entity]):
        return []
    paths = aspect(call, entity, "browsePaths").texts("paths")
    return [{"path": [step for step in path.split("/") if step]} for path in paths]


RESOLVERS: Final[Resolvers] = {
    "Query": {"browsePaths": _paths, "bulkEntityDataProducts": _products},
}
