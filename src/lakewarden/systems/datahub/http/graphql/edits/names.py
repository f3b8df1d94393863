"""Names of entities: which types have one that can be changed is declared with `entity.rename`.

SOURCE: UpdateNameResolver.
"""

from __future__ import annotations

from typing import Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql import authorization
from lakewarden.systems.datahub.http.graphql.edits import shapes, siblings, targets
from lakewarden.systems.datahub.http.graphql.edits.targets import Input
from lakewarden.systems.datahub.http.graphql.errors import bad
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers
from lakewarden.systems.datahub.use_cases.page_edits import Edit


def put(edit: Edit, entity: Entity, name: str) -> None:
    """Gives an entity a name."""
    aspect, field = shapes.NAMES[entity.type]
    edit.put(entity, aspect, {**shapes.begun(edit, entity, aspect), field: name})


def _update(_: object, info: Info, input: Input) -> bool:
    entity = targets.parsed("urn", input["urn"])
    if entity.type not in shapes.NAMES:
        raise bad(f"`urn`: the name of a `{entity.type}` cannot be changed")
    name = targets.text("name", input["name"])

    def task(edit: Edit) -> bool:
        edit.ask("entity.rename", entity)
        targets.check_there(edit, entity)
        if entity.type in siblings.DISTINCT:
            siblings.check(edit, entity, siblings.above(edit, entity), name)
        put(edit, entity, name)
        return True

    return authorization.edit(info.context, task)


RESOLVERS: Final[Resolvers] = {"Mutation": {"updateName": _update}}
