"""Rows and mentioned entities during the construction of a tree."""

from __future__ import annotations

import pytest
from pyroaring import BitMap

from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.numbering import Numbering
from lakewarden.kernel.relations import EntityColumns, EntityRow

A, B, C = (Entity("folder", name) for name in "abc")
LINK = Entity("link", "a")


def numbering(*rows: tuple[Entity, Entity | None]) -> Numbering:
    return Numbering(EntityColumns.of([EntityRow(*row) for row in rows]))


def test_without_rows_there_is_the_request_without_a_resource() -> None:
    tree = numbering().tree()
    assert [tree.entity(id) for id in range(len(tree))] == [NO_RESOURCE]
    assert not tree.stored


def test_a_row_that_comes_twice_counts_once() -> None:
    tree = numbering((B, A), (A, None), (B, A)).tree()
    assert [tree.entity(id) for id in tree.stored] == [A, B]


def test_two_parents_are_refused_wherever_the_rows_lie() -> None:
    with pytest.raises(BadInput, match="`folder:b` is given two parents"):
        numbering((B, A), (A, None), (B, None))


def test_of_one_name_the_types_come_in_their_order() -> None:
    tree = numbering((LINK, None), (A, None)).tree()
    assert [tree.entity(id) for id in tree.stored] == [A, LINK]


def test_a_parent_is_unknown_until_it_is_mentioned() -> None:
    known = numbering((C, B))
    assert list(known.unknown) == [B]
    assert B not in known
    known.mention(B, A)
    known.mention(B, None)
    assert list(known.unknown) == [A]
    tree = known.tree()
    assert [tree.entity(id) for id in range(len(tree))] == [NO_RESOURCE, A, B, C]
    assert [tree.entity(id) for id in tree.stored] == [C]


def test_a_cycle_among_many_entities_is_cut_where_its_first_name_is() -> None:
    """Uses many entities, because small integers are shared objects and large ones are not."""
    many = [(Entity("folder", f"z{n:03}"), None) for n in range(300)]
    tree = numbering(*many, (B, C), (C, A), (A, B)).tree()
    ids = {entity: tree.find(entity) for entity in (A, B, C)}
    assert tree.looped == BitMap([id for id in ids.values() if id is not None])
    assert [tree.entity(id) for id in tree.stored][:3] == [A, C, B]  # each below the previous one
