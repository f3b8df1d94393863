"""The guests of a block: ancestors of its entities, and the entities that these refer to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from lakewarden.kernel.entity import Entity, Spelling
from lakewarden.kernel.expression import REQUEST, Every, Node, Some, children
from lakewarden.kernel.facts import spelled_parent
from lakewarden.kernel.model import Model, Reach, Source
from lakewarden.kernel.scopes import Reaching
from lakewarden.kernel.snapshot import SUBJECT
from lakewarden.kernel.statement import On

Ints = NDArray[np.int64]

_BITS: Final = 32
_ID: Final = (1 << _BITS) - 1

EVERY: Final = (1 << 31) - 1
"""Stands for every block in a pair: no block with ids has this number."""


@dataclass(frozen=True, slots=True)
class Reached:
    """The steps from an entity to others, for all entities that may be guests of some block.

    `parents[i]` is the parent of `ids[i]`, or -1; ascending by id. The relation i leads from
    `sources[i]` to `targets[i]`; ascending by source.
    """

    ids: Ints
    parents: Ints
    sources: Ints
    targets: Ints

    def steps(self) -> tuple[Ints, Ints]:
        """Ids, and the id that each leads to in one step."""
        has_parent = self.parents >= 0
        return (
            np.concatenate([self.ids[has_parent], self.sources]),
            np.concatenate([self.parents[has_parent], self.targets]),
        )

    def beyond(self, pairs: Ints) -> Ints:
        """The ids that guests of some pairs lead to in one step, as pairs of the same blocks."""
        blocks, ids = pairs >> _BITS, pairs & _ID
        parents = self.parents[np.searchsorted(self.ids, ids)]
        above = pair(blocks[parents >= 0], parents[parents >= 0])
        starts = np.searchsorted(self.sources, ids)
        counts = np.searchsorted(self.sources, ids, side="right") - starts
        before = np.repeat(np.cumsum(counts) - counts, counts)
        places = np.repeat(starts, counts) + np.arange(int(counts.sum())) - before
        return np.concatenate([above, pair(np.repeat(blocks, counts), self.targets[places])])


def pair(blocks: Ints, ids: Ints) -> Ints:
    """A block and an id as one number."""
    return (blocks.astype(np.int64) << _BITS) | ids.astype(np.int64)


def parts(pairs: Ints) -> tuple[Ints, Ints]:
    """The blocks, and the ids."""
    return pairs >> _BITS, pairs & _ID


def closure(start: Ints, reached: Reached, bits: int) -> Ints:
    """All pairs of blocks and guests reachable from `start`, without a block's own ids."""
    known = np.zeros(0, dtype=np.int64)
    new = _outside(np.unique(start), bits)
    while len(new):
        known = np.union1d(known, new)
        new = np.setdiff1d(_outside(np.unique(reached.beyond(new)), bits), known)
    return known


@dataclass(frozen=True, slots=True)
class Guests:
    """The guests of all blocks.

    `common` are guests of every block that does not own them; `pairs` are blocks with their other
    guests. Both ascend.
    """

    common: Ints
    pairs: Ints

    def hosted(self) -> Ints:
        """Pairs of a block, or `EVERY`, and a guest."""
        return np.concatenate([self.pairs, _of_every_block(self.common)])

    def every_pair(self, blocks: int, bits: int) -> Ints:
        """All pairs of the first `blocks` blocks and their guests, ascending."""
        numbers = np.arange(blocks, dtype=np.int64)
        of_all = pair(np.repeat(numbers, len(self.common)), np.tile(self.common, blocks))
        return np.sort(np.concatenate([_outside(of_all, bits), self.pairs]))

    def count(self, blocks: int) -> int:
        """The number of pairs of a block and a guest in the first `blocks` blocks."""
        return len(self.common) * (blocks - 1) + len(self.pairs)


def guests_of(common: Ints, crossing: Ints, reached: Reached, bits: int) -> Guests:
    """The guests of all blocks, from the common ones and from pairs that lead out of blocks.

    The common ones are followed once, not per block: there are as many as statements.
    """
    start = np.concatenate([_of_every_block(common), crossing])
    blocks, ids = parts(closure(start, reached, bits))
    followed = ids[blocks == EVERY]
    is_other = ~np.isin(ids, followed)
    return Guests(followed, pair(blocks[is_other], ids[is_other]))


def _of_every_block(ids: Ints) -> Ints:
    return pair(np.full(len(ids), EVERY, dtype=np.int64), ids)


def _outside(pairs: Ints, bits: int) -> Ints:
    blocks, ids = parts(pairs)
    outside: Ints = pairs[ids >> bits != blocks]
    return outside


def anchors(scopes: Iterable[Reaching], spelling: Spelling) -> frozenset[Entity]:
    """The entities named by scopes that reach upwards, and all that their names place above them.

    Every block has to know the place of these. For an entity that is not stored, its name gives its
    ancestors, up to the first one that is stored; that one may lie elsewhere than its name says.
    """
    entities: set[Entity] = set()
    for reaching in scopes:
        at = reaching.scope.entity if isinstance(reaching.scope, On) else None
        while at is not None and at not in entities and reaching.reach is Reach.ABOVE:
            entities.add(at)
            at = spelled_parent(spelling, at)
    return frozenset(entities)


def relations_read(model: Model) -> frozenset[str]:
    """The relations that a field of the model or a rule of an operation reads."""
    kinds = {origin for field in model.fields.values() for origin in field.origin}
    for operation in model.operations.values():
        for rule in operation.rules.values():
            kinds.update(_sources(rule))
    return frozenset(kinds & set(model.relations))


def subject_attributes(model: Model) -> frozenset[str]:
    """The stored attributes of the subject that rules may read.

    Every block has to know the entities that have them, because anyone may ask about any block.
    """
    return frozenset(
        key
        for name, attribute in model.attributes.items()
        for prefix, _, key in [name.partition(".")]
        if prefix == SUBJECT and attribute.source is not Source.REQUEST
    )


def _sources(node: Node) -> Iterator[str]:
    if isinstance(node, (Every, Some)) and not node.source.startswith(REQUEST):
        yield node.source
    for inner in children(node):
        yield from _sources(inner)
