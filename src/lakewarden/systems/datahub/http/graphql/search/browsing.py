"""Browsing: a path is a sequence of nested names.

The names come from an entity's own aspect `browsePathsV2`, or else are the URNs of its containers.
The older call only knows containers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

import numpy as np
from pyroaring import BitMap

from lakewarden.kernel.entity import Entity
from lakewarden.service.search_terms import Term, field_term
from lakewarden.systems.datahub.aspects.meaning import target
from lakewarden.systems.datahub.aspects.searched import browse_path
from lakewarden.systems.datahub.http import view_authorization
from lakewarden.systems.datahub.http.graphql import authorization
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers
from lakewarden.systems.datahub.http.graphql.search.inputs import page_bounds, question
from lakewarden.systems.datahub.http.searching import SearchSession, search_session
from lakewarden.systems.datahub.search.index import Index
from lakewarden.systems.datahub.search.links import Links

Shown = dict[str, Any]


class ContainerLevels:
    """The contents of containers, for some entities."""

    def __init__(self, index: Index, ids: BitMap) -> None:
        self._tree = index.tree
        links = index.links("container")
        self._holder = dict(zip(links.sources.tolist(), links.targets.tolist(), strict=True))
        self._held = _by_target(links, ids, len(self._tree))
        self._loose = ids - BitMap.union(BitMap(), *self._held.values())

    def level(self, path: Sequence[str]) -> tuple[BitMap, dict[int, tuple[BitMap, bool]]]:
        """The direct contents of a path, and the contents of each container there.

        Each container comes with a flag: whether one of its own containers has some of these
        contents.
        """
        shelf = self._container_at(path)
        direct = self._loose if shelf == _TOP else BitMap()
        below: dict[int, tuple[BitMap, bool]] = {}
        for holder, ids in self._held.items():
            chain = self._container_path(holder)
            if shelf is None or (shelf != _TOP and shelf not in chain):
                continue
            inner = chain if shelf == _TOP else chain[chain.index(shelf) + 1 :]
            if not inner:
                direct = direct | ids
                continue
            inside, deeper = below.get(inner[0], (BitMap(), False))
            below[inner[0]] = (inside | ids, deeper or len(inner) > 1)
        return direct, below

    def _container_at(self, path: Sequence[str]) -> int | None:
        """The container at the end of a path; None if there is none."""
        return self._tree.find(Entity("container", path[-1])) if path else _TOP

    def _container_path(self, holder: int) -> list[int]:
        """A container with its parents, the outermost first."""
        chain = [holder]
        outer = self._holder.get(holder)
        while outer is not None and outer not in chain:
            chain.append(outer)
            outer = self._holder.get(outer)
        return chain[::-1]


_TOP: Final = -1
"""Stands for the top level, outside of all containers."""


def _by_target(links: Links, ids: BitMap, size: int) -> dict[int, BitMap]:
    """The ids that have a link, by their targets."""
    among = np.zeros(size, dtype=bool)
    among[np.asarray(ids.to_array(), dtype=np.int64)] = True
    is_wanted = among[links.sources] if len(links.sources) else np.zeros(0, dtype=bool)
    sources, targets = links.sources[is_wanted], links.targets[is_wanted]
    order = np.argsort(targets, kind="stable")
    firsts, starts = np.unique(targets[order], return_index=True)
    parts = np.split(sources[order].astype(np.uint32), starts[1:])
    return {int(target): BitMap(part) for target, part in zip(firsts, parts, strict=False)}


def _browse(_: object, info: Info, input: Mapping[str, Any]) -> Shown:
    call: Call = info.context
    start, count = page_bounds(call, input)
    path = list(input.get("path") or ())
    with search_session(call.exchange, view_authorization.hits) as session:
        search = session.search(question(call, input, [input["type"]]))
        direct, below = ContainerLevels(session.index, search.results).level(path)
        tree = session.index.tree
        ids = session.index.ranks.page(direct, start, count)
        entities = authorization.visible(call, [tree.entity(id) for id in ids])
    call.add_group(entities)
    inner = sum(len(ids) for ids, _ in below.values())
    groups = [{"name": tree.names[id], "count": len(ids)} for id, (ids, _) in below.items()]
    return {
        "entities": entities,
        "groups": sorted(groups, key=lambda group: str(group["name"])),
        "start": start,
        "count": len(entities),
        "total": len(direct),
        "metadata": {"path": path, "totalNumEntities": len(direct) + inner},
    }


def _browse_v2(_: object, info: Info, input: Mapping[str, Any]) -> Shown:
    call: Call = info.context
    start, count = page_bounds(call, input)
    path = list(input.get("path") or ())
    types = input.get("types") or ([input["type"]] if input.get("type") else None)
    with search_session(call.exchange, view_authorization.hits) as session:
        results = session.search(question(call, input, types)).results
        own = _with_paths(session, results)
        direct, below = ContainerLevels(session.index, results - own).level(path)
        tree = session.index.tree
        groups = {
            tree.names[id]: _Group(len(inner), is_deeper, tree.names[id])
            for id, (inner, is_deeper) in below.items()
        }
        direct_count = (
            len(direct) + _add_to_groups(groups, path, session.texts().aspects(own))
            if own
            else len(direct)
        )
    ordered = sorted(groups, key=lambda name: (-groups[name].number, name))[start:][:count]
    entities = {name: _entity(groups[name].urn) for name in ordered}
    visible = set(
        authorization.visible(call, [entity for entity in entities.values() if entity is not None])
    )
    call.add_group(visible)
    rows = [
        {
            "name": name,
            "entity": entities[name] if entities[name] in visible else None,
            "count": groups[name].number,
            "hasSubGroups": groups[name].is_deeper,
        }
        for name in ordered
    ]
    inner = sum(group.number for group in groups.values())
    return {
        "groups": rows,
        "start": start,
        "count": len(rows),
        "total": len(groups),
        "metadata": {"path": path, "totalNumEntities": direct_count + inner},
    }


class _Group(NamedTuple):
    """The contents below a name: their count, whether there are more levels, and the name's URN."""

    number: int
    is_deeper: bool
    urn: str


def _with_paths(session: SearchSession, ids: BitMap) -> BitMap:
    """The ids that have browse paths of their own."""
    return session.texts().matching([[Term(field_term("browsePathV2"))]]) & ids


def _add_to_groups(
    groups: dict[str, _Group], path: Sequence[str], aspects_by_id: Mapping[int, Mapping[str, Any]]
) -> int:
    """Adds entities with own paths to the groups of a path; returns how many are directly there.

    COST: reads all their documents; raises `LimitExceeded` if there are too many.
    """
    direct = 0
    for aspects in aspects_by_id.values():
        steps = browse_path(aspects)
        if [name for name, _ in steps[: len(path)]] != path:
            continue
        if len(steps) == len(path):
            direct += 1
            continue
        name, urn = steps[len(path)]
        known = groups.get(name, _Group(0, False, urn or name))
        is_deeper = known.is_deeper or len(steps) > len(path) + 1
        groups[name] = _Group(known.number + 1, is_deeper, known.urn)
    return direct


def _entity(urn: str) -> Entity | None:
    entity, problem = target(urn, frozenset())
    return None if problem else entity


RESOLVERS: Final[Resolvers] = {"Query": {"browse": _browse, "browseV2": _browse_v2}}
