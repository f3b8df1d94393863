"""Who may change what is either one person's own or everybody's: views, templates, modules.

What is one's own is changed by whoever made it: the operation is asked about that user. What is
everybody's takes the right of its kind. What changes hands takes both.
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


def creating(scope: str, shared: str) -> list[Requirement]:
    """What making something asks; `shared` is the operation for what is everybody's."""
    return [Requirement("personal.create") if scope == PERSONAL else Requirement(shared)]


def changing(scope: object, created: object, shared: str) -> list[Requirement]:
    """What changing or deleting it asks, by the scope and the stamp that are stored.

    What is not stored, or does not say whose it is, takes the right to what is everybody's.
    """
    if scope != PERSONAL:
        return [Requirement(shared)]
    maker = shapes.entity(shapes.mapping(created).get("actor"), "corpuser")
    return [Requirement("personal.change", maker or _NOBODY)]


def is_own(value: Mapping[str, Any], actor: Entity) -> bool:
    """Whether the actor made it."""
    return shapes.mapping(value.get("created")).get("actor") == actor.name
