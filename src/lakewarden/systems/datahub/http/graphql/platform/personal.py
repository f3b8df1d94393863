"""Privileges to change entities with a scope, personal or global: views, templates, modules.

A personal entity is changed by its creator: the operation is checked for that user. A global one
requires the privilege of its kind. A change of the scope requires both.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql.authorization import Requirement
from lakewarden.systems.datahub.http.graphql.platform import shapes

GLOBAL: Final = "GLOBAL"
PERSONAL: Final = "PERSONAL"
SCOPES: Final = (PERSONAL, GLOBAL)

_NOBODY: Final = Entity("corpuser", "")


def creation_requirement(scope: str, shared: str) -> list[Requirement]:
    """The requirement of a creation; `shared` is the operation for global entities."""
    return [Requirement("personal.create") if scope == PERSONAL else Requirement(shared)]


def change_requirement(scope: object, created: object, shared: str) -> list[Requirement]:
    """The requirement of a change or deletion, by the stored scope and stamp.

    An entity that is not stored, or has no creator, requires the privilege for global ones.
    """
    if scope != PERSONAL:
        return [Requirement(shared)]
    maker = shapes.entity(shapes.mapping(created).get("actor"), "corpuser")
    return [Requirement("personal.change", maker or _NOBODY)]


def is_own(value: Mapping[str, Any], actor: Entity) -> bool:
    """Whether the actor created it."""
    return shapes.mapping(value.get("created")).get("actor") == actor.name
