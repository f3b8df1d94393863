"""Queries of the store: the entities with some terms, and display names.

The store has its own ids for entities. The mapping to ours is looked up: for a few, each time; for
many, once per numbering.
"""

from __future__ import annotations

import threading
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray
from pyroaring import BitMap

from lakewarden.kernel.errors import LimitExceeded
from lakewarden.kernel.tree import Lineage
from lakewarden.service.ports import Reading
from lakewarden.service.search_terms import Term
from lakewarden.systems.datahub.aspects.searched import name_in_urn
from lakewarden.systems.datahub.search.index import Index
from lakewarden.systems.datahub.use_cases.aspects import stored_aspects

FEW: Final = 2_000
"""Up to this number, ids are looked up one by one."""

LOOKED_THROUGH: Final = 20_000
"""The maximum number of documents read for one criterion."""

Clauses = Sequence[Sequence[Term]]
_Places = tuple[NDArray[np.int64], NDArray[np.int64]]
"""Sorted ids of the store, and our ids at the same positions."""

_LOCK: Final = threading.Lock()
_KNOWN: WeakKeyDictionary[Lineage, _Places] = WeakKeyDictionary()


class Texts:
    """The store's answers for one snapshot of a realm."""

    def __init__(self, reading: Reading, realm: str, index: Index) -> None:
        self.reading = reading
        self._realm = realm
        self.index = index

    def matching(self, clauses: Clauses) -> BitMap:
        """The ids of the entities with one of the terms of every clause."""
        # Not every revision makes a new snapshot: changed descriptions alone do not.
        key = (self.reading.revision, tuple(map(tuple, clauses)))
        known = self.index.remembered.get(key)
        if known is None:
            numbers = np.array(self.reading.matching_ids(self._realm, clauses), dtype=np.int64)
            known = BitMap(self._places(numbers).astype(np.uint32))
            self.index.cache(key, known)
        return known

    def prepare(self) -> None:
        """Reads the data for large answers in advance, so the first of them does not wait."""
        self._all_places()

    def names(self, ids: BitMap) -> dict[int, str]:
        """The display names of the ids, by id."""
        tree = self.index.tree
        if len(ids) <= FEW:
            entities = {tree.entity(id): id for id in ids}
            stored = self.reading.ids(self._realm, list(entities))
            place = {number: entities[entity] for entity, number in stored.items()}
            rows = self.reading.shown_names(self._realm, list(place))
            names_by_id = {place[number]: name for number, name in rows}
        else:
            numbers, names = _columns_of(self.reading.shown_names(self._realm))
            places = self._places_or_none(numbers).tolist()
            names_by_id = {id: name for id, name in zip(places, names, strict=True) if id in ids}
        missing = (id for id in ids if id not in names_by_id)
        return names_by_id | {id: name_in_urn(tree.entity(id)) for id in missing}

    def aspects(self, ids: BitMap) -> Mapping[int, Mapping[str, Any]]:
        """The stored aspects, by id. Raises `LimitExceeded` for too many."""
        if len(ids) > LOOKED_THROUGH:
            raise LimitExceeded(
                f"more than {LOOKED_THROUGH} entities would have to be looked through;"
                " expected a narrower question"
            )
        tree = self.index.tree
        entities = {tree.entity(id): id for id in ids}
        documents = self.reading.documents(self._realm, list(entities))
        return {
            id: {
                name: aspect.value for name, aspect in stored_aspects(documents.get(entity)).items()
            }
            for entity, id in entities.items()
        }

    def _places(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Our ids of these, without entities that we do not know."""
        places = self._places_or_none(numbers)
        return places[places >= 0]

    def _places_or_none(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        """Our id for each of these, -1 if we do not know it."""
        if len(numbers) <= FEW:
            return self._lookup(numbers)
        places = _ids_at(self._all_places(), numbers)
        late = np.flatnonzero(places < 0)
        if len(late) > FEW and len(late) > self._count_foreign(numbers[late]):
            return _ids_at(self._all_places(anew=True), numbers)
        if 0 < len(late) <= FEW:
            places[late] = self._lookup(numbers[late])
        return places

    def _count_foreign(self, numbers: NDArray[np.int64]) -> int:
        """How many of these existed, and were unknown to us, when everything was read."""
        known, _ = self._all_places()
        return int((numbers <= (known[-1] if len(known) else -1)).sum())

    def _lookup(self, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
        tree = self.index.tree
        id_by_number: dict[int, int] = {}
        for number, entity in self.reading.stored(self._realm, numbers.tolist()):
            id = tree.find(entity)
            id_by_number[number] = -1 if id is None else id
        return np.fromiter((id_by_number.get(n, -1) for n in numbers.tolist()), np.int64)

    def _all_places(self, *, anew: bool = False) -> _Places:
        """The ids of all stored entities, computed once per numbering."""
        tree = self.index.tree
        with _LOCK:
            known = _KNOWN.get(tree.lineage)
            if known is None or anew:
                known = _KNOWN[tree.lineage] = self._read_all()
            return known

    def _read_all(self) -> _Places:
        tree = self.index.tree
        numbers, entities = _columns_of(self.reading.stored(self._realm))
        ours = np.fromiter((-1 if id is None else id for id in map(tree.find, entities)), np.int64)
        order = np.argsort(numbers)
        return numbers[order], ours[order]


def _ids_at(places: _Places, numbers: NDArray[np.int64]) -> NDArray[np.int64]:
    """Our id for each of these, -1 if it is not among the places."""
    known, ours = places
    if not len(known):
        return np.full(len(numbers), -1, dtype=np.int64)
    at = np.minimum(np.searchsorted(known, numbers), len(known) - 1)
    return np.where(known[at] == numbers, ours[at], -1)


def _columns_of(rows: Iterable[tuple[int, Any]]) -> tuple[NDArray[np.int64], list[Any]]:
    pairs = list(rows)
    return np.fromiter((row[0] for row in pairs), np.int64), [row[1] for row in pairs]
