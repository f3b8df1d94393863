"""The parts of a realm that a caller may know of.

A caller who may list the entities knows everything that is stored. Other callers know what they
may see themselves, by the operation that the type declares for it; everything else is treated as
absent.
"""

from __future__ import annotations

import numpy as np
from pyroaring import BitMap

from lakewarden.kernel.listing import listing
from lakewarden.kernel.tree import Ints, Tree
from lakewarden.service import cancellation, control
from lakewarden.service.actor import Actor
from lakewarden.service.control import Denied
from lakewarden.service.state import RealmState, State

SEE = "see"
"""The access level that reveals an entity."""


def visible_ids(state: State, actor: Actor, realm: str, now: float) -> BitMap:
    """The ids of the stored entities that the caller may know of."""
    realm_state = state.realm(realm)
    if control.denied_in(state, actor, "entity.list", realm, now) is None:
        return realm_state.matrix.snapshot.coded.tree.stored
    if listing_denial(state, actor, realm, now) is not None:
        return BitMap()
    return rule_visible_ids(realm_state, actor, now)


def listing_denial(state: State, actor: Actor, realm: str, now: float) -> Denied | None:
    """Why the caller may know of nothing in the realm; None: there may be something."""
    if control.denied_in(state, actor, "entity.list", realm, now) is None:
        return None
    refused = control.denied_in(state, actor, "decision.ask_own", realm, now)
    if refused is None and not actor.is_valid_in(state.realm(realm).realm):
        return Denied("decision.ask_own", control.realm(realm))
    return refused


def rule_visible_ids(realm_state: RealmState, actor: Actor, now: float) -> BitMap:
    """The ids of the stored entities that the caller may see by the rules of the realm."""
    model = realm_state.system.model
    operations = {model.reaching(SEE, type) for type in model.types} - {None}
    ids = BitMap()
    for operation in sorted(name for name in operations if name is not None):
        cancellation.check()
        types = [type for type in model.types if model.reaching(SEE, type) == operation]
        request = actor.request(realm_state.realm, realm_state.system, operation, now=now)
        for type in types:
            ids |= listing(realm_state.matrix, request, type=type)
    return ids


def visible_parents(tree: Tree, ids: BitMap) -> Ints:
    """For each id of the tree, the nearest ancestor among `ids`; -1 if there is none.

    Shape: one number per id of the tree; numbers of ids that are not visible have no meaning.
    """
    above = tree.above
    is_visible = np.zeros(len(tree), dtype=bool)
    is_visible[ids.to_array()] = True
    parents = above.copy()
    while True:
        hidden = (parents >= 0) & ~is_visible[parents]
        if not hidden.any():
            return parents
        parents[hidden] = above[parents[hidden]]
