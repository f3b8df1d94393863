"""The search index of a snapshot: its columns, links and order, each computed once."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Final

from pyroaring import BitMap

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.relations import REMOVED
from lakewarden.kernel.snapshot import Snapshot
from lakewarden.systems.datahub.aspects.searched import UNSEARCHED
from lakewarden.systems.datahub.search.links import LINKS, Links
from lakewarden.systems.datahub.search.ranks import Ranks
from lakewarden.systems.datahub.search.urns import Urns

_KEY: Final = "search"

REMEMBERED: Final = 200
"""The maximum number of cached answers of the store per snapshot."""


class Index:
    """The columns, links and order of one snapshot.

    INVARIANT: it does not refer to the snapshot, which caches it: with such a cycle, the index of
    each revision would stay in memory until a full garbage collection.
    """

    def __init__(self, snapshot: Snapshot) -> None:
        self.coded = snapshot.coded
        self.tree = snapshot.coded.tree
        self.remembered: dict[object, BitMap] = {}
        self._stored: dict[str, BitMap] = {}
        self._links: dict[str, Links] = {}

    @staticmethod
    def of(snapshot: Snapshot) -> Index:
        """The index of a snapshot."""
        known = snapshot.memos.derived.get(_KEY)
        if not isinstance(known, Index):
            known = snapshot.memos.derived[_KEY] = Index(snapshot)
        return known

    def cache(self, key: object, ids: BitMap) -> None:
        """Caches an answer of the store for the lifetime of the snapshot, up to a limit."""
        if len(self.remembered) >= REMEMBERED:
            self.remembered.clear()
        self.remembered[key] = ids

    @cached_property
    def urns(self) -> Urns:
        """The columns of the URNs."""
        return Urns.of(self.tree)

    @cached_property
    def ranks(self) -> Ranks:
        """The canonical order."""
        return Ranks(self.tree)

    @cached_property
    def removed(self) -> BitMap:
        """The softly deleted entities."""
        attributes: Mapping[int, Mapping[str, tuple[str, ...]]] = self.coded.attributes
        return BitMap([id for id, own in attributes.items() if own.get(REMOVED) == ("true",)])

    def is_removed(self, entity: Entity) -> bool:
        """Whether the entity is softly deleted: no list and no search shows it."""
        id = self.tree.find(entity)
        return id is not None and id in self.removed

    def links(self, field: str) -> Links:
        """The links of a field of `LINKS`."""
        known = self._links.get(field)
        if known is None:
            known = self._links[field] = LINKS[field](self.coded)
        return known

    def of_type(self, type: str) -> BitMap:
        """The stored entities of a type; none if it is never searched. Not to be changed."""
        if type in UNSEARCHED or type not in self.tree.codes:
            return BitMap()
        ids = self._stored.get(type)
        if ids is None:
            ids = self._stored[type] = self.tree.of_type(type) - self.tree.deep
        return ids

    def of_types(self, types: tuple[str, ...]) -> BitMap:
        """The stored entities of any of the types."""
        return BitMap.union(BitMap(), *(self.of_type(type) for type in types))
