"""The domains, tags and terms of assets, by name, and which of them make an asset sensitive."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
from numpy.typing import NDArray

from lakewarden.kernel.errors import BadInput, LimitExceeded
from lakewarden.pipeline.index.block import EDGE, ENTITY
from lakewarden.pipeline.index.columns import ints
from lakewarden.pipeline.index.index import BLOCKS, Index
from lakewarden.pipeline.index.own_rows import own_where

DOMAINS: Final = ("domain", "product_domain")
TAGS: Final = ("tag",)
TERMS: Final = ("term",)
"""The relations to domains, tags and terms, in the models that have them."""

_MOST: Final = (1 << 63) - 1

Ids = NDArray[np.int32]
Pairs = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class _Edges:
    """Edges from entities to labels: `entities` ascend, `labels` are indexes into the names."""

    entities: Pairs
    labels: Pairs

    def of(self, ids: Ids, names: pa.Array) -> pa.ListArray:
        """The labels of each of some entities, in order."""
        first = np.searchsorted(self.entities, ids, side="left")
        sizes = np.searchsorted(self.entities, ids, side="right") - first
        offsets = np.concatenate([[0], np.cumsum(sizes)])
        places = np.arange(offsets[-1]) + np.repeat(first - offsets[:-1], sizes)
        values = names.take(pa.array(self.labels[places]))
        return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), values)


@dataclass(frozen=True, slots=True)
class Labels:
    """The labels of all entities of an index."""

    _names: pa.Array
    _domains: _Edges
    _tags: _Edges
    _terms: _Edges

    def domains(self, ids: Ids) -> pa.ListArray:
        """The names of the domains of each entity, in order."""
        return self._domains.of(ids, self._names)

    def tags(self, ids: Ids) -> pa.ListArray:
        """The names of the tags of each entity, in order."""
        return self._tags.of(ids, self._names)

    def terms(self, ids: Ids) -> pa.ListArray:
        """The names of the terms of each entity, in order."""
        return self._terms.of(ids, self._names)


def labels_of(index: Index) -> Labels:
    """The labels of an index; reads them only if its model has any."""
    edges = [_edges(index, kinds) for kinds in (DOMAINS, TAGS, TERMS)]
    targets = np.unique(np.concatenate([targets for _, targets in edges]))
    names = _names(index, targets)
    # Labels are numbered by name: this sorts the labels of an entity.
    order = sorted(range(len(names)), key=names.__getitem__)
    places = np.empty(len(names), dtype=np.int64)
    places[order] = np.arange(len(names))
    edges_by_kind = []
    for entities, of_edge in edges:
        labels = places[np.searchsorted(targets, of_edge)]
        if int(entities.max(initial=0)) >= _MOST // max(1, len(names)):
            raise LimitExceeded("too many entities and labels for a review")
        pairs = np.unique(entities.astype(np.int64) * max(1, len(names)) + labels)
        edges_by_kind.append(_Edges(*np.divmod(pairs, max(1, len(names)))))
    return Labels(pa.array([names[place] for place in order], pa.string()), *edges_by_kind)


def _edges(index: Index, kinds: Sequence[str]) -> tuple[Ids, Ids]:
    """Sources and targets of relations of these kinds, without a block's guests."""
    declared = [kind for kind in kinds if kind in index.system.model.relations]
    if not declared:
        return np.zeros(0, np.int32), np.zeros(0, np.int32)
    rows = _own(index, (ds.field("what") == EDGE) & ds.field("s").isin(declared), "id", "a")
    return ints(rows.column("id")), ints(rows.column("a"))


def _names(index: Index, ids: Ids) -> list[str]:
    """The types and names of some entities, in the order of their ids."""
    if not len(ids):
        return []
    is_one = ds.field("id").isin(pa.array(ids))
    rows = _own(index, (ds.field("what") == ENTITY) & is_one, "id", "s", "t").sort_by("id")
    cells = (rows.column(name).to_pylist() for name in ("s", "t"))
    return [":".join(pair) for pair in zip(*cells, strict=True)]


def _own(index: Index, chosen: ds.Expression, *columns: str) -> pa.Table:
    return own_where(index.folder / BLOCKS, int(index.manifest.facts["bits"]), chosen, columns)


WORDS: Final = (
    *("confidential", "gdpr", "hipaa", "pci", "personal", "phi", "pii", "private", "restricted"),
    *("secret", "sensitive"),
)
"""A label with one of these words is sensitive, unless other words are given."""

_WORD: Final = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[^\W\d_A-Z]+|\d+")


def words_of(label: str) -> frozenset[str]:
    """The words of a label, in lower case.

    >>> sorted(words_of("tag:urn:li:tag:CustomerPII_2"))
    ['2', 'customer', 'li', 'pii', 'tag', 'urn']
    """
    return frozenset(part.lower() for part in _WORD.findall(label))


class Sensitive:
    """Recognizes sensitive labels by their words, or by their whole names."""

    def __init__(self, terms: Iterable[str] | None = None) -> None:
        """`terms`: words or names of labels that replace `WORDS`; raises `BadInput` for ''."""
        self.terms = tuple(sorted({term.strip() for term in (WORDS if terms is None else terms)}))
        if "" in self.terms:
            raise BadInput("expected words, or names of tags or terms", where="--sensitive")

    @cached_property
    def _folded(self) -> frozenset[str]:
        return frozenset(term.lower() for term in self.terms)

    def __contains__(self, label: str) -> bool:
        """Whether the label, `type:name`, is sensitive."""
        _, _, name = label.partition(":")
        names = {label.lower(), name.lower(), name.lower().rpartition(":")[2]}
        return bool(self._folded & (names | words_of(name)))

    def of(self, *labels: pa.ListArray) -> pa.ListArray:
        """The sensitive ones among the labels of each asset, in order."""
        rows = zip(*(column.to_pylist() for column in labels), strict=True)
        known: dict[str, bool] = {}
        sensitive = []
        for lists in rows:
            every = [label for labels_of_one in lists for label in labels_of_one]
            for label in every:
                if label not in known:
                    known[label] = label in self
            sensitive.append(sorted(label for label in every if known[label]))
        return pa.array(sensitive, pa.list_(pa.string()))
