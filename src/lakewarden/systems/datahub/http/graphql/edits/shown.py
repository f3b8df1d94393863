"""What a mutation answers with where it answers with an entity."""

from __future__ import annotations

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql import authorization
from lakewarden.systems.datahub.http.graphql.call import Call


def shown(call: Call, entity: Entity) -> Entity | None:
    """The entity, if the caller may be shown its page."""
    return entity if authorization.visible(call, [entity]) else None
