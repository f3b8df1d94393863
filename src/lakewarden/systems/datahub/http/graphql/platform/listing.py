"""Lists of what the platform keeps of a kind: what is stored, what fits, one page of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql import authorization
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.paging import page, says
from lakewarden.systems.datahub.http.graphql.platform import shapes

Key = Callable[[Entity], Any]


def stored(call: Call, type: str) -> list[Entity]:
    """The stored entities of a type that the caller is shown, by name; their aspects are read."""
    snapshot = call.state.matrix.snapshot
    tree = snapshot.coded.tree
    named = sorted(tree.entity(id) for id in snapshot.of_type(type))
    visible = authorization.visible(call, [one for one in named if snapshot.coded.is_known(one)])
    call.aspects(visible)
    return visible


def listed(
    call: Call,
    entities: Iterable[Entity],
    input: Mapping[str, Any],
    member: str,
    texts: Callable[[Entity], Iterable[str | None]],
    key: Key | None = None,
) -> Mapping[str, Any]:
    """One page of what fits the input's `query`, under `member`; in the order of `key`."""
    fits = [
        one
        for one in entities
        if says(input.get("query"), *(text for text in texts(one) if text is not None))
    ]
    if key is not None:
        fits.sort(key=key)
    shown, numbers = page(fits, input, call.exchange.services.page_rows)
    return {**numbers, member: shown}


def listed_by_name(
    call: Call,
    entities: Iterable[Entity],
    aspect: str,
    input: Mapping[str, Any],
    member: str,
    searched: Iterable[str] = ("name", "description"),
) -> Mapping[str, Any]:
    """As `listed`, by the names in an aspect; `searched` are the members that `query` looks at."""

    def texts(one: Entity) -> list[str | None]:
        return [shapes.text(call.aspect(one, aspect).get(key)) for key in searched]

    def by_name(one: Entity) -> tuple[str, str]:
        return shapes.text(call.aspect(one, aspect).get("name")) or "", one.name

    return listed(call, entities, input, member, texts, by_name)


def shown(call: Call, entity: Entity | None) -> Entity | None:
    """The entity, if there is one and the caller is shown it."""
    return entity if entity is not None and authorization.visible(call, [entity]) else None
