"""Entities by their URNs. What is not there and what the caller is not shown are alike null."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql import authorization
from lakewarden.systems.datahub.http.graphql import call as calls
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.entities import is_known
from lakewarden.systems.datahub.http.graphql.errors import bad
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers

_ROOTS: Final = {
    "application": "application",
    "assertion": "assertion",
    "businessAttribute": "businessAttribute",
    "chart": "chart",
    "container": "container",
    "corpGroup": "corpGroup",
    "corpUser": "corpuser",
    "dashboard": "dashboard",
    "dataFlow": "dataFlow",
    "dataHubRole": "dataHubRole",
    "dataJob": "dataJob",
    "dataPlatform": "dataPlatform",
    "dataPlatformInstance": "dataPlatformInstance",
    "dataProcessInstance": "dataProcessInstance",
    "dataProduct": "dataProduct",
    "dataset": "dataset",
    "document": "document",
    "domain": "domain",
    "erModelRelationship": "erModelRelationship",
    "glossaryNode": "glossaryNode",
    "glossaryTerm": "glossaryTerm",
    "incident": "incident",
    "metric": "metric",
    "mlFeature": "mlFeature",
    "mlFeatureTable": "mlFeatureTable",
    "mlModel": "mlModel",
    "mlModelGroup": "mlModelGroup",
    "mlPrimaryKey": "mlPrimaryKey",
    "notebook": "notebook",
    "role": "role",
    "semanticModel": "semanticModel",
    "structuredProperty": "structuredProperty",
    "tag": "tag",
    "versionSet": "versionSet",
}
"""Fields of the root that show an entity, and the type that its URN must be of."""


def shown(call: Call, entities: Sequence[Entity]) -> list[Entity | None]:
    """The entities as far as they are there and the caller is shown them; else null."""
    seen = set(authorization.visible(call, entities))
    found = [one if one in seen and is_known(call.state, one) else None for one in entities]
    call.together(one for one in found if one is not None)
    return found


def _by_urn(*types: str) -> Callable[..., Entity | None]:
    def look_up(_: object, info: Info, urn: str) -> Entity | None:
        return shown(info.context, [calls.entity(urn, *types)])[0]

    return look_up


def _entities(
    _: object,
    info: Info,
    urns: Sequence[str],
    checkForExistence: bool | None = None,  # noqa: ARG001, N803 — looked at always
) -> list[Entity | None]:
    call: Call = info.context
    most = call.exchange.services.page_rows
    if len(urns) > most:
        raise bad(f"expected at most {most} `urns`")
    return shown(call, [calls.entity(urn) for urn in urns])


def _exists(_: object, info: Info, urn: str) -> bool:
    return shown(info.context, [calls.entity(urn)])[0] is not None


_QUERY: Final[dict[str, Callable[..., Any]]] = {
    **{field: _by_urn(type) for field, type in _ROOTS.items()},
    "entity": _by_urn(),
    "entities": _entities,
    "entityExists": _exists,
}

RESOLVERS: Final[Resolvers] = {"Query": _QUERY}
