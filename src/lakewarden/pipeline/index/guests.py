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
from lakewarden.pipeline.index.id_space import MOST_BLOCKS

Ints = NDArray[np.int64]

_BITS: Final = 32
_PLACE: Final = (1 << _BITS) - 1

EVERY: Final = MOST_BLOCKS
"""Stands for every block in a pair: no block with ids has this number."""

_NONE: Final[Ints] = np.zeros(0, dtype=np.int64)


@dataclass(frozen=True, slots=True)
class Pairs:
    """Pairs of a block and an id.

    Functions return them without duplicates, ascending by block and then by id. Sets of pairs are
    computed as sets of numbers: a block, and the place of the id among the ids that occur. A block
    and an id of 64 bits would not fit into one number.
    """

    blocks: Ints
    ids: Ints

    @staticmethod
    def of(blocks: Ints, ids: Ints) -> Pairs:
        """These pairs, in any order and any number of times."""
        distinct = np.unique(ids)
        return _unpacked(np.unique(pair(blocks, np.searchsorted(distinct, ids))), distinct)

    def __len__(self) -> int:
        return len(self.ids)

    def __getitem__(self, chosen: NDArray[np.bool_]) -> Pairs:
        return Pairs(self.blocks[chosen], self.ids[chosen])

    def outside(self, bits: int) -> Pairs:
        """Those whose id does not lie in the block."""
        return self[self.ids >> bits != self.blocks]

    def differing(self, other: Pairs) -> Ints:
        """The blocks of the pairs that only one of the two has."""
        distinct = np.union1d(self.ids, other.ids)
        ours, theirs = (
            pair(pairs.blocks, np.searchsorted(distinct, pairs.ids)) for pairs in (self, other)
        )
        return np.unique(np.setxor1d(ours, theirs) >> _BITS)


NO_PAIRS: Final = Pairs(_NONE, _NONE)


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
        """What guests of some pairs lead to in one step, as pairs of the same blocks.

        A pair is a block and a place in `ids`, as one number.
        """
        blocks, ids = pairs >> _BITS, self.ids[pairs & _PLACE]
        parents = self.parents[pairs & _PLACE]
        above = self.pair(blocks[parents >= 0], parents[parents >= 0])
        starts = np.searchsorted(self.sources, ids)
        counts = np.searchsorted(self.sources, ids, side="right") - starts
        before = np.repeat(np.cumsum(counts) - counts, counts)
        places = np.repeat(starts, counts) + np.arange(int(counts.sum())) - before
        return np.concatenate([above, self.pair(np.repeat(blocks, counts), self.targets[places])])

    def pair(self, blocks: Ints, ids: Ints) -> Ints:
        """Blocks and ids as numbers."""
        return pair(blocks, np.searchsorted(self.ids, ids))

    def outside(self, pairs: Ints, bits: int) -> Ints:
        """The pairs of which the id does not lie in the block, once each, ascending."""
        pairs = np.unique(pairs)
        outside: Ints = pairs[self.ids[pairs & _PLACE] >> bits != pairs >> _BITS]
        return outside


def pair(blocks: Ints, places: Ints) -> Ints:
    """A block, and a place in some array, as one number."""
    return (blocks.astype(np.int64) << _BITS) | places.astype(np.int64)


def _unpacked(pairs: Ints, ids: Ints) -> Pairs:
    return Pairs(pairs >> _BITS, ids[pairs & _PLACE])


def closure(start: Pairs, reached: Reached, bits: int) -> Pairs:
    """All pairs of blocks and guests reachable from `start`, without a block's own ids."""
    known = _NONE
    new = reached.outside(reached.pair(start.blocks, start.ids), bits)
    while len(new):
        known = np.union1d(known, new)
        new = np.setdiff1d(reached.outside(reached.beyond(new), bits), known)
    return _unpacked(known, reached.ids)


@dataclass(frozen=True, slots=True)
class Guests:
    """The guests of all blocks.

    `common` are guests of every block that does not own them; `pairs` are blocks with their other
    guests. Both ascend.
    """

    common: Ints
    pairs: Pairs

    def hosted(self) -> Pairs:
        """Pairs of a block, or `EVERY`, and a guest."""
        return _joined(self.pairs, _of_every_block(self.common))

    def every_pair(self, blocks: range, bits: int) -> Pairs:
        """All pairs of these blocks, which are all blocks, and their guests."""
        numbers = np.array(blocks, dtype=np.int64)
        of_all = Pairs(np.repeat(numbers, len(self.common)), np.tile(self.common, len(blocks)))
        every = _joined(of_all.outside(bits), self.pairs)
        return Pairs.of(every.blocks, every.ids)

    def count(self, blocks: range) -> int:
        """The number of pairs of a block and a guest in these blocks, which are all blocks."""
        return len(self.common) * (len(blocks) - 1) + len(self.pairs)


def guests_of(common: Ints, crossing: Pairs, reached: Reached, bits: int) -> Guests:
    """The guests of all blocks, from the common ones and from pairs that lead out of blocks.

    The common ones are followed once, not per block: there are as many as statements.
    """
    followed = closure(_joined(crossing, _of_every_block(common)), reached, bits)
    everywhere = followed.ids[followed.blocks == EVERY]
    return Guests(everywhere, followed[~np.isin(followed.ids, everywhere)])


def _of_every_block(ids: Ints) -> Pairs:
    return Pairs(np.full(len(ids), EVERY, dtype=np.int64), ids)


def _joined(first: Pairs, second: Pairs) -> Pairs:
    """The pairs of both, one after the other."""
    return Pairs(
        np.concatenate([first.blocks, second.blocks]), np.concatenate([first.ids, second.ids])
    )


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
