"""The visibility of entities for a caller: the deciding operation, and the results.

View authorization guards pages, and entities shown inside another. A search shows the entities that
view authorization allows, or with search access controls, those that these allow. Without either
everything is visible to everybody, as in the original. `aspects.searched` names the types that no
search shows.

The settings of the realm define which of them is on, and which types they leave open, so every
other interface gives the same answer.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyroaring import BitMap

from lakewarden.http.exchange import Exchange
from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.listing import filtered, listing
from lakewarden.systems.datahub.http.authorization import READING, caller_request, is_on
from lakewarden.systems.datahub.settings import DataHubSettings

PAGE = "entity.view"
HIT = "entity.search_view"
REST = "entity.search"


def is_guarded(exchange: Exchange) -> bool:
    """Whether pages are guarded at all."""
    settings = exchange.realm_state.system.model.settings
    return exchange.services.of(DataHubSettings).policies and settings["view_authorization"] == "on"


def viewing(exchange: Exchange) -> str | None:
    """The operation that shows an entity; None: no check."""
    return PAGE if is_guarded(exchange) else None


def searching(exchange: Exchange) -> str | None:
    """The operation that lets a search show an entity; None: no check."""
    return HIT if exchange.services.of(DataHubSettings).policies else None


def visible(exchange: Exchange, entities: Sequence[Entity]) -> list[Entity]:
    """The entities whose pages the caller may see, in order."""
    operation = viewing(exchange)
    if operation is None:
        return list(entities)
    request = caller_request(exchange, operation, NO_RESOURCE)
    indexes = filtered(exchange.realm_state.matrix, request, list(entities))
    return [entities[index] for index in indexes]


def visible_ids(exchange: Exchange, ids: BitMap) -> BitMap:
    """As `visible`, for stored entities by their ids."""
    snapshot = exchange.realm_state.matrix.snapshot
    visible = BitMap()
    for kind in snapshot.coded.tree.kinds:
        own = ids & snapshot.of_type(kind) if kind else BitMap()
        if own:
            visible |= own & _allowed(exchange, viewing(exchange), kind)
    return visible


def hits(exchange: Exchange, type: str) -> BitMap:
    """The stored entities of a type that a search may show the caller."""
    return _allowed(exchange, searching(exchange), type)


def rest_hits(exchange: Exchange, type: str) -> BitMap:
    """The stored entities of a type that a REST search may return to the caller."""
    return _allowed(exchange, REST if is_on(exchange) else None, type)


def rest_readable(exchange: Exchange, type: str) -> BitMap:
    """The stored entities of a type that the caller may read over the REST interface."""
    return _allowed(exchange, READING if is_on(exchange) else None, type)


def _allowed(exchange: Exchange, operation: str | None, type: str) -> BitMap:
    matrix = exchange.realm_state.matrix
    if operation is None:
        return matrix.snapshot.of_type(type) & matrix.snapshot.coded.tree.stored
    return listing(matrix, caller_request(exchange, operation, NO_RESOURCE), type=type)
