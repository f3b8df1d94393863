"""Tags and glossary terms: attached to entities and their columns, and taken away."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.aspects.fields import untagged
from lakewarden.systems.datahub.http.graphql import authorization
from lakewarden.systems.datahub.http.graphql.edits import shapes, targets
from lakewarden.systems.datahub.http.graphql.edits.targets import Input, Place
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers
from lakewarden.systems.datahub.use_cases.aspects import Value
from lakewarden.systems.datahub.use_cases.page_edits import Edit


class Label(NamedTuple):
    """A kind of labels: where they are kept, and what changing them asks."""

    argument: str
    type: str
    aspect: str
    list: str
    member: str
    operation: str
    column_operation: str


TAG: Final = Label("tagUrn", "tag", "globalTags", "tags", "tag", "tags.edit", "column.tags.edit")
TERM: Final = Label(
    "termUrn", "glossaryTerm", "glossaryTerms", "terms", "urn", "terms.edit", "column.terms.edit"
)

Change = Callable[[Label, Value, Sequence[Entity]], None]
"""Changes the labels in what holds them: an aspect, or a part of one."""


def add(label: Label, holder: Value, wanted: Sequence[Entity]) -> None:
    """Attaches labels; those that are there stay as they are."""
    there = shapes.members(holder, label.list)
    names = {_name(label, one) for one in there}
    new = [{label.member: one.name} for one in wanted if one.name not in names]
    holder[label.list] = [*there, *new]


def remove(label: Label, holder: Value, wanted: Sequence[Entity]) -> None:
    """Takes labels away; what else is there stays."""
    gone = {one.name for one in wanted}
    there = shapes.members(holder, label.list)
    holder[label.list] = [one for one in there if _name(label, one) not in gone]


def _name(label: Label, member: object) -> object:
    return untagged(member.get(label.member)) if isinstance(member, dict) else None


def replace(label: Label, holder: Value, wanted: Sequence[Entity]) -> None:
    """These labels alone; those that were there stay as they are."""
    names = {one.name for one in wanted}
    there = shapes.members(holder, label.list)
    holder[label.list] = [one for one in there if _name(label, one) in names]
    add(label, holder, wanted)


def put(edit: Edit, label: Label, place: Place, change: Change, wanted: Sequence[Entity]) -> None:
    """Changes the labels of a place."""
    if not place.column:
        value = shapes.begun(edit, place.entity, label.aspect)
        change(label, value, wanted)
        edit.put(place.entity, label.aspect, value)
        return
    schema = shapes.begun(edit, place.entity, "editableSchemaMetadata")
    column = shapes.column(schema, place.column)
    holder = untagged(column.get(label.aspect))
    value = dict(holder) if isinstance(holder, dict) else {}
    if label is TERM:
        value["auditStamp"] = edit.stamp
    change(label, value, wanted)
    column[label.aspect] = value
    edit.put(place.entity, "editableSchemaMetadata", schema)


def ask(edit: Edit, label: Label, place: Place) -> None:
    """Which tags come or go is asked about when the edit is finished."""
    edit.ask(label.column_operation if place.column else label.operation, place.entity)


def _resolver(label: Label, change: Change) -> Callable[..., bool]:
    def resolve(_: object, info: Info, input: Input) -> bool:
        argument = f"{label.argument}s" if f"{label.argument}s" in input else label.argument
        urns = input[argument] if argument.endswith("s") else [input[argument]]
        wanted = targets.all_parsed(
            argument, targets.bounded(info.context, argument, urns), label.type
        )
        places = targets.places(info.context, input)

        def task(edit: Edit) -> bool:
            for place in places:
                ask(edit, label, place)
                if label is TAG:
                    # Also for a tag that is there already, or is not: nothing else would ask then.
                    operation = label.column_operation if place.column else label.operation
                    edit.ask(operation, place.entity, subresources=tuple(wanted))
            targets.check_places(edit, places)
            if change is add:
                targets.check_named(edit, argument, *wanted)
            for place in places:
                put(edit, label, place, change, wanted)
            return True

        return authorization.edit(info.context, task)

    return resolve


RESOLVERS: Final[Resolvers] = {
    "Mutation": {
        **dict.fromkeys(("addTag", "addTags", "batchAddTags"), _resolver(TAG, add)),
        **dict.fromkeys(("removeTag", "batchRemoveTags"), _resolver(TAG, remove)),
        **dict.fromkeys(("addTerm", "addTerms", "batchAddTerms"), _resolver(TERM, add)),
        **dict.fromkeys(("removeTerm", "batchRemoveTerms"), _resolver(TERM, remove)),
    }
}
