"""What a caller is shown: which operation is asked about entities of a type, and the answers.

View authorization guards pages and what is shown inside something else. A search shows what it
lets through, or with search access controls, what they do. Without either everybody is shown
everything, as in the original. What no search ever shows is said in `aspects.searched`.

The operator's lists of types are heeded here: `entity.view_open` and `entity.view_restricted` are
asked in place of `entity.view` for the types that they name and leave out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pyroaring import BitMap

from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.expression import Anyone
from lakewarden.kernel.listing import filtered, listing
from lakewarden.wire.datahub.asking import is_on, question, reading_of
from lakewarden.wire.exchange import DataHubOptions, Exchange

PAGE = "entity.view"
OPEN = "entity.view_open"
RESTRICTED = "entity.view_restricted"
HIT = "entity.search_view"
ACCESS = "entity.search_access"
REST = "entity.search"


def is_guarded(exchange: Exchange) -> bool:
    """Whether anything is asked about pages at all."""
    options = exchange.services.datahub
    return options.view and options.policies


def viewing(exchange: Exchange, type: str) -> str | None:
    """The operation that shows an entity of the type; None: nothing is asked."""
    if not is_guarded(exchange):
        return None
    return _listed(exchange.services.datahub, type) or PAGE


def searching(exchange: Exchange, type: str) -> str | None:
    """The operation that lets a search show an entity of the type; None: nothing is asked."""
    options = exchange.services.datahub
    if not options.policies:
        return None
    listed = _listed(options, type)
    if options.search_access:
        is_open = listed == OPEN or (listed is None and _is_open(exchange, type))
        return OPEN if is_open else ACCESS
    if exchange.realm_state.system.model.settings.get("views") == "cloud":
        return OPEN if listed == OPEN else HIT
    return (listed or HIT) if options.view else None


def _listed(options: DataHubOptions, type: str) -> str | None:
    """What the operator's lists say of a type; None: nothing."""
    word = type.lower()
    if word in _words(options.unrestricted_remove):
        return RESTRICTED
    if word in _words(options.unrestricted_add):
        return OPEN
    if options.unrestricted:
        return OPEN if word in _words(options.unrestricted) else RESTRICTED
    return None


def _words(types: Iterable[str]) -> frozenset[str]:
    return frozenset(type.lower() for type in types)


def _is_open(exchange: Exchange, type: str) -> bool:
    """Whether the model leaves pages of the type open to anyone."""
    operation = exchange.realm_state.system.model.operation(PAGE)
    return isinstance(operation.rule_or_none(type), Anyone)


def visible(exchange: Exchange, entities: Sequence[Entity]) -> list[Entity]:
    """Those of the entities whose pages the caller is shown, in order."""
    asked: dict[str, list[int]] = {}
    seen = set(range(len(entities)))
    for index, entity in enumerate(entities):
        operation = viewing(exchange, entity.type)
        if operation is not None:
            asked.setdefault(operation, []).append(index)
    for operation, indexes in asked.items():
        own = [entities[index] for index in indexes]
        request = question(exchange, operation, NO_RESOURCE)
        kept = filtered(exchange.realm_state.matrix, request, own)
        seen -= set(indexes) - {indexes[at] for at in kept}
    return [entities[index] for index in sorted(seen)]


def visible_ids(exchange: Exchange, ids: BitMap) -> BitMap:
    """As `visible`, of stored entities by their ids."""
    snapshot = exchange.realm_state.matrix.snapshot
    found = BitMap()
    for kind in snapshot.coded.tree.kinds:
        own = ids & snapshot.of_type(kind) if kind else BitMap()
        if own:
            found |= own & _allowed(exchange, viewing(exchange, kind), kind)
    return found


def hits(exchange: Exchange, type: str) -> BitMap:
    """The stored entities of a type that a search may show the caller."""
    return _allowed(exchange, searching(exchange, type), type)


def given(exchange: Exchange, type: str) -> BitMap:
    """The stored entities of a type that a search of the REST interface may give the caller."""
    return _allowed(exchange, REST if is_on(exchange) else None, type)


def read(exchange: Exchange, type: str) -> BitMap:
    """The stored entities of a type that the caller may read over the REST interface."""
    operation = reading_of(exchange, Entity(type, "")) if is_on(exchange) else None
    return _allowed(exchange, operation, type)


def _allowed(exchange: Exchange, operation: str | None, type: str) -> BitMap:
    matrix = exchange.realm_state.matrix
    if operation is None:
        return matrix.snapshot.of_type(type) & matrix.snapshot.coded.tree.stored
    return listing(matrix, question(exchange, operation, NO_RESOURCE), type=type)
