"""Domains and the glossary: entities that lie in one another, created, moved and deleted.

SOURCE: CreateDomainResolver, MoveDomainResolver, DeleteDomainResolver, DomainUtils; GlossaryUtils,
CreateGlossaryTermResolver, UpdateParentNodeResolver, DeleteGlossaryEntityResolver,
AddRelatedTermsResolver.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.edits import owners, page_edit, shapes, targets
from lakewarden.systems.datahub.http.graphql.edits.page_edit import (
    Ask,
    PageEdit,
    by_urn,
    change,
    creation,
    deletion,
    exists,
    reference,
)
from lakewarden.systems.datahub.http.graphql.edits.targets import Input
from lakewarden.systems.datahub.http.graphql.errors import Failure, bad
from lakewarden.systems.datahub.http.graphql.resolving import Resolvers
from lakewarden.systems.datahub.use_cases.aspects import Value
from lakewarden.systems.datahub.use_cases.page_edits import Edit


class Level(NamedTuple):
    """A type of entities in a hierarchy: its aspect, and what an entity of it lies in.

    `parent`: the argument, and the member of the aspect, that refer to the entity above.
    """

    aspect: str
    parent: str
    parent_type: str


_DOMAIN: Final = "domain"
_TERM: Final = "glossaryTerm"
_GROUP: Final = "glossaryNode"
_RELATED: Final = "glossaryRelatedTerms"
_LISTS: Final = {"isA": "isRelatedTerms", "hasA": "hasRelatedTerms"}

LEVELS: Final[Mapping[str, Level]] = {
    _DOMAIN: Level("domainProperties", "parentDomain", _DOMAIN),
    _GROUP: Level("glossaryNodeInfo", "parentNode", _GROUP),
    _TERM: Level("glossaryTermInfo", "parentNode", _GROUP),
}
"""By type. Entities of one type that lie in the same one have different names."""


def parent_of(edit: Edit, entity: Entity) -> Entity | None:
    """The entity that this one lies in."""
    tree = edit.state.matrix.snapshot.coded.tree
    at = tree.find(entity)
    parent = -1 if at is None else int(tree.parents[at])
    return None if parent < 0 else tree.entity(parent)


def _children(edit: Edit, parent: Entity | None, type: str) -> list[Entity]:
    """The entities directly in another one; with None, those of the type that lie in nothing."""
    snapshot = edit.state.matrix.snapshot
    tree = snapshot.coded.tree
    if parent is None:
        ids = [id for id in snapshot.of_type(type) if int(tree.parents[id]) < 0]
    else:
        at = tree.find(parent)
        inside = () if at is None else tree.subtree(at)
        ids = [id for id in inside if id != at and int(tree.parents[id]) == at]
    return [one for one in map(tree.entity, ids) if snapshot.coded.is_known(one)]


def check_name(edit: Edit, entity: Entity, parent: Entity | None, name: str) -> None:
    """Raises `Failure` 409 where one of the same type and name lies there already."""
    siblings = (one for one in _children(edit, parent, entity.type) if one.type == entity.type)
    for sibling, taken in edit.written(siblings, *shapes.NAMES[entity.type]):
        if sibling != entity and taken == name:
            raise Failure(409, f"the name `{name}` is taken beside it")


def _check_outside(edit: Edit, entity: Entity, parent: Entity, argument: str) -> None:
    """Raises `Failure` 400 for a place within the entity itself."""
    tree = edit.state.matrix.snapshot.coded.tree
    at, into = tree.find(entity), tree.find(parent)
    if entity == parent or (at is not None and into is not None and into in tree.subtree(at)):
        raise bad(f"`{argument}`: `{parent.name}` lies within `{entity.name}`")


def _creation(
    type: str, operation: str, text: Callable[[Input], Value], about: str = ""
) -> PageEdit:
    level = LEVELS[type]

    def create(edit: Edit, entity: Entity, input: Input) -> None:
        parent, owned = input.get(level.parent), input.get("owners") or ()
        owners.check(edit, owned)
        value = {**shapes.begun(edit, entity, level.aspect), "name": input["name"], **text(input)}
        if parent is not None:
            value[level.parent] = parent.name
        check_name(edit, entity, parent, input["name"])
        if type == _DOMAIN:
            value["created"] = edit.stamp
        edit.put(entity, level.aspect, value)
        if owned:
            owners.replace(edit, entity, owned)

    reads = {level.parent: reference(level.parent_type), "owners": _owners}
    return creation(type, operation, create, about=about, reads=reads, check=exists(level.parent))


def _owners(_: Call, argument: str, input: Input) -> list[Value]:
    return owners.owners_of(input[argument])


def _move(edit: Edit, entity: Entity, input: Input) -> None:
    level = LEVELS[entity.type]
    parent, value = input.get(level.parent), shapes.begun(edit, entity, level.aspect)
    value.pop(level.parent, None)
    if parent is not None:
        _check_outside(edit, entity, parent, level.parent)
        value[level.parent] = parent.name
    if entity.type == _DOMAIN:
        check_name(edit, entity, parent, value["name"])
    edit.put(entity, level.aspect, value)


def _moving(asks: str | Ask, *types: str) -> PageEdit:
    level = LEVELS[types[0]]
    reads = {level.parent: reference(level.parent_type)}
    return change(
        by_urn(*types, of="resourceUrn"), asks, _move, reads=reads, check=exists(level.parent)
    )


def _ask_move(edit: Edit, entity: Entity, input: Input) -> None:
    group = input.get("parentNode")
    if group is None:
        edit.ask("glossary.move_to_root", entity)
    else:
        edit.ask("glossary.move", entity, targets={"group": group})


def _check_empty(edit: Edit, domain: Entity, _: Input) -> None:
    if _children(edit, domain, _DOMAIN):
        raise bad(f"`{domain.name}` cannot be deleted while there are domains below it")


def _definition(input: Input) -> Value:
    return {"definition": input.get("description") or ""}


def _terms(_: Call, argument: str, input: Input) -> list[Entity]:
    return targets.all_parsed(argument, input[argument], _TERM)


def _relate(edit: Edit, term: Entity, input: Input) -> None:
    value, key = edit.value(term, _RELATED), _LISTS[input["relationshipType"]]
    names = [one.name for one in input["termUrns"]]
    edit.put(
        term, _RELATED, {**value, key: list(dict.fromkeys([*shapes.members(value, key), *names]))}
    )


def _unrelate(edit: Edit, term: Entity, input: Input) -> None:
    value, key = edit.value(term, _RELATED), _LISTS[input["relationshipType"]]
    names = {one.name for one in input["termUrns"]}
    others = [name for name in shapes.members(value, key) if name not in names]
    edit.put(term, _RELATED, {**value, key: others})


_CHANGE: Final = "glossary.change"

RESOLVERS: Final[Resolvers] = page_edit.resolvers(
    {
        "createDomain": _creation(_DOMAIN, "domain.create", shapes.description),
        "moveDomain": _moving("domain.move", _DOMAIN),
        "deleteDomain": deletion(by_urn(_DOMAIN), "domain.delete", _check_empty),
        "createGlossaryTerm": _creation(_TERM, "glossary.create", _definition, "parentNode"),
        "createGlossaryNode": _creation(_GROUP, "glossary.create", _definition, "parentNode"),
        "updateParentNode": _moving(_ask_move, _TERM, _GROUP),
        "deleteGlossaryEntity": deletion(by_urn(_TERM, _GROUP), _CHANGE),
        "addRelatedTerms": change(
            by_urn(_TERM), _CHANGE, _relate, reads={"termUrns": _terms}, check=exists("termUrns")
        ),
        "removeRelatedTerms": change(by_urn(_TERM), _CHANGE, _unrelate, reads={"termUrns": _terms}),
    }
)
