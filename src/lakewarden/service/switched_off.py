"""Entities that are switched off, such as a catalog that is not in use: closed to engines.

A system defines the attributes (`System.switches`). The kernel ignores them, and a system's own API
decides itself what still works on an entity that is switched off.
"""

from __future__ import annotations

from pyroaring import BitMap

from lakewarden.kernel.entity import Entity
from lakewarden.service.state import RealmState

_ON = "true"


def is_off(realm: RealmState, entity: Entity) -> bool:
    """Whether the entity itself is switched off: by any value other than `true`, ignoring case."""
    attribute = realm.system.switches.get(entity.type)
    if attribute is None:
        return False
    coded = realm.matrix.snapshot.coded
    id = coded.tree.find(entity)
    values = () if id is None else coded.attributes.get(id, {}).get(attribute, ())
    return any(value.lower() != _ON for value in values)


def lies_in_off(realm: RealmState, entity: Entity) -> bool:
    """Whether the entity, stored or not, or one of its containers by name is switched off.

    COST: 2 µs in a system with switches, else nothing.
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
    """The ids of all entities that are switched off, and of those inside them."""
    snapshot = realm.matrix.snapshot
    tree, found = snapshot.coded.tree, BitMap()
    for type in realm.system.switches:
        for id in snapshot.of_type(type):
            if is_off(realm, tree.entity(id)):
                found |= tree.subtree(id)
    return found
