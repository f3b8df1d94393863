"""Browsing by containers: a path is URNs of containers, each in the one before."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import numpy as np
from pyroaring import BitMap

from lakewarden.kernel.entity import Entity
from lakewarden.service.search.index import Index
from lakewarden.service.search.links import Links
from lakewarden.wire.datahub import viewing
from lakewarden.wire.datahub.graphql import guarding
from lakewarden.wire.datahub.graphql.call import Call
from lakewarden.wire.datahub.graphql.resolving import Info
from lakewarden.wire.datahub.graphql.search.inputs import numbers, question
from lakewarden.wire.datahub.searching import asking

Shown = dict[str, Any]


class Shelves:
    """What lies in which container, of some entities."""

    def __init__(self, index: Index, ids: BitMap) -> None:
        self._tree = index.tree
        links = index.links("container")
        self._holder = dict(zip(links.sources.tolist(), links.targets.tolist(), strict=True))
        self._held = _by_target(links, ids, len(self._tree))
        self._loose = ids - BitMap.union(BitMap(), *self._held.values())

    def level(self, path: Sequence[str]) -> tuple[BitMap, dict[int, tuple[BitMap, bool]]]:
        """What lies directly at a path, and for each container there what lies in it.

        With each goes whether a container in it has any of that.
        """
        here = self._named(path)
        direct = self._loose if here == _TOP else BitMap()
        below: dict[int, tuple[BitMap, bool]] = {}
        for holder, ids in self._held.items():
            chain = self._chain(holder)
            if here is None or (here != _TOP and here not in chain):
                continue
            inner = chain if here == _TOP else chain[chain.index(here) + 1 :]
            if not inner:
                direct = direct | ids
                continue
            found, deeper = below.get(inner[0], (BitMap(), False))
            below[inner[0]] = (found | ids, deeper or len(inner) > 1)
        return direct, below

    def _named(self, path: Sequence[str]) -> int | None:
        """The container at the end of a path; None where there is none."""
        return self._tree.find(Entity("container", path[-1])) if path else _TOP

    def _chain(self, holder: int) -> list[int]:
        """A container with those that it lies in, the outermost first."""
        chain = [holder]
        outer = self._holder.get(holder)
        while outer is not None and outer not in chain:
            chain.append(outer)
            outer = self._holder.get(outer)
        return chain[::-1]


_TOP: Final = -1
"""The place that is in no container."""


def _by_target(links: Links, ids: BitMap, size: int) -> dict[int, BitMap]:
    """Those of the ids that are linked to anything, by what they are linked to."""
    among = np.zeros(size, dtype=bool)
    among[np.asarray(ids.to_array(), dtype=np.int64)] = True
    kept = among[links.sources] if len(links.sources) else np.zeros(0, dtype=bool)
    sources, targets = links.sources[kept], links.targets[kept]
    order = np.argsort(targets, kind="stable")
    firsts, starts = np.unique(targets[order], return_index=True)
    parts = np.split(sources[order].astype(np.uint32), starts[1:])
    return {int(target): BitMap(part) for target, part in zip(firsts, parts, strict=False)}


def _browse(_: object, info: Info, input: Mapping[str, Any]) -> Shown:
    call: Call = info.context
    start, count = numbers(call, input)
    path = list(input.get("path") or ())
    with asking(call.exchange, viewing.hits) as found:
        search = found.search(question(call, input, [input["type"]]))
        direct, below = Shelves(found.index, search.results).level(path)
        tree = found.index.tree
        ids = found.index.ranks.page(direct, start, count)
        entities = guarding.visible(call, [tree.entity(id) for id in ids])
    call.together(entities)
    inner = sum(len(one) for one, _ in below.values())
    groups = [{"name": tree.names[id], "count": len(one)} for id, (one, _) in below.items()]
    return {
        "entities": entities,
        "groups": sorted(groups, key=lambda one: str(one["name"])),
        "start": start,
        "count": len(entities),
        "total": len(direct),
        "metadata": {"path": path, "totalNumEntities": len(direct) + inner},
    }


def _browse_again(_: object, info: Info, input: Mapping[str, Any]) -> Shown:
    call: Call = info.context
    start, count = numbers(call, input)
    path = list(input.get("path") or ())
    types = input.get("types") or ([input["type"]] if input.get("type") else None)
    with asking(call.exchange, viewing.hits) as found:
        search = found.search(question(call, input, types))
        direct, below = Shelves(found.index, search.results).level(path)
        tree = found.index.tree
    ordered = sorted(below, key=lambda id: (-len(below[id][0]), tree.names[id]))
    page = [tree.entity(id) for id in ordered[start : start + count]]
    seen = set(guarding.visible(call, page))
    call.together(seen)
    groups = [
        {
            "name": entity.name,
            "entity": entity if entity in seen else None,
            "count": len(below[id][0]),
            "hasSubGroups": below[id][1],
        }
        for id, entity in zip(ordered[start : start + count], page, strict=True)
    ]
    inner = sum(len(one) for one, _ in below.values())
    return {
        "groups": groups,
        "start": start,
        "count": len(groups),
        "total": len(below),
        "metadata": {"path": path, "totalNumEntities": len(direct) + inner},
    }


QUERY: Final[Mapping[str, Callable[..., Any]]] = {"browse": _browse, "browseV2": _browse_again}
