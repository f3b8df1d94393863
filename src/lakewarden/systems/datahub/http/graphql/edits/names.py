"""Names of entities: which types have one that can be changed is declared with `entity.rename`.

SOURCE: UpdateNameResolver.
"""

from __future__ import annotations

from typing import Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.edits import hierarchy, page_edit, shapes, targets
from lakewarden.systems.datahub.http.graphql.edits.targets import Input
from lakewarden.systems.datahub.http.graphql.errors import bad
from lakewarden.systems.datahub.http.graphql.resolving import Resolvers
from lakewarden.systems.datahub.use_cases.page_edits import Edit


def put(edit: Edit, entity: Entity, name: str) -> None:
    """Gives an entity a name."""
    aspect, member = shapes.NAMES[entity.type]
    edit.put(entity, aspect, {**shapes.begun(edit, entity, aspect), member: name})


def _entities(_: Call, input: Input) -> list[Entity]:
    entity = targets.parsed("urn", input["urn"])
    if entity.type not in shapes.NAMES:
        raise bad(f"`urn`: the name of a `{entity.type}` cannot be changed")
    return [entity]


def _update(edit: Edit, entity: Entity, input: Input) -> None:
    if entity.type in hierarchy.LEVELS:
        hierarchy.check_name(edit, entity, hierarchy.parent_of(edit, entity), input["name"])
    put(edit, entity, input["name"])


RESOLVERS: Final[Resolvers] = page_edit.resolvers(
    {
        "updateName": page_edit.change(
            _entities, "entity.rename", _update, reads={"name": page_edit.name}
        )
    }
)
