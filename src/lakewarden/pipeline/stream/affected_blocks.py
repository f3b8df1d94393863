"""The blocks that a change affects: their new guests, and whether their matches may differ.

The result for an entity depends on its ancestors, and on the targets of relations; its block
contains all of them. So a block whose own entities and guests have not changed keeps its result.
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from lakewarden.kernel.model import Model
from lakewarden.pipeline.index import guests
from lakewarden.pipeline.index.guests import Pairs
from lakewarden.pipeline.index.id_space import IdSpace
from lakewarden.pipeline.index.preorder import TOP
from lakewarden.pipeline.storage.location import Location
from lakewarden.pipeline.stream.id_shift import Shift
from lakewarden.pipeline.stream.nodes import Changed, Nodes
from lakewarden.pipeline.stream.row_changes import CurrentRows, Edge, Owner
from lakewarden.pipeline.stream.skeleton import Ints, Skeleton


def guests_now(
    nodes: Nodes,
    changed: Changed,
    shift: Shift,
    edges: CurrentRows[Edge],
    common: Ints,
    space: IdSpace,
) -> Pairs:
    """The new pairs of blocks and guests, as in `guests.guests_of`; `space` are the new ids."""
    bits = space.bits
    parents = _parents(nodes.skeleton, changed, shift)
    sources, targets = _relations_read(nodes, shift, edges)
    everyone = np.arange(shift.count, dtype=np.int64)
    inner = np.flatnonzero(parents >= 0)
    starts, led = np.concatenate([inner, sources]), np.concatenate([parents[inner], targets])
    crossing = Pairs(starts >> bits, led).outside(bits)
    reached = guests.Reached(everyone, parents, sources, targets)
    invited = guests.guests_of(common, crossing, reached, bits)
    return invited.every_pair(space.blocks, bits)


def _parents(skeleton: Skeleton, changed: Changed, shift: Shift) -> Ints:
    new_ids = shift.ids(np.arange(skeleton.count, dtype=np.int64))
    stays = new_ids >= 0
    parents = np.full(shift.count, TOP, np.int64)
    parents[new_ids[stays]] = shift.ids(skeleton.parents[stays])
    for node, parent in (*changed.moved.items(), *changed.fresh.items()):
        parents[shift.id(node)] = TOP if parent == TOP else shift.id(parent)
    return parents


def _relations_read(nodes: Nodes, shift: Shift, edges: CurrentRows[Edge]) -> tuple[Ints, Ints]:
    """The relations that fields and rules read, between new ids, ascending."""
    kinds = guests.relations_read(nodes.system.model)
    rows = nodes.skeleton.edges
    rest = edges.rest[rows.of_word(kinds)[edges.rest]]
    changed = [(s, t) for s, kind, t in edges.rows if kind in kinds and shift.id(s) >= 0]
    more = [(shift.id(source), shift.id(target)) for source, target in changed]
    sources = np.concatenate([shift.ids(rows.ids[rest]), np.array([s for s, _ in more], np.int64)])
    targets = np.concatenate([shift.ids(rows.to[rest]), np.array([t for _, t in more], np.int64)])
    order = np.lexsort((targets, sources))
    return sources[order], targets[order]


def described_subjects(nodes: Nodes, shift: Shift) -> set[int]:
    """The new ids of subjects with stored attributes that rules read."""
    model, rows = nodes.system.model, nodes.skeleton.attributes
    keys = guests.subject_attributes(model)
    if not keys:
        return set()
    places = np.flatnonzero(rows.of_word(keys)).tolist()
    pairs = {(int(rows.ids[at]), rows.texts[int(rows.codes[at])]) for at in places}
    pairs = {pair for pair in pairs if pair[0] not in nodes.emptied}
    for (node, attribute), values in nodes.attributes.items():
        pair = (node, attribute)
        (pairs.add if values and attribute in keys else pairs.discard)(pair)
    subject_nodes = {node for node, _ in pairs if _is_subject(nodes, node, model)}
    return {shift.id(node) for node in subject_nodes} - {TOP}


def _is_subject(nodes: Nodes, node: int, model: Model) -> bool:
    skeleton = nodes.skeleton
    type = nodes.names[node].type if node in nodes.names else skeleton.kinds[skeleton.types[node]]
    return type in model.types and model.types[type].principal is not None


def changed_ids(
    nodes: Nodes,
    changed: Changed,
    current: tuple[CurrentRows[Edge], CurrentRows[Owner]],
    shift: Shift,
) -> Ints:
    """The new ids of all nodes that changed in any way."""
    changed_nodes = {*changed.moved, *changed.fresh, *changed.restated, *nodes.emptied}
    changed_nodes.update(node for node, _ in nodes.attributes)
    edges, owners = current
    changed_nodes |= edges.nodes | owners.nodes
    ids = {shift.id(node) for node in changed_nodes} - {TOP}
    return np.array(sorted(ids), np.int64)


def affected_blocks(
    touched: Ints, pairs: Pairs, skeleton: Skeleton, removed: Iterable[int], shift: Shift, bits: int
) -> frozenset[int]:
    """The blocks that must be judged again.

    Those with a changed entity or guest, and those that lost a guest.
    """
    reached = pairs.blocks[np.isin(pairs.ids, touched)]
    block_numbers = {*(touched >> bits).tolist(), *reached.tolist()}
    before = skeleton.guests
    lost = before.blocks[np.isin(before.ids, np.array(sorted(removed), np.int64))]
    for block in np.unique(lost).tolist():
        stop = min((block + 1) << bits, skeleton.count)
        now = shift.ids(np.arange(block << bits, stop, dtype=np.int64))
        block_numbers.update((now[now >= 0] >> bits).tolist())
    return frozenset(block_numbers)


def rewritten(
    dirty: frozenset[int], pairs: Pairs, skeleton: Skeleton, owners: Ints, bits: int
) -> frozenset[int]:
    """If ids stay: the blocks with any changed row, and those in the same files.

    `owners` maps numbers of principals to their new numbers.
    """
    differing = pairs.differing(skeleton.guests)
    renumbered = skeleton.owners.ids[owners[skeleton.owners.to] != skeleton.owners.to]
    block_numbers = {*dirty, *differing.tolist(), *(renumbered >> bits).tolist()}
    block_numbers.update(pairs.blocks[np.isin(pairs.ids, renumbered)].tolist())
    for together in skeleton.files.values():
        if not together.isdisjoint(block_numbers):
            block_numbers |= together
    return frozenset(block_numbers)


def untouched(skeleton: Skeleton, rewritten: frozenset[int]) -> list[Location]:
    """The files without rewritten blocks."""
    return [file for file, blocks in skeleton.files.items() if blocks.isdisjoint(rewritten)]
