"""Owners: made, and their ownership ended.

An ownership type is a URN; the older words stand for the types that every DataHub has.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.aspects.fields import untagged
from lakewarden.systems.datahub.aspects.rendering import SYSTEM_TYPES
from lakewarden.systems.datahub.http.graphql import authorization
from lakewarden.systems.datahub.http.graphql.edits import shapes, targets
from lakewarden.systems.datahub.http.graphql.edits.targets import Input
from lakewarden.systems.datahub.http.graphql.errors import bad
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers
from lakewarden.systems.datahub.use_cases.aspects import Value
from lakewarden.systems.datahub.use_cases.page_edits import Edit

_ACTORS: Final = {"CORP_USER": "corpuser", "CORP_GROUP": "corpGroup"}
_URNS: Final[Mapping[str, str]] = {word: urn for urn, word in SYSTEM_TYPES.items()}
_TYPE: Final = "ownershipType"
_NONE: Final = "NONE"


def owners_of(inputs: Iterable[Input], otherwise: str | None = None) -> list[Value]:
    """Owners as the aspect keeps them; `otherwise`: the type of those that say none."""
    found: list[Value] = []
    for input in inputs:
        word = input.get("ownerEntityType")
        types = _ACTORS.values() if word is None else (_ACTORS[word],)
        argument = "owner" if "owner" in input else "ownerUrn"
        owner = targets.parsed(argument, input[argument], *types)
        type = _typed(input.get("type"), input.get("ownershipTypeUrn"), otherwise)
        found.append({"owner": owner.name, **type, "source": {"type": "MANUAL"}})
    return found


def _typed(word: str | None, urn: str | None, otherwise: str | None) -> Value:
    if urn is None and word is None:
        urn = otherwise
    if urn is not None:
        named = targets.parsed("ownershipTypeUrn", urn, _TYPE)
        return {"type": SYSTEM_TYPES.get(named.name, "CUSTOM"), "typeUrn": named.name}
    said = word or _NONE
    if said == "CUSTOM":
        raise bad("`type`: an ownership type of one's own is given by `ownershipTypeUrn`")
    return {"type": said, **({"typeUrn": _URNS[said]} if said in _URNS else {})}


def check(edit: Edit, owners: Iterable[Value]) -> None:
    """Raises `Failure` 400 for an owner or an ownership type that is not there."""
    for one in owners:
        targets.check_named(edit, "ownerUrn", targets.parsed("ownerUrn", one["owner"]))
        check_type(edit, one.get("typeUrn"))


def check_type(edit: Edit, urn: str | None) -> None:
    """As `check`, of one ownership type."""
    if urn is not None and urn not in SYSTEM_TYPES:
        targets.check_named(edit, "ownershipTypeUrn", Entity(_TYPE, urn))


def add(edit: Edit, entity: Entity, owners: Sequence[Value]) -> None:
    """Adds owners; who is one already, of the same type, stays as it is."""
    value = shapes.begun(edit, entity, "ownership")
    there = shapes.members(value, "owners")
    for one in owners:
        if not any(_is(old, one["owner"], _type_of(one)) for old in there):
            there.append(one)
    _put(edit, entity, value, there)


def replace(edit: Edit, entity: Entity, owners: Sequence[Value]) -> None:
    """These owners alone; those that were there stay as they are."""
    value = shapes.begun(edit, entity, "ownership")
    kept = [
        old
        for old in shapes.members(value, "owners")
        if any(_is(old, one["owner"], _type_of(one)) for one in owners)
    ]
    _put(edit, entity, value, kept)
    add(edit, entity, owners)


def remove(edit: Edit, entity: Entity, owners: Iterable[Entity], type: str | None) -> None:
    """Ends ownerships: of the type, or of all types."""
    value = shapes.begun(edit, entity, "ownership")
    gone = {one.name for one in owners}
    kept = [
        old
        for old in shapes.members(value, "owners")
        if not any(_is(old, name, _type_of(old) if type is None else type) for name in gone)
    ]
    _put(edit, entity, value, kept)


def _put(edit: Edit, entity: Entity, value: Value, owners: list[Any]) -> None:
    # What is derived from the list of owners would be wrong now.
    value.pop("ownerTypes", None)
    edit.put(entity, "ownership", {**value, "owners": owners, "lastModified": edit.stamp})


def _is(owner: object, name: str, type: str) -> bool:
    if not isinstance(owner, dict) or untagged(owner.get("owner")) != name:
        return False
    return _type_of(owner) == type


def _type_of(owner: Mapping[str, Any]) -> str:
    """The type's URN; for an older word that has none, the word."""
    word = str(untagged(owner.get("type", _NONE)))
    return str(untagged(owner.get("typeUrn")) or _URNS.get(word, word))


def _adding(_: object, info: Info, input: Input) -> bool:
    found = targets.entities(info.context, input)
    given = targets.bounded(info.context, "owners", input.get("owners", [input]))
    owners = owners_of(given, input.get("ownershipTypeUrn"))

    def task(edit: Edit) -> bool:
        for entity in found:
            edit.ask("owners.edit", entity)
        targets.check_there(edit, *found)
        check(edit, owners)
        for entity in found:
            add(edit, entity, owners)
        return True

    return authorization.edit(info.context, task)


def _removing(argument: str) -> Callable[..., bool]:
    def resolve(_: object, info: Info, input: Input) -> bool:
        found = targets.entities(info.context, input)
        urns = input[argument] if argument == "ownerUrns" else [input[argument]]
        given = targets.bounded(info.context, argument, urns)
        owners = targets.all_parsed(argument, given, *_ACTORS.values())
        type = input.get("ownershipTypeUrn")
        if type is not None:
            targets.parsed("ownershipTypeUrn", type, _TYPE)

        def task(edit: Edit) -> bool:
            for entity in found:
                edit.ask("owners.edit", entity)
            targets.check_there(edit, *found)
            for entity in found:
                remove(edit, entity, owners, type)
            return True

        return authorization.edit(info.context, task)

    return resolve


RESOLVERS: Final[Resolvers] = {
    "Mutation": {
        "addOwner": _adding,
        "addOwners": _adding,
        "batchAddOwners": _adding,
        "removeOwner": _removing("ownerUrn"),
        "batchRemoveOwners": _removing("ownerUrns"),
    }
}
