"""The values computed from a snapshot so far.

All of them can be computed again from the snapshot: losing them costs time and never changes an
answer. Those that grow with the number of requests are bounded.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from weakref import WeakValueDictionary

from pyroaring import BitMap

from lakewarden.kernel.cells import Cells, Content
from lakewarden.kernel.classes import Partition
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.grants import Grants
from lakewarden.kernel.named_place import NamedPlace
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.selectors import Ids
from lakewarden.kernel.sole_owners import SoleOwners
from lakewarden.kernel.statement import Effect, Statement
from lakewarden.kernel.subject import Subject

MEMO_BYTES = 256 * 1024 * 1024
"""Memory that cached rows may take before all of them are dropped."""

KEY_BYTES = 450
"""The approximate bytes of cells beside their bits: objects, entries, key without role sets."""

NAMED_LIMIT = 10_000
"""How many names that are not stored are cached."""

OBLIGATION_LIMIT = 100_000
"""How many sets of filters and masks are cached, one for each role set and entity class."""

ObligationsKey = tuple[Effect, frozenset[int], frozenset[int], int | None]
"""Filter or mask, allow side, deny side, and the entity class; None: in all classes."""

CellsKey = tuple[str, frozenset[int], frozenset[int], frozenset[str] | None]
"""Privilege, allow side, deny side, and the privileges whose classes the cells are over.

The sides are empty for all subjects whom no statement on the privilege names.
"""


@dataclass(slots=True)
class Memos:
    """The memos of one snapshot; never part of its meaning.

    `bytes` is an upper bound of the size of `cells`, as if none were equal; `key_bytes` is the
    share of the role sets of their keys, an upper bound after some keys were dropped. `distinct`
    has the cells in use by their content: most role sets have equal cells. `derived` is what other
    packages computed from the snapshot, each under its own key.
    """

    cells: dict[CellsKey, Cells] = field(default_factory=dict)
    distinct: WeakValueDictionary[Content, Cells] = field(default_factory=WeakValueDictionary)
    partitions: dict[frozenset[str], Partition | None] = field(default_factory=dict)
    subjects: dict[Principal, Subject] = field(default_factory=dict)
    named: dict[Entity, NamedPlace] = field(default_factory=dict)
    paths: dict[tuple[str, ...], Ids] = field(default_factory=dict)
    types: dict[str, BitMap] = field(default_factory=dict)
    sole_owners: SoleOwners | None = None
    entities: dict[Principal, BitMap] | None = None
    anchored: dict[Entity, list[Statement]] | None = None
    obligations: dict[ObligationsKey, Grants] = field(default_factory=dict)
    namesakes: dict[int | Entity, tuple[Entity, ...]] = field(default_factory=dict)
    bytes: int = 0
    key_bytes: int = 0
    derived: dict[str, object] = field(default_factory=dict)

    def add_cells(self, key: CellsKey, cells: Cells, key_bytes: int = 0) -> Cells:
        """Caches cells, within the memory limit for cached rows.

        `key_bytes` is the size of the key, if nothing else keeps its role sets. Returns the cached
        cells: equal ones of another key, if there are any.
        """
        size = KEY_BYTES + cells.size + key_bytes
        if self.bytes + size > MEMO_BYTES:
            self._drop_cells()
        self.bytes += size
        self.key_bytes += key_bytes
        shared = self.cells[key] = self._interned(cells)
        return shared

    def reuse_cells(self, old: Memos, kept: dict[CellsKey, Cells], *, one_partition: bool) -> None:
        """Caches the cells of the previous memos that are still valid.

        With `one_partition`, equal cells are looked up among the previous ones as well; otherwise
        these would keep obsolete classes alive.
        """
        self.cells = kept
        if one_partition:
            self.distinct = old.distinct
        self.key_bytes = old.key_bytes
        taken = sum(cells.size for cells in kept.values())
        self.bytes = self.key_bytes + KEY_BYTES * len(kept) + taken
        if self.bytes > MEMO_BYTES:
            self._drop_cells()

    def _interned(self, cells: Cells) -> Cells:
        content = cells.content
        return cells if content is None else self.distinct.setdefault(content, cells)

    def _drop_cells(self) -> None:
        self.cells.clear()
        self.bytes = self.key_bytes = 0

    def add_obligations(self, key: ObligationsKey, grants: Grants) -> Grants:
        """Caches filters or masks, dropping the others when there are too many. Returns them."""
        if len(self.obligations) >= OBLIGATION_LIMIT:
            self.obligations.clear()
        self.obligations[key] = grants
        return grants

    def add_namesakes(
        self, holder: int | Entity, entities: tuple[Entity, ...]
    ) -> tuple[Entity, ...]:
        """Caches the other entities that have rows and the same name, as `add_obligations`."""
        if len(self.namesakes) >= OBLIGATION_LIMIT:
            self.namesakes.clear()
        self.namesakes[holder] = entities
        return entities

    def add_subject(self, principal: Principal, subject: Subject, *, numbered: bool) -> None:
        """Caches a subject: every one that is `numbered`, others until there are too many."""
        if numbered or len(self.subjects) < NAMED_LIMIT:
            self.subjects[principal] = subject

    def add_named(self, place: NamedPlace) -> None:
        """Caches a name that is not stored, dropping the others when there are too many."""
        if len(self.named) >= NAMED_LIMIT:
            self.named.clear()
        self.named[place.entity] = place
