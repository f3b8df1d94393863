"""What is switched off, such as a catalog that is not in use: no engine is answered about it.

A system says by which attributes (`System.switches`). The kernel decides as if there were none, and
a system's own API says itself what of a thing that is switched off still works.
"""

from __future__ import annotations

from pyroaring import BitMap

from lakewarden.kernel.entity import Entity
from lakewarden.service.state import RealmState

_ON = "true"


def is_off(realm: RealmState, entity: Entity) -> bool:
    """Whether the entity itself is switched off: by any other value than `true`, in any case."""
    attribute = realm.system.switches.get(entity.type)
    if attribute is None:
        return False
    coded = realm.matrix.snapshot.coded
    id = coded.tree.find(entity)
    values = () if id is None else coded.attributes.get(id, {}).get(attribute, ())
    return any(value.lower() != _ON for value in values)


def lies_in_off(realm: RealmState, entity: Entity) -> bool:
    """Whether the entity, stored or not, or anything that its name lies in is switched off.

    COST: 2 µs in a system that has switches, else nothing.
    """
    if not realm.system.switches:
        return False
    at: Entity | None = entity if entity.type else None
    while at is not None:
        if is_off(realm, at):
            return True
        at = realm.system.spelling.parent(at)
    return False


def off_ids(realm: RealmState) -> BitMap:
    """The ids of all that is switched off, with what lies in it."""
    snapshot = realm.matrix.snapshot
    tree, found = snapshot.coded.tree, BitMap()
    for type in realm.system.switches:
        for id in snapshot.of_type(type):
            if is_off(realm, tree.entity(id)):
                found |= tree.subtree(id)
    return found
