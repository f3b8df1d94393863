"""Owners: added, replaced and removed.

An ownership type is a URN; the older enum values stand for the types that every DataHub has.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.aspects.fields import without_avro_type
from lakewarden.systems.datahub.aspects.rendering import SYSTEM_TYPES
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.edits import page_edit, shapes, targets
from lakewarden.systems.datahub.http.graphql.errors import bad
from lakewarden.systems.datahub.http.graphql.records import Input
from lakewarden.systems.datahub.http.graphql.resolving import Resolvers
from lakewarden.systems.datahub.use_cases.aspects import Value
from lakewarden.systems.datahub.use_cases.page_edits import Edit

_ACTORS: Final = {"CORP_USER": "corpuser", "CORP_GROUP": "corpGroup"}
_URNS: Final[Mapping[str, str]] = {type: urn for urn, type in SYSTEM_TYPES.items()}
_TYPE: Final = "ownershipType"
_NONE: Final = "NONE"
_EDIT: Final = "owners.edit"


def owners_of(inputs: Iterable[Input], otherwise: str | None = None) -> list[Value]:
    """Owners as members of the aspect; `otherwise`: the type of owners without one."""
    owners: list[Value] = []
    for input in inputs:
        owner_type = input.get("ownerEntityType")
        types = _ACTORS.values() if owner_type is None else (_ACTORS[owner_type],)
        argument = "owner" if "owner" in input else "ownerUrn"
        owner = targets.parse_entity(argument, input[argument], *types)
        type = _with_type(input.get("type"), input.get("ownershipTypeUrn"), otherwise)
        owners.append({"owner": owner.name, **type, "source": {"type": "MANUAL"}})
    return owners


def _with_type(type: str | None, urn: str | None, otherwise: str | None) -> Value:
    if urn is None and type is None:
        urn = otherwise
    if urn is not None:
        ownership_type = targets.parse_entity("ownershipTypeUrn", urn, _TYPE)
        return {
            "type": SYSTEM_TYPES.get(ownership_type.name, "CUSTOM"),
            "typeUrn": ownership_type.name,
        }
    type = type or _NONE
    if type == "CUSTOM":
        raise bad("`type`: an ownership type of one's own is given by `ownershipTypeUrn`")
    return {"type": type, **({"typeUrn": _URNS[type]} if type in _URNS else {})}


def check(edit: Edit, owners: Iterable[Value]) -> None:
    """Raises `Failure` 400 for an owner or an ownership type that does not exist."""
    for owner in owners:
        targets.check_references(edit, "ownerUrn", targets.parse_entity("ownerUrn", owner["owner"]))
        check_type(edit, owner.get("typeUrn"))


def check_type(edit: Edit, urn: str | None) -> None:
    """As `check`, for one ownership type."""
    if urn is not None and urn not in SYSTEM_TYPES:
        targets.check_references(edit, "ownershipTypeUrn", Entity(_TYPE, urn))


def add(edit: Edit, entity: Entity, owners: Sequence[Value]) -> None:
    """Adds owners; an existing owner of the same type stays as it is."""
    value = shapes.editable_value(edit, entity, "ownership")
    stored = shapes.members(value, "owners")
    for owner in owners:
        if not any(_is_owner(old, owner["owner"], _type_of(owner)) for old in stored):
            stored.append(owner)
    _put(edit, entity, value, stored)


def replace(edit: Edit, entity: Entity, owners: Sequence[Value]) -> None:
    """Replaces the owners; those that existed before stay unchanged."""
    value = shapes.editable_value(edit, entity, "ownership")
    staying = [
        old
        for old in shapes.members(value, "owners")
        if any(_is_owner(old, owner["owner"], _type_of(owner)) for owner in owners)
    ]
    _put(edit, entity, value, staying)
    add(edit, entity, owners)


def remove(edit: Edit, entity: Entity, owners: Iterable[Entity], type: str | None) -> None:
    """Removes ownerships: of the type, or of all types."""
    value = shapes.editable_value(edit, entity, "ownership")
    names = {owner.name for owner in owners}
    staying = [
        old
        for old in shapes.members(value, "owners")
        if not any(_is_owner(old, name, _type_of(old) if type is None else type) for name in names)
    ]
    _put(edit, entity, value, staying)


def _put(edit: Edit, entity: Entity, value: Value, owners: list[Any]) -> None:
    # Data derived from the list of owners would now be wrong.
    value.pop("ownerTypes", None)
    edit.put(entity, "ownership", {**value, "owners": owners, "lastModified": edit.stamp})


def _is_owner(owner: object, name: str, type: str) -> bool:
    if not isinstance(owner, dict) or without_avro_type(owner.get("owner")) != name:
        return False
    return _type_of(owner) == type


def _type_of(owner: Mapping[str, Any]) -> str:
    """The type's URN; the older enum value if there is no URN."""
    type = str(without_avro_type(owner.get("type", _NONE)))
    return str(without_avro_type(owner.get("typeUrn")) or _URNS.get(type, type))


def _input_owners(call: Call, argument: str, input: Input) -> list[Value]:
    """Owners in an input: those of its list `owners`, or the single one in the input itself."""
    inputs = (
        targets.check_count(call, argument, input[argument]) if argument == "owners" else [input]
    )
    return owners_of(inputs, input.get("ownershipTypeUrn"))


def _add_owners(argument: str) -> page_edit.PageEdit:
    return page_edit.change(
        targets.entities,
        _EDIT,
        lambda edit, entity, input: add(edit, entity, input[argument]),
        reads={argument: _input_owners},
        check=lambda edit, input: check(edit, input[argument]),
    )


def _remove_owners(argument: str) -> page_edit.PageEdit:
    def write(edit: Edit, entity: Entity, input: Input) -> None:
        remove(edit, entity, input[argument], input["input"].get("ownershipTypeUrn"))

    owners = page_edit.references(*_ACTORS.values())
    reads = {argument: owners, "ownershipTypeUrn": page_edit.reference(_TYPE)}
    return page_edit.change(targets.entities, _EDIT, write, reads=reads)


RESOLVERS: Final[Resolvers] = {
    "Mutation": {
        "addOwner": _add_owners("ownerUrn"),
        "addOwners": _add_owners("owners"),
        "batchAddOwners": _add_owners("owners"),
        "removeOwner": _remove_owners("ownerUrn"),
        "batchRemoveOwners": _remove_owners("ownerUrns"),
    }
}
