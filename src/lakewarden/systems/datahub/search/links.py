"""Links of entities as pairs of numbers: tags, owners, domains, containers.

One pair for each entity and each of its targets, in two parallel arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pyroaring import BitMap

from lakewarden.kernel.edges import Edges
from lakewarden.kernel.facts import Coded

Ints = NDArray[np.int32]


class Links(NamedTuple):
    """Pairs; `name` returns the name of a target's number, `find` the numbers of a name.

    `are_entities`: targets are ids of the tree.
    """

    sources: Ints
    targets: Ints
    name: Callable[[int], str]
    find: Callable[[str], Iterable[int]]
    are_entities: bool

    def leading_to(self, targets: Iterable[int]) -> BitMap:
        """The entities linked to one of the targets."""
        numbers = np.fromiter(targets, np.int32)
        hit = np.isin(self.targets, numbers)
        return BitMap(np.unique(self.sources[hit]).astype(np.uint32))

    def distinct(self) -> list[int]:
        """All targets of links."""
        ids: list[int] = np.unique(self.targets).tolist()
        return ids

    def counts(self, ids: BitMap, size: int) -> dict[int, int]:
        """The number of ids linked to each target; `size` is greater than every id."""
        if not len(self.targets):
            return {}
        among = np.zeros(size, dtype=bool)
        among[np.asarray(ids.to_array(), dtype=np.int64)] = True
        target_counts = np.bincount(self.targets[among[self.sources]])
        hit = np.flatnonzero(target_counts)
        return dict(zip(hit.tolist(), target_counts[hit].tolist(), strict=True))


def related(coded: Coded, kind: str) -> Links:
    """The relation of that kind."""
    return _entities(coded, *_pairs(coded.relations[kind]))


def owners(coded: Coded) -> Links:
    """The owners, of all ownership types."""
    principals = coded.memberships.principals
    sources, targets = _distinct_pairs(*_pairs(coded.owners))
    by_name: dict[str, list[int]] = {}
    for id in np.unique(targets).tolist():
        by_name.setdefault(principals[id].name, []).append(id)
    return Links(
        sources,
        targets,
        lambda id: principals[id].name,
        lambda name: by_name.get(name, ()),
        are_entities=False,
    )


def containers(coded: Coded) -> Links:
    """The direct container of an entity."""
    sources, targets = _pairs(coded.relations["container"])
    placed_sources, placed_targets = _placed_in(coded, "container")
    unrelated = ~np.isin(placed_sources, sources)
    both = (
        np.concatenate((sources, placed_sources[unrelated])),
        np.concatenate((targets, placed_targets[unrelated])),
    )
    return _entities(coded, *both)


def placements(coded: Coded, type: str) -> Links:
    """The parent of an entity, if it is of the type."""
    return _entities(coded, *_placed_in(coded, type))


def products(coded: Coded) -> Links:
    """The data products that contain an entity as an asset."""
    sources, targets = _pairs(coded.relations["asset"])
    return _entities(coded, targets, sources)


def _entities(coded: Coded, sources: Ints, targets: Ints) -> Links:
    tree = coded.tree

    def find(name: str) -> list[int]:
        ids = (index.get(name) for index in tree.named.values())
        return [id for id in ids if id is not None]

    return Links(sources, targets, lambda id: tree.names[id], find, are_entities=True)


def _placed_in(coded: Coded, type: str) -> tuple[Ints, Ints]:
    tree = coded.tree
    above = tree.above
    code = tree.codes.get(type, -1)
    sources = np.flatnonzero(above >= 0)
    sources = sources[tree.types[above[sources]] == code]
    return sources.astype(np.int32), above[sources].astype(np.int32)


def _pairs(edges: Edges) -> tuple[Ints, Ints]:
    sources = np.repeat(np.arange(len(edges.offsets) - 1, dtype=np.int32), np.diff(edges.offsets))
    targets = edges.targets
    if edges.changed:
        unchanged = ~np.isin(sources, np.fromiter(edges.changed, np.int32))
        more = [(s, target) for s, pairs in edges.changed.items() for target, _ in pairs]
        changed_pairs = np.array(more, dtype=np.int32).reshape(-1, 2)
        sources = np.concatenate((sources[unchanged], changed_pairs[:, 0]))
        targets = np.concatenate((targets[unchanged], changed_pairs[:, 1]))
    return sources, targets


def _distinct_pairs(sources: Ints, targets: Ints) -> tuple[Ints, Ints]:
    """The pairs without duplicates: an owner with two ownership types counts once."""
    if not len(sources):
        return sources, targets
    pairs = np.unique(np.stack((sources, targets), axis=1), axis=0)
    return pairs[:, 0], pairs[:, 1]


LINKS: Final[dict[str, Callable[[Coded], Links]]] = {
    "container": containers,
    "dataProducts": products,
    "domains": lambda coded: related(coded, "domain"),
    "glossaryTerms": lambda coded: related(coded, "term"),
    "owners": owners,
    "parentDomain": lambda coded: placements(coded, "domain"),
    "parentNode": lambda coded: placements(coded, "glossaryNode"),
    "platformInstance": lambda coded: related(coded, "platform_instance"),
    "tags": lambda coded: related(coded, "tag"),
}
"""The fields that are links."""
