"""The context that resolvers share during the execution of one document."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping
from typing import Any, Final, TypeVar, cast

from lakewarden.http.exchange import Exchange
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.service.state import RealmState
from lakewarden.systems.datahub import names as datahub
from lakewarden.systems.datahub.http.graphql.errors import bad
from lakewarden.systems.datahub.use_cases import aspects
from lakewarden.systems.datahub.use_cases.aspects import Aspect

T = TypeVar("T")

MAX_EDGES: Final = 5_000
"""The maximum number of edges shown for one document, including nested lists."""

MAX_NAMED: Final = 100_000
"""The maximum number of entities shown within others: nested lists multiply."""

MAX_WORK: Final = 300_000
"""The number of edges examined for one document after which no further list is computed."""


class Call:
    """The execution of one document: its request, and the aspects that were read for it.

    Entities shown side by side form a group: aspects and privileges of one are read and checked for
    all of them at once, because the document requests the same for each.
    """

    def __init__(self, exchange: Exchange) -> None:
        self.exchange = exchange
        self._read: dict[Entity, Mapping[str, Aspect]] = {}
        self._groups: dict[Entity, tuple[Entity, ...]] = {}
        self._cached: dict[Hashable, Any] = {}
        self._revision = exchange.state.revision
        self._edges = 0
        self._named = 0
        self._work = 0

    def end(self) -> None:
        """Releases the request and the data that was read for it, after the document was executed.

        INVARIANT: the objects that the library creates for an execution, including the call, form
        reference cycles. Otherwise each would keep a state alive until a full garbage collection.
        """
        self._read, self._groups, self._cached = {}, {}, {}
        del self.exchange

    def start_list(self) -> None:
        """Raises `Failure` 400 if this document has already read or shown too many entities."""
        if self._edges > MAX_EDGES or self._work > MAX_WORK:
            raise bad(f"more than {MAX_EDGES} edges in one document are not allowed")

    def end_list(self, *, looked_at: int, shown: int) -> None:
        """Counts a list within the document; raises as `start_list` does."""
        self._work += looked_at
        self._edges += shown
        if self._edges > MAX_EDGES:
            self.start_list()

    def count_named(self, count: int) -> None:
        """Counts entities shown within another; raises `Failure` 400 above the limit."""
        self._named += count
        if self._named > MAX_NAMED:
            raise bad(f"more than {MAX_NAMED} entities within others are not shown in one document")

    @property
    def state(self) -> RealmState:
        """The realm, after the writes of this document so far."""
        return self.exchange.realm_state

    @property
    def actor(self) -> Entity:
        """The caller as an entity."""
        state = self.state
        principal = self.exchange.actor.principal(state.realm, state.system)
        return Entity("corpuser", principal.name)

    def add_group(self, entities: Iterable[Entity]) -> None:
        """Registers entities that are shown side by side; members of earlier groups stay there."""
        self._renew()
        group = tuple(dict.fromkeys(entities))
        for entity in group:
            self._groups.setdefault(entity, group)

    def group(self, entity: Entity) -> tuple[Entity, ...]:
        """All entities shown side by side with the entity, including itself."""
        self._renew()
        return self._groups.setdefault(entity, (entity,))

    def cached(self, key: Hashable, make: Callable[[], T]) -> T:
        """The result of `make`, computed once for this document and its state."""
        self._renew()
        if key not in self._cached:
            self._cached[key] = make()
        return cast(T, self._cached[key])

    def aspects(self, entities: Iterable[Entity]) -> dict[Entity, Mapping[str, Aspect]]:
        """The aspects of those entities that exist, each read once, with their groups."""
        requested = list(entities)
        self._renew()
        unread = [entity for entity in dict.fromkeys(requested) if entity not in self._read]
        if unread:
            direct = set(unread)
            beside = dict.fromkeys(
                entity for each in unread for entity in self._groups.get(each, ())
            )
            unread += [
                entity for entity in beside if entity not in self._read and entity not in direct
            ]
            with self.exchange.service.reading() as reading:
                stored = aspects.read(reading, self.state, unread)
            self._read |= {entity: stored.get(entity, {}) for entity in unread}
        return {entity: self._read[entity] for entity in requested if self._read[entity]}

    def _renew(self) -> None:
        """Clears all data that was read before this document's own last write."""
        if self._revision != self.exchange.state.revision:
            self._read.clear()
            self._groups.clear()
            self._cached.clear()
            self._revision = self.exchange.state.revision

    def aspect(self, entity: Entity, name: str) -> Mapping[str, object]:
        """The value of one aspect; empty if there is none."""
        self._renew()
        stored = self._read.get(entity)
        if stored is None:
            stored = self.aspects([entity]).get(entity, {})
        aspect = stored.get(name)
        return {} if aspect is None else aspect.value


def entity(urn: str, *types: str) -> Entity:
    """The entity of a URN, of one of the types if any are given; raises `Failure` 400."""
    try:
        target = datahub.parse("", urn)
    except BadInput as error:
        raise bad(str(error)) from None
    if types and target.type not in types:
        expected = " or ".join(f"`{type}`" for type in types)
        raise bad(f"expected a URN of type {expected}, got `{urn}`")
    return target
