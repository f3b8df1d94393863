"""What lies beside an entity: domains below one domain, terms in one group.

SOURCE: DomainUtils (names of domains), CreateGlossaryTermResolver.
"""

from __future__ import annotations

from typing import Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql.edits.shapes import NAMES
from lakewarden.systems.datahub.http.graphql.errors import Failure, bad
from lakewarden.systems.datahub.use_cases.page_edits import Edit

DISTINCT: Final = ("domain", "glossaryNode", "glossaryTerm")
"""The types of entities that lie beside each other under different names."""


def above(edit: Edit, entity: Entity) -> Entity | None:
    """What the entity lies in."""
    tree = edit.state.matrix.snapshot.coded.tree
    at = tree.find(entity)
    parent = -1 if at is None else int(tree.parents[at])
    return None if parent < 0 else tree.entity(parent)


def below(edit: Edit, parent: Entity | None, type: str = "") -> list[Entity]:
    """What lies directly in an entity, or (of a type) in nothing at all."""
    snapshot = edit.state.matrix.snapshot
    tree = snapshot.coded.tree
    if parent is None:
        ids = [id for id in snapshot.of_type(type) if int(tree.parents[id]) < 0]
    else:
        at = tree.find(parent)
        inside = () if at is None else tree.subtree(at)
        ids = [id for id in inside if id != at and int(tree.parents[id]) == at]
    return [one for one in map(tree.entity, ids) if snapshot.coded.is_known(one)]


def check(edit: Edit, entity: Entity, parent: Entity | None, name: str) -> None:
    """Raises `Failure` 409 where one of the same type and name lies there already."""
    aspect, field = NAMES[entity.type]
    beside = (one for one in below(edit, parent, entity.type) if one.type == entity.type)
    for one, taken in edit.written(beside, aspect, field):
        if one != entity and taken == name:
            raise Failure(409, f"the name `{name}` is taken beside it")


def check_outside(edit: Edit, entity: Entity, parent: Entity, argument: str) -> None:
    """Raises `Failure` 400 for a place within the entity itself."""
    tree = edit.state.matrix.snapshot.coded.tree
    at, into = tree.find(entity), tree.find(parent)
    if entity == parent or (at is not None and into is not None and into in tree.subtree(at)):
        raise bad(f"`{argument}`: `{parent.name}` lies within `{entity.name}`")
