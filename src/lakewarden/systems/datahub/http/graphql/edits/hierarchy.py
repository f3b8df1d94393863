"""Domains and the glossary: hierarchies of entities, created, moved and deleted.

SOURCE: CreateDomainResolver, MoveDomainResolver, DeleteDomainResolver, DomainUtils; GlossaryUtils,
CreateGlossaryTermResolver, UpdateParentNodeResolver, DeleteGlossaryEntityResolver,
AddRelatedTermsResolver.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.edits import owners, page_edit, shapes, targets
from lakewarden.systems.datahub.http.graphql.errors import Failure, bad
from lakewarden.systems.datahub.http.graphql.records import Input, Member, new_record
from lakewarden.systems.datahub.http.graphql.resolving import Resolvers
from lakewarden.systems.datahub.use_cases.aspects import Value
from lakewarden.systems.datahub.use_cases.page_edits import Edit


class Level(NamedTuple):
    """A type of entities in a hierarchy: its aspect, and the parent of its entities.

    `parent`: the argument, and the member of the aspect, that refer to the parent. `text`: the
    member with the definition of the entity.
    """

    aspect: str
    parent: str
    parent_type: str
    text: Member


_DOMAIN: Final = "domain"
_TERM: Final = "glossaryTerm"
_GROUP: Final = "glossaryNode"
_DEFINITION: Final = Member("definition", of="description", default="")
_RELATED: Final = "glossaryRelatedTerms"
_CHANGE: Final = "glossary.change"
_LISTS: Final = {"isA": "isRelatedTerms", "hasA": "hasRelatedTerms"}

LEVELS: Final[Mapping[str, Level]] = {
    _DOMAIN: Level("domainProperties", "parentDomain", _DOMAIN, Member("description")),
    _GROUP: Level("glossaryNodeInfo", "parentNode", _GROUP, _DEFINITION),
    _TERM: Level("glossaryTermInfo", "parentNode", _GROUP, _DEFINITION),
}
"""By type. Entities of one type with the same parent have different names."""


def parent_of(edit: Edit, entity: Entity) -> Entity | None:
    """The parent of an entity."""
    tree = edit.state.matrix.snapshot.coded.tree
    at = tree.find(entity)
    parent = -1 if at is None else int(tree.parents[at])
    return None if parent < 0 else tree.entity(parent)


def _children(edit: Edit, parent: Entity | None, type: str) -> list[Entity]:
    """The children of an entity; with None, the entities of the type without a parent."""
    snapshot = edit.state.matrix.snapshot
    tree = snapshot.coded.tree
    if parent is None:
        ids = [id for id in snapshot.of_type(type) if int(tree.parents[id]) < 0]
    else:
        at = tree.find(parent)
        inside = () if at is None else tree.subtree(at)
        ids = [id for id in inside if id != at and int(tree.parents[id]) == at]
    return [child for child in map(tree.entity, ids) if snapshot.coded.is_known(child)]


def check_name(edit: Edit, entity: Entity, parent: Entity | None, name: str) -> None:
    """Raises `Failure` 409 if a sibling has the same type and name."""
    siblings = (
        child for child in _children(edit, parent, entity.type) if child.type == entity.type
    )
    for sibling, sibling_name in edit.written(siblings, *shapes.NAMES[entity.type]):
        if sibling != entity and sibling_name == name:
            raise Failure(409, f"the name `{name}` is taken beside it")


def _check_outside(edit: Edit, entity: Entity, parent: Entity, argument: str) -> None:
    """Raises `Failure` 400 for a parent within the entity itself."""
    tree = edit.state.matrix.snapshot.coded.tree
    at, into = tree.find(entity), tree.find(parent)
    if entity == parent or (at is not None and into is not None and into in tree.subtree(at)):
        raise bad(f"`{argument}`: `{parent.name}` lies within `{entity.name}`")


def _creation(type: str, operation: str, about: str = "") -> page_edit.PageEdit:
    level = LEVELS[type]
    record = (Member("name"), level.text, Member(level.parent, read=lambda parent: parent.name))

    def create(edit: Edit, entity: Entity, input: Input) -> None:
        owned = input.get("owners") or ()
        owners.check(edit, owned)
        check_name(edit, entity, input.get(level.parent), input["name"])
        value = {**shapes.editable_value(edit, entity, level.aspect), **new_record(record, input)}
        if type == _DOMAIN:
            value["created"] = edit.stamp
        edit.put(entity, level.aspect, value)
        if owned:
            owners.replace(edit, entity, owned)

    return page_edit.creation(
        type,
        operation,
        create,
        about=about,
        reads={level.parent: page_edit.reference(level.parent_type), "owners": _owners},
        check=page_edit.exists(level.parent),
    )


def _owners(_: Call, argument: str, input: Input) -> list[Value]:
    return owners.owners_of(input[argument])


def _move(edit: Edit, entity: Entity, input: Input) -> None:
    level = LEVELS[entity.type]
    parent, value = input.get(level.parent), shapes.editable_value(edit, entity, level.aspect)
    value.pop(level.parent, None)
    if parent is not None:
        _check_outside(edit, entity, parent, level.parent)
        value[level.parent] = parent.name
    if entity.type == _DOMAIN:
        check_name(edit, entity, parent, value["name"])
    edit.put(entity, level.aspect, value)


def _move_edit(required: str | page_edit.RequireRights, *types: str) -> page_edit.PageEdit:
    level = LEVELS[types[0]]
    reads = {level.parent: page_edit.reference(level.parent_type)}
    return page_edit.change(
        page_edit.by_urn(*types, of="resourceUrn"),
        required,
        _move,
        reads=reads,
        check=page_edit.exists(level.parent),
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


def _terms(_: Call, argument: str, input: Input) -> list[Entity]:
    return targets.parse_entities(argument, input[argument], _TERM)


def _relation_edit(*, adds: bool) -> page_edit.PageEdit:
    def relate(edit: Edit, term: Entity, input: Input) -> None:
        value, key = edit.value(term, _RELATED), _LISTS[input["relationshipType"]]
        before, urns = shapes.members(value, key), [termUrn.name for termUrn in input["termUrns"]]
        if adds:
            value[key] = list(dict.fromkeys([*before, *urns]))
        else:
            value[key] = [urn for urn in before if urn not in urns]
        edit.put(term, _RELATED, value)

    check = page_edit.exists("termUrns") if adds else None
    reads = {"termUrns": _terms}
    return page_edit.change(page_edit.by_urn(_TERM), _CHANGE, relate, reads=reads, check=check)


RESOLVERS: Final[Resolvers] = {
    "Mutation": {
        "createDomain": _creation(_DOMAIN, "domain.create"),
        "moveDomain": _move_edit("domain.move", _DOMAIN),
        "deleteDomain": page_edit.deletion(
            page_edit.by_urn(_DOMAIN), "domain.delete", _check_empty
        ),
        "createGlossaryTerm": _creation(_TERM, "glossary.create", "parentNode"),
        "createGlossaryNode": _creation(_GROUP, "glossary.create", "parentNode"),
        "updateParentNode": _move_edit(_ask_move, _TERM, _GROUP),
        "deleteGlossaryEntity": page_edit.deletion(page_edit.by_urn(_TERM, _GROUP), _CHANGE),
        "addRelatedTerms": _relation_edit(adds=True),
        "removeRelatedTerms": _relation_edit(adds=False),
    }
}
