"""Forms: questions about assets, and which assets they are asked about.

SOURCE: datahub reference 1.1; datahub-project/datahub:…/resolvers/form.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final
from uuid import uuid4

from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.systems.datahub.http.graphql import call as calls
from lakewarden.systems.datahub.http.graphql.errors import bad
from lakewarden.systems.datahub.http.graphql.platform import shapes
from lakewarden.systems.datahub.http.graphql.platform.criteria import alternatives
from lakewarden.systems.datahub.http.graphql.platform.draft import (
    Draft,
    given,
    limited,
    named,
    write,
)
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers

ASPECT: Final = "formInfo"
ASSIGNED: Final = "forms"
TYPE: Final = "form"

_CRITERIA: Final = "dynamicFormAssignment"
_MANAGE: Final = "form.manage"


def _create(_: object, info: Info, input: Mapping[str, Any]) -> Entity:
    form = named(TYPE, input.get("id"))
    actors = input.get("actors") or {}

    def task(draft: Draft) -> Entity:
        draft.check_new(form)
        value = {
            "name": input["name"],
            "type": input.get("type") or "COMPLETION",
            "prompts": _prompts(input.get("prompts") or ()),
            "actors": {
                "owners": actors.get("owners") is not False,
                **_people(actors, "users", "corpuser"),
                **_people(actors, "groups", "corpGroup"),
            },
            **given(input, "description"),
        }
        draft.put(form, ASPECT, value)
        return form

    return write(info.context, _MANAGE, NO_RESOURCE, task, {"form": form.name})


def _update(_: object, info: Info, input: Mapping[str, Any]) -> Entity:
    form = calls.entity(input["urn"], TYPE)

    def task(draft: Draft) -> Entity:
        draft.check_there(form)
        value = {**draft.value(form, ASPECT), **given(input, "name", "description", "type")}
        prompts = shapes.objects(value.get("prompts"))
        if input.get("prompts") is not None:
            prompts = list(_prompts(input["prompts"]))
        gone = set(input.get("promptsToRemove") or ())
        kept = [prompt for prompt in prompts if prompt.get("id") not in gone]
        value["prompts"] = [*kept, *_prompts(input.get("promptsToAdd") or ())]
        if input.get("actors") is not None:
            value["actors"] = _assigned(shapes.mapping(value.get("actors")), input["actors"])
        draft.put(form, ASPECT, value)
        return form

    return write(info.context, _MANAGE, NO_RESOURCE, task, {"form": form.name})


def _assigned(before: Mapping[str, Any], input: Mapping[str, Any]) -> dict[str, Any]:
    value = {**before, **given(input, "owners")}
    for member, type in (("users", "corpuser"), ("groups", "corpGroup")):
        there = _people(input, member, type).get(member, shapes.texts(before.get(member)))
        added = _people(input, f"{member}ToAdd", type).get(f"{member}ToAdd", [])
        gone = set(input.get(f"{member}ToRemove") or ())
        value[member] = [urn for urn in dict.fromkeys([*there, *added]) if urn not in gone]
    return value


def _people(input: Mapping[str, Any], member: str, type: str) -> dict[str, list[str]]:
    urns = input.get(member)
    return {} if urns is None else {member: [calls.entity(urn, type).name for urn in urns]}


def _prompts(inputs: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [_prompt(one) for one in inputs]


def _prompt(input: Mapping[str, Any]) -> dict[str, Any]:
    value = {
        "id": input.get("id") or str(uuid4()),
        "type": input["type"],
        "title": input["title"],
        "required": input.get("required") is True,
        **given(input, "description"),
    }
    if input["type"] == "OWNERSHIP":
        params = input.get("ownershipParams") or {}
        value["ownershipParams"] = {"cardinality": params.get("cardinality") or "MULTIPLE"}
        return value
    if input.get("structuredPropertyParams") is None:
        raise bad("`prompts`: expected `structuredPropertyParams`: what is asked for")
    property = calls.entity(input["structuredPropertyParams"]["urn"], "structuredProperty")
    return {**value, "structuredPropertyParams": {"urn": property.name}}


def _assign(_: object, info: Info, input: Mapping[str, Any]) -> bool:
    form, assets = _form_and_assets(info, input)

    def task(draft: Draft) -> bool:
        draft.check_there(form, *assets)
        prompts = shapes.objects(draft.value(form, ASPECT).get("prompts"))
        open_ = [{"id": one.get("id"), "lastModified": draft.stamp()} for one in prompts]
        for asset in assets:
            value = draft.value(asset, ASSIGNED)
            lists = {name: shapes.objects(value.get(name)) for name in LISTS}
            if any(one.get("urn") == form.name for name in LISTS for one in lists[name]):
                continue
            added = {"urn": form.name, "incompletePrompts": open_, "completedPrompts": []}
            lists["incompleteForms"] = [*lists["incompleteForms"], added]
            draft.put(asset, ASSIGNED, {"verifications": [], **value, **lists})
        return True

    return write(info.context, _MANAGE, NO_RESOURCE, task, {"form": form.name})


LISTS: Final = ("incompleteForms", "completedForms")
"""Where an asset has the forms that are asked about it."""


def _unassign(_: object, info: Info, input: Mapping[str, Any]) -> bool:
    form, assets = _form_and_assets(info, input)

    def task(draft: Draft) -> bool:
        draft.check_there(*assets)
        for asset in assets:
            value = draft.value(asset, ASSIGNED)
            for name, key in (*((name, "urn") for name in LISTS), ("verifications", "form")):
                there = shapes.objects(value.get(name))
                value[name] = [one for one in there if one.get(key) != form.name]
            draft.put(asset, ASSIGNED, value)
        return True

    return write(info.context, _MANAGE, NO_RESOURCE, task, {"form": form.name})


def _form_and_assets(info: Info, input: Mapping[str, Any]) -> tuple[Entity, list[Entity]]:
    assets = dict.fromkeys(calls.entity(urn) for urn in input["entityUrns"])
    few = limited(info.context, list(assets), "entityUrns")
    if not few:
        raise bad("`entityUrns`: expected URNs, one at least")
    return calls.entity(input["formUrn"], TYPE), few


def _assign_matching(_: object, info: Info, input: Mapping[str, Any]) -> bool:
    form = calls.entity(input["formUrn"], TYPE)

    def task(draft: Draft) -> bool:
        draft.check_there(form)
        draft.put(form, _CRITERIA, {"filter": {"or": alternatives(input["orFilters"])}})
        return True

    return write(info.context, _MANAGE, NO_RESOURCE, task, {"form": form.name})


RESOLVERS: Final[Resolvers] = {
    "Mutation": {
        "createForm": _create,
        "updateForm": _update,
        "batchAssignForm": _assign,
        "batchRemoveForm": _unassign,
        "createDynamicFormAssignment": _assign_matching,
    },
}
