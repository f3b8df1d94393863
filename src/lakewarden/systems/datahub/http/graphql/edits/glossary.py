"""The glossary: terms and groups of them, made, moved, related and deleted.

SOURCE: GlossaryUtils, CreateGlossaryTermResolver, UpdateParentNodeResolver,
DeleteGlossaryEntityResolver, AddRelatedTermsResolver.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.systems.datahub.http.graphql import authorization
from lakewarden.systems.datahub.http.graphql.edits import owners, shapes, siblings, targets
from lakewarden.systems.datahub.http.graphql.edits.targets import Input
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers
from lakewarden.systems.datahub.use_cases.page_edits import Edit

_TERM: Final = "glossaryTerm"
_GROUP: Final = "glossaryNode"
_INFO: Final = {_TERM: "glossaryTermInfo", _GROUP: "glossaryNodeInfo"}
_RELATED: Final = "glossaryRelatedTerms"
_LISTS: Final = {"isA": "isRelatedTerms", "hasA": "hasRelatedTerms"}


def _group(input: Input) -> Entity | None:
    urn = input.get("parentNode")
    return None if urn is None else targets.parsed("parentNode", urn, _GROUP)


def _creating(type: str) -> Callable[..., str]:
    def create(_: object, info: Info, input: Input) -> str:
        entity, group = targets.made(type, input.get("id")), _group(input)
        name = targets.text("name", input["name"])
        wanted = owners.owners_of(input.get("owners") or ())

        def task(edit: Edit) -> str:
            edit.ask("glossary.create", group or NO_RESOURCE)
            targets.check_new(edit, entity)
            owners.check(edit, wanted)
            value = shapes.begun(edit, entity, _INFO[type])
            value |= {"name": name, "definition": input.get("description") or ""}
            if group is not None:
                targets.check_named(edit, "parentNode", group)
                value["parentNode"] = group.name
            siblings.check(edit, entity, group, name)
            edit.put(entity, _INFO[type], value)
            edit.own(entity, "glossary.create")
            if wanted:
                owners.replace(edit, entity, wanted)
            return entity.name

        return authorization.edit(info.context, task)

    return create


def _move(_: object, info: Info, input: Input) -> bool:
    entity = targets.parsed("resourceUrn", input["resourceUrn"], _TERM, _GROUP)
    group = _group(input)

    def task(edit: Edit) -> bool:
        if group is None:
            edit.ask("glossary.move_to_root", entity)
        else:
            edit.ask("glossary.move", entity, targets={"group": group})
        targets.check_there(edit, entity)
        value = shapes.begun(edit, entity, _INFO[entity.type])
        value.pop("parentNode", None)
        if group is not None:
            targets.check_named(edit, "parentNode", group)
            siblings.check_outside(edit, entity, group, "parentNode")
            value["parentNode"] = group.name
        edit.put(entity, _INFO[entity.type], value)
        return True

    return authorization.edit(info.context, task)


def _delete(_: object, info: Info, urn: str) -> bool:
    entity = targets.parsed("urn", urn, _TERM, _GROUP)

    def task(edit: Edit) -> bool:
        edit.ask("glossary.change", entity)
        targets.check_there(edit, entity)
        edit.drop(entity)
        return True

    return authorization.edit(info.context, task)


def _relating(*, adds: bool) -> Callable[..., bool]:
    def relate(_: object, info: Info, input: Input) -> bool:
        term = targets.parsed("urn", input["urn"], _TERM)
        others = targets.all_parsed("termUrns", input["termUrns"], _TERM)
        key = _LISTS[input["relationshipType"]]

        def task(edit: Edit) -> bool:
            edit.ask("glossary.change", term)
            targets.check_there(edit, term)
            value = edit.value(term, _RELATED)
            there, names = shapes.members(value, key), [one.name for one in others]
            if adds:
                targets.check_named(edit, "termUrns", *others)
                value[key] = list(dict.fromkeys([*there, *names]))
            else:
                value[key] = [name for name in there if name not in names]
            edit.put(term, _RELATED, value)
            return True

        return authorization.edit(info.context, task)

    return relate


RESOLVERS: Final[Resolvers] = {
    "Mutation": {
        "createGlossaryTerm": _creating(_TERM),
        "createGlossaryNode": _creating(_GROUP),
        "updateParentNode": _move,
        "deleteGlossaryEntity": _delete,
        "addRelatedTerms": _relating(adds=True),
        "removeRelatedTerms": _relating(adds=False),
    }
}
