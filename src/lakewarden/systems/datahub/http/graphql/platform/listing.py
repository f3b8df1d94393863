"""Lists of what the platform stores of a type: what fits, in order, one page of it."""

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

Input = Mapping[str, Any]


def _everything(_: Call, __: Input) -> Callable[[Record], bool]:
    return lambda _: True


@dataclass(frozen=True)
class Listing:
    """A field of the root that lists the entities of a type.

    `key` is where the answer has them, `operation` what is asked first, if anything. The words of
    a query are looked for in the members `searched`, and in the URN where it is named among them.
    The order is that of the names, or with `newest`, a member that says when, from there back.
    `where` gives for an input what fits it, by the aspect.
    """

    type: str
    aspect: str
    key: str
    operation: str | None = None
    searched: tuple[str, ...] = ("name", "description")
    newest: str = ""
    where: Callable[[Call, Input], Callable[[Record], bool]] = _everything

    def __call__(self, _: object, info: Info, input: Input) -> Mapping[str, Any]:
        """The page that the input describes."""
        call: Call = info.context
        if self.operation is not None:
            authorization.allow(call, self.operation)
        fits = self.where(call, input)
        entities = [
            record.entity
            for record in sorted(self.records(call), key=self.order)
            if fits(record) and contains_words(input.get("query"), *self._texts(record))
        ]
        shown, numbers = page(entities, input, call.exchange.services.page_rows)
        return {**numbers, self.key: shown}

    def records(self, call: Call) -> list[Record]:
        """The aspects of the stored entities that the caller is shown."""
        return [aspect(call, entity, self.aspect) for entity in stored(call, self.type)]

    def order(self, record: Record) -> tuple[str | int, str]:
        """What the entities are ordered by."""
        if self.newest:
            return -(record.number(self.newest) or 0), record.entity.name
        return record.text("name") or "", record.entity.name

    def _texts(self, record: Record) -> Iterator[str]:
        for path in self.searched:
            if path == "urn":
                yield record.entity.name
            *outer, key = path.split(".")
            yield from (inner.text(key) or "" for inner in record.within(outer))


def stored(call: Call, type: str) -> list[Entity]:
    """The stored entities of a type that the caller is shown, by name; their aspects are read."""
    snapshot = call.state.matrix.snapshot
    tree = snapshot.coded.tree
    named = sorted(tree.entity(id) for id in snapshot.of_type(type))
    visible = authorization.visible(
        call, [entity for entity in named if snapshot.coded.is_known(entity)]
    )
    call.aspects(visible)
    return visible


def shown(call: Call, entity: Entity | None) -> Entity | None:
    """The entity, if there is one and the caller is shown it."""
    return entity if entity is not None and authorization.visible(call, [entity]) else None
