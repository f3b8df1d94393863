"""Edits of pages as rows of a table: the entities, the operation and the writes of each.

Every row runs in the same order. Its arguments are read (400); the operation is checked for each
place (403); the places must exist, or not yet (404, 409); the entities in the arguments must exist
(400); then `write` puts aspects. The schema defines the result of the mutation.

    "setTagColor": change(by_urn("tag"), "tag.color", _set_color, reads={"colorHex": _color})
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from graphql import GraphQLBoolean, GraphQLString, get_named_type

from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.systems.datahub.http.graphql import authorization
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.edits import shapes, targets
from lakewarden.systems.datahub.http.graphql.edits.targets import EditTarget
from lakewarden.systems.datahub.http.graphql.records import Input, Member, provided_members
from lakewarden.systems.datahub.http.graphql.resolving import Info
from lakewarden.systems.datahub.use_cases.page_edits import Edit

Read = Callable[[Call, str, Input], Any]
"""Reads a given argument, before any check of rights; raises `Failure` 400."""

Entities = Callable[[Call, Input], Sequence[Entity]]
"""Reads the entities that a mutation is about; raises `Failure` 400."""

RequireRights = Callable[[Edit, Entity, Input], None]
"""Checks the privileges for an edit of an entity, if more than one operation is required."""

Check = Callable[[Edit, Input], None]
"""Raises `Failure` 400 if an entity in the arguments does not exist."""

Write = Callable[[Edit, Entity, Input], None]
"""Puts aspects of an entity; `input` has the mutation's arguments and the members of `input`."""


@dataclass(frozen=True, slots=True)
class PageEdit:
    """A row, which is the resolver of its mutation.

    `places`: the entities and columns that it is about. `reads`: how its arguments are read, by
    name, if they are more than plain values. `check`: checks that referenced entities exist.
    `creates`: the place must not exist.
    """

    places: Callable[[Call, Input], Sequence[EditTarget]]
    ask: Callable[[Edit, EditTarget, Input], None]
    write: Callable[[Edit, EditTarget, Input], None]
    reads: Mapping[str, Read] = field(default_factory=dict)
    check: Check | None = None
    creates: bool = False

    def __call__(self, _: object, info: Info, **arguments: Any) -> object:
        """Resolves the mutation."""
        call: Call = info.context
        input: dict[str, Any] = {**(arguments.get("input") or {}), **arguments}
        places = self.places(call, input)
        for argument, read in self.reads.items():
            if input.get(argument) is not None:
                input[argument] = read(call, argument, input)
        authorization.edit(call, lambda edit: self._run(edit, places, input))
        return _answer(info, places[0].entity)

    def _run(self, edit: Edit, places: Sequence[EditTarget], input: Input) -> None:
        for place in places:
            self.ask(edit, place, input)
        if self.creates:
            targets.check_new(edit, places[0].entity)
        else:
            targets.check_places(edit, places)
        if self.check is not None:
            self.check(edit, input)
        for place in places:
            self.write(edit, place, input)


def creation(
    type: str,
    operation: str,
    write: Write,
    *,
    about: str = "",
    reads: Mapping[str, Read] | None = None,
    check: Check | None = None,
) -> PageEdit:
    """Creates an entity, with an owner if the operation says so.

    The operation is checked for the entity in the argument `about`.
    """

    def ask(edit: Edit, _: EditTarget, input: Input) -> None:
        edit.ask(operation, input.get(about) or NO_RESOURCE)

    def write_owned(edit: Edit, place: EditTarget, input: Input) -> None:
        edit.make_caller_owner(place.entity, operation)
        write(edit, place.entity, input)

    return PageEdit(
        lambda _, input: [EditTarget(targets.new_entity(type, input.get("id")))],
        ask,
        write_owned,
        {"name": name, **(reads or {})},
        check,
        creates=True,
    )


def change(
    entities: Entities,
    required: str | RequireRights,
    write: Write,
    *,
    reads: Mapping[str, Read] | None = None,
    check: Check | None = None,
) -> PageEdit:
    """Changes entities in the same way, atomically."""

    def ask(edit: Edit, place: EditTarget, input: Input) -> None:
        if isinstance(required, str):
            edit.ask(required, place.entity)
        else:
            required(edit, place.entity, input)

    return PageEdit(
        lambda call, input: [EditTarget(entity) for entity in entities(call, input)],
        ask,
        lambda edit, place, input: write(edit, place.entity, input),
        reads or {},
        check,
    )


def deletion(entities: Entities, operation: str, check: Write | None = None) -> PageEdit:
    """Deletes an entity and the references to it; `check` raises `Failure` if it must stay."""

    def drop(edit: Edit, entity: Entity, input: Input) -> None:
        if check is not None:
            check(edit, entity, input)
        edit.drop(entity)

    return change(entities, operation, drop)


def by_urn(*types: str, of: str = "urn") -> Entities:
    """The entity with the URN in an argument, of one of the types if any are given."""
    return lambda _, input: [targets.parse_entity(of, input[of], *types)]


def reference(*types: str) -> Read:
    """Reads the URN of an entity, of one of the types if any are given."""
    return lambda _, argument, input: targets.parse_entity(argument, input[argument], *types)


def references(*types: str) -> Read:
    """Reads one URN, or a list of them that is neither empty nor too long; without duplicates."""

    def read(call: Call, argument: str, input: Input) -> list[Entity]:
        value = input[argument]
        urns = [value] if isinstance(value, str) else targets.check_count(call, argument, value)
        return targets.parse_entities(argument, urns, *types)

    return read


def exists(argument: str) -> Check:
    """Checks that the entity or entities in an argument exist, if it is given."""

    def check(edit: Edit, input: Input) -> None:
        value = input.get(argument) or ()
        targets.check_references(edit, argument, *([value] if isinstance(value, Entity) else value))

    return check


def merge_members(aspect: str, *record: Member) -> Write:
    """Writes the given members of an aspect's record; the others stay."""

    def merge(edit: Edit, entity: Entity, input: Input) -> None:
        edit.put(
            entity,
            aspect,
            {**shapes.editable_value(edit, entity, aspect), **provided_members(record, input)},
        )

    return merge


def name(_: Call, argument: str, input: Input) -> str:
    """Reads a name that is not blank."""
    return targets.text(argument, input[argument])


def _answer(info: Info, entity: Entity) -> object:
    type = get_named_type(info.return_type)
    if type == GraphQLBoolean:
        return True
    return entity.name if type == GraphQLString else visible_entity(info.context, entity)


def visible_entity(call: Call, entity: Entity) -> Entity | None:
    """The entity, if its page is visible to the caller."""
    return entity if authorization.visible(call, [entity]) else None
