"""Entities as integers: preorder, subtrees, and displacements by a change."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from pyroaring import BitMap

from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.numbering import Numbering, Placed
from lakewarden.kernel.relations import EntityColumns, EntityRow
from lakewarden.kernel.tree import Layered, Tree

A, B, C, D = (Entity("folder", name) for name in "abcd")
LEAF = Entity("file", "b1")


def build(rows: Iterable[Placed], mentioned: Iterable[Placed]) -> Tree:
    numbering = Numbering(EntityColumns.of([EntityRow(*row) for row in rows]))
    for entity, parent in mentioned:
        numbering.mention(entity, parent)
    return numbering.tree()


def tree() -> Tree:
    return build([(B, A), (A, None), (LEAF, B), (C, A)], [(D, None)])


def ids(t: Tree, *entities: Entity) -> BitMap:
    found = [t.find(entity) for entity in entities]
    return BitMap([id for id in found if id is not None])


def id_of(t: Tree, entity: Entity) -> int:
    id = t.find(entity)
    assert id is not None
    return id


def test_ids_follow_preorder_with_siblings_by_name() -> None:
    t = tree()
    assert [t.entity(id) for id in range(len(t))] == [NO_RESOURCE, A, B, LEAF, C, D]
    assert t.find(NO_RESOURCE) == 0


def test_what_is_only_mentioned_has_an_id_and_is_not_stored() -> None:
    t = tree()
    assert t.find(D) is not None
    assert id_of(t, D) not in t.stored
    assert t.find(Entity("nowhere", "x")) is None


def test_a_parent_that_nobody_stored_counts_as_mentioned() -> None:
    t = build([(B, A)], [])
    assert t.find(A) is not None
    assert id_of(t, A) not in t.stored


def test_a_subtree_is_an_interval() -> None:
    t = tree()
    assert t.subtree(id_of(t, B)) == ids(t, B, LEAF)
    assert t.below(ids(t, B, C)) == ids(t, B, LEAF, C)
    assert t.below(BitMap()) == BitMap()


def test_ancestors_come_nearest_first() -> None:
    t = tree()
    assert [t.entity(id) for id in t.ancestors(id_of(t, LEAF))] == [B, A]


def test_an_entity_with_two_parents_is_refused() -> None:
    with pytest.raises(BadInput, match="two parents"):
        build([(B, A), (B, C)], [])


def test_who_lies_on_a_cycle_has_nothing_above_it() -> None:
    t = build([(A, C), (B, A), (C, B), (LEAF, C)], [])
    assert t.looped == ids(t, A, B, C)
    assert not list(t.ancestors(id_of(t, A)))
    assert [t.entity(id) for id in t.ancestors(id_of(t, LEAF))] == [C]
    assert t.subtree(id_of(t, C)) == ids(t, C, LEAF)
    assert t.cycle(id_of(t, B)) == ids(t, A, B, C)
    assert t.cycle(id_of(t, LEAF)) == ids(t, LEAF)


def test_a_cycle_that_is_cut_open_is_followed_again() -> None:
    t = build([(A, C), (B, A), (C, B), (LEAF, C)], [])
    later = t.moved(id_of(t, A), -1)
    assert not later.looped
    assert [later.entity(id) for id in later.ancestors(id_of(t, LEAF))] == [C, B, A]
    assert not t.without(ids(t, A, B, C)).looped


def test_what_has_more_than_64_levels_above_it_lies_too_deep() -> None:
    chain = [Entity("folder", f"{n:02}") for n in range(67)]
    t = build(list(zip(chain, [None, *chain], strict=False)), [])
    assert t.deep == ids(t, *chain[65:])
    moved = t.moved(id_of(t, chain[66]), id_of(t, chain[63]))
    again = moved.with_rechecked_depth(ids(t, chain[66]))
    assert again.deep == ids(t, chain[65])


def test_two_cycles_are_both_cut() -> None:
    t = build([(A, B), (B, A), (C, D), (D, C)], [])
    assert len({t.find(e) for e in (A, B, C, D)}) == 4


def test_an_entity_added_later_belongs_to_the_subtrees_above_it() -> None:
    t, id = tree().with_entity(Entity("file", "b2"), id_of(tree(), B), stored=True)
    assert id in t.subtree(id_of(t, A))
    assert id not in t.subtree(id_of(t, C))
    assert id in t.below(ids(t, B))


def test_a_new_type_gets_a_code() -> None:
    t, id = tree().with_entity(Entity("link", "x"), -1, stored=True)
    assert t.entity(id) == Entity("link", "x")
    assert t.of_type("link") == BitMap([id])
    assert t.of_type("nothing") == BitMap()


def test_a_mentioned_entity_keeps_its_id_when_it_is_stored() -> None:
    t = tree()
    later, id = t.with_entity(D, id_of(t, A), stored=True)
    assert id == t.find(D)
    assert id in later.stored
    assert id in later.subtree(id_of(later, A))
    again, same = later.with_entity(D, id_of(t, C), stored=False)
    assert same == id
    assert id in again.stored


def test_moving_takes_the_subtree_along() -> None:
    t = tree()
    later = t.moved(id_of(t, B), id_of(t, C))
    assert later.subtree(id_of(t, C)) == ids(later, B, LEAF, C)
    assert t.subtree(id_of(t, C)) == ids(t, C)


def test_renaming_keeps_the_id() -> None:
    t = tree()
    later = t.renamed(id_of(t, LEAF), "b0")
    assert later.find(Entity("file", "b0")) == t.find(LEAF)
    assert later.find(LEAF) is None
    assert t.find(LEAF) is not None


def test_what_is_dropped_loses_its_name_and_its_id_is_not_used_again() -> None:
    t = tree()
    later = t.without(ids(t, LEAF))
    assert later.find(LEAF) is None
    again, id = later.with_entity(LEAF, id_of(t, B), stored=True)
    assert id != t.find(LEAF)
    assert again.find(LEAF) == id


def test_something_no_longer_stored_may_keep_its_name() -> None:
    t = tree()
    later = t.unstored(id_of(t, LEAF))
    assert later.find(LEAF) == t.find(LEAF)
    assert id_of(later, LEAF) not in later.stored


def test_the_canonical_order_does_not_depend_on_when_something_came() -> None:
    t = tree()
    later, _ = t.with_entity(Entity("file", "b0"), id_of(t, B), stored=True)
    order = [later.entity(id).name for id in later.ordered(later.stored)]
    assert order == ["a", "b", "b0", "b1", "c"]
    assert [t.entity(id).name for id in t.ordered(t.stored)] == ["a", "b", "b1", "c"]


def test_names_laid_on_top_of_a_shared_table() -> None:
    layered = Layered({"a": 1, "b": 2}, {})
    changed = layered.changed("a", None).changed("c", 3)
    assert (changed.get("a"), changed.get("b"), changed.get("c")) == (None, 2, 3)
    assert layered.get("a") == 1


def test_what_is_moved_and_then_moved_or_renamed_lies_where_it_was_put_last() -> None:
    t = tree()
    moved = t.moved(id_of(t, B), id_of(t, C))
    again = moved.moved(id_of(t, B), id_of(t, D))
    assert again.subtree(id_of(t, A)) == ids(t, A, C)
    assert again.subtree(id_of(t, D)) == ids(t, B, D, LEAF)
    renamed = moved.renamed(id_of(t, C), "z")
    assert renamed.subtree(id_of(t, A)) == ids(t, A, B, C, LEAF)
    assert renamed.subtree(id_of(t, C)) == ids(t, B, C, LEAF)
    stored, _ = moved.with_entity(B, id_of(t, A), stored=True)
    assert stored.subtree(id_of(t, C)) == ids(t, C)


def test_entities_that_all_came_later_are_in_canonical_order_too() -> None:
    t = tree()
    for name in ("b3", "b2"):
        t, _ = t.with_entity(Entity("file", name), id_of(t, B), stored=True)
    late = ids(t, Entity("file", "b3"), Entity("file", "b2"))
    assert late == t.displaced
    assert [t.entity(id).name for id in t.ordered(late)] == ["b2", "b3"]


def test_only_what_lies_on_a_cycle_or_below_one_is_out_of_place() -> None:
    t = build([(A, C), (C, A), (LEAF, C), (B, None), (Entity("file", "b2"), B)], [])
    assert t.displaced == ids(t, A, C, LEAF)
    assert not build([(A, None), (B, A)], []).displaced
