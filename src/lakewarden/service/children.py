"""The direct children of an entity, with the size of each: a tree that opens step by step.

Counts and places include only what the caller may know of (`service.visible`): an entity with a
hidden container is shown under its nearest visible ancestor.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from pyroaring import BitMap

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import Unknown
from lakewarden.names.label import label
from lakewarden.service.actor import Actor
from lakewarden.service.control import Denied
from lakewarden.service.entities import parse_entity
from lakewarden.service.page_size import PAGE_ROWS, check_page_size
from lakewarden.service.state import State
from lakewarden.service.visible import listing_denial, visible_ids, visible_parents


@dataclass(frozen=True, slots=True)
class Child:
    """An entity in its container: the number of its children, and of all its descendants."""

    entity: Entity
    label: str
    children: int
    below: int


@dataclass(frozen=True, slots=True)
class Children:
    """A page of an entity's children; `skip` is where the next page begins, None at the end."""

    children: tuple[Child, ...]
    total: int
    skip: int | None


def children(  # noqa: PLR0913 — filters, position and caller
    state: State,
    actor: Actor,
    realm: str,
    now: float,
    *,
    of: str | None = None,
    type: str | None = None,
    text: str = "",
    skip: int = 0,
    size: int = PAGE_ROWS,
) -> Children | Denied:
    """A page of the children of `of`, or of the top level; ordered by place.

    `text` filters by a part of the label, ignoring case. Raises `Unknown` for an entity that does
    not exist or that the caller may not know of, `BadInput` for an invalid page.
    """
    check_page_size(size, where="page.limit")
    refused = listing_denial(state, actor, realm, now)
    if refused is not None:
        return refused
    realm_state = state.realm(realm)
    tree, system = realm_state.matrix.snapshot.coded.tree, realm_state.system
    ids = visible_ids(state, actor, realm, now)
    above = -1
    if of is not None:
        container = parse_entity(realm_state, of)
        id = tree.find(container)
        if id is None or id not in ids:
            raise Unknown("entity", of)
        above = id
    parents = visible_parents(tree, ids)
    rows = np.asarray(ids.to_array(), dtype=np.int64)
    direct = rows[parents[rows] == above]
    if type is not None:
        system.model.check_type(type)
        direct = direct[tree.types[direct] == tree.codes.get(type, -1)]
    child_ids = tree.ordered(BitMap(direct.astype(np.uint32)))
    if text:
        folded = text.casefold()
        child_ids = [
            id for id in child_ids if folded in label(tree.entity(id), system.spelling).casefold()
        ]
    on_page = child_ids[skip : skip + size]
    inner = np.bincount(parents[rows] + 1, minlength=len(tree) + 1)
    return Children(
        tuple(
            Child(
                tree.entity(id),
                label(tree.entity(id), system.spelling),
                int(inner[id + 1]),
                len(tree.subtree(id) & ids) - 1,
            )
            for id in on_page
        ),
        len(child_ids),
        skip + size if skip + size < len(child_ids) else None,
    )
