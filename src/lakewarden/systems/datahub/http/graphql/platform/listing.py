"""Lists of the platform's entities of a type: the matching ones, sorted, by pages."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql import authorization
from lakewarden.systems.datahub.http.graphql.aspect_record import Record, aspect
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.paging import contains_words, page
from lakewarden.systems.datahub.http.graphql.resolving import Info
from lakewarden.systems.datahub.search.index import Index

Input = Mapping[str, Any]


def _everything(_: Call, __: Input) -> Callable[[Record], bool]:
    return lambda _: True


@dataclass(frozen=True)
class Listing:
    """A field of the root that lists the entities of a type.

    `key` is the member of the reply with the entities; `operation`, if given, is checked first. The
    words of a query match the members in `searched`, which may include the URN. The order is that
    of the names; with `newest`, the name of a timestamp member, newest first. `where` gives the
    filter of an input, by the aspect.
    """

    type: str
    aspect: str
    key: str
    operation: str | None = None
    searched: tuple[str, ...] = ("name", "description")
    newest: str = ""
    where: Callable[[Call, Input], Callable[[Record], bool]] = _everything

    def __call__(self, _: object, info: Info, input: Input) -> Mapping[str, Any]:
        """The requested page."""
        call: Call = info.context
        if self.operation is not None:
            authorization.allow(call, self.operation)
        fits = self.where(call, input)
        entities = [
            record.entity
            for record in sorted(self.records(call), key=self.order)
            if fits(record) and contains_words(input.get("query"), *self._texts(record))
        ]
        page_entities, numbers = page(entities, input, call.exchange.services.page_rows)
        return {**numbers, self.key: page_entities}

    def records(self, call: Call) -> list[Record]:
        """The aspects of the visible stored entities, without softly deleted ones."""
        removed = Index.of(call.state.matrix.snapshot).is_removed
        entities = [each for each in stored_entities(call, self.type) if not removed(each)]
        return [aspect(call, entity, self.aspect) for entity in entities]

    def order(self, record: Record) -> tuple[str | int, str]:
        """The sort key of an entity."""
        if self.newest:
            return -(record.number(self.newest) or 0), record.entity.name
        return record.text("name") or "", record.entity.name

    def _texts(self, record: Record) -> Iterator[str]:
        for path in self.searched:
            if path == "urn":
                yield record.entity.name
            *outer, key = path.split(".")
            yield from (inner.text(key) or "" for inner in record.records_at(outer))


def stored_entities(call: Call, type: str) -> list[Entity]:
    """The visible stored entities of a type, by name; their aspects are read."""
    snapshot = call.state.matrix.snapshot
    tree = snapshot.coded.tree
    entities = sorted(tree.entity(id) for id in snapshot.of_type(type))
    visible = authorization.visible(
        call, [entity for entity in entities if snapshot.coded.is_known(entity)]
    )
    call.aspects(visible)
    return visible


def visible_entity(call: Call, entity: Entity | None) -> Entity | None:
    """The entity, if there is one and it is visible to the caller."""
    return entity if entity is not None and authorization.visible(call, [entity]) else None
