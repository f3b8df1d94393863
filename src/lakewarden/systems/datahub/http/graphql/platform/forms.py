"""Forms: questions about assets, and their assignment to assets.

SOURCE: datahub reference 1.1; datahub-project/datahub:…/resolvers/form.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final
from uuid import uuid4

from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.systems.datahub.http.graphql import call as calls
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.errors import bad
from lakewarden.systems.datahub.http.graphql.platform import shapes
from lakewarden.systems.datahub.http.graphql.platform.aspect_write import (
    AspectChanges,
    AspectWrite,
    Change,
    Kind,
    by_urn,
    change,
    check_limit,
    creation,
    deletion,
    mutation,
    urns,
)
from lakewarden.systems.datahub.http.graphql.platform.criteria import alternatives
from lakewarden.systems.datahub.http.graphql.records import Input, Member, members, provided_members
from lakewarden.systems.datahub.http.graphql.resolving import Resolvers
from lakewarden.systems.datahub.use_cases.aspects import Value

ASPECT: Final = "formInfo"
ASSIGNED: Final = "forms"
TYPE: Final = "form"

_ASSETS: Final = "entityUrns"
_MANAGE: Final = "form.manage"


def _actors(input: Mapping[str, Any]) -> Value:
    return {
        "owners": input.get("owners") is not False,
        **_people(input, "users", "corpuser"),
        **_people(input, "groups", "corpGroup"),
    }


def _changed_form(changes: AspectChanges, form: Entity, value: Value, input: Input) -> None:
    before = changes.value(form, ASPECT)
    prompts = value["prompts"] if "prompts" in value else before.get("prompts")
    removed = set(input.get("promptsToRemove") or ())
    staying = [prompt for prompt in shapes.objects(prompts) if prompt.get("id") not in removed]
    value["prompts"] = [*staying, *_prompts(input.get("promptsToAdd") or ())]
    if input.get("actors") is not None:
        value["actors"] = _merge_assignees(shapes.mapping(before.get("actors")), input["actors"])


def _merge_assignees(before: Mapping[str, Any], input: Mapping[str, Any]) -> Value:
    value = {**before, **provided_members(members("owners"), input)}
    for member, type in (("users", "corpuser"), ("groups", "corpGroup")):
        old = _people(input, member, type).get(member, shapes.texts(before.get(member)))
        added = _people(input, f"{member}ToAdd", type).get(f"{member}ToAdd", [])
        removed = set(input.get(f"{member}ToRemove") or ())
        value[member] = [urn for urn in dict.fromkeys([*old, *added]) if urn not in removed]
    return value


def _people(input: Mapping[str, Any], member: str, type: str) -> dict[str, list[str]]:
    return provided_members([Member(member, read=urns(type))], input)


def _prompts(inputs: Iterable[Mapping[str, Any]]) -> list[Value]:
    return [_prompt(prompt) for prompt in inputs]


def _prompt(input: Mapping[str, Any]) -> Value:
    value = {
        "id": input.get("id") or str(uuid4()),
        "type": input["type"],
        "title": input["title"],
        "required": input.get("required") is True,
        **provided_members(members("description"), input),
    }
    if input["type"] == "OWNERSHIP":
        params = input.get("ownershipParams") or {}
        value["ownershipParams"] = {"cardinality": params.get("cardinality") or "MULTIPLE"}
        return value
    if input.get("structuredPropertyParams") is None:
        raise bad("`prompts`: expected `structuredPropertyParams`: what is asked for")
    property = calls.entity(input["structuredPropertyParams"]["urn"], "structuredProperty")
    return {**value, "structuredPropertyParams": {"urn": property.name}}


def _assets(call: Call, argument: str, input: Input) -> list[Entity]:
    assets = list(dict.fromkeys(calls.entity(urn) for urn in input[argument]))
    if not check_limit(call, assets, argument):
        raise bad(f"`{argument}`: expected URNs, one at least")
    return assets


LISTS: Final = ("incompleteForms", "completedForms")
"""The lists of an asset's forms."""


def _assign(changes: AspectChanges, form: Entity, input: Input) -> None:
    changes.check_exists(form, *input[_ASSETS])
    prompts = shapes.objects(changes.value(form, ASPECT).get("prompts"))
    open_ = [{"id": prompt.get("id"), "lastModified": changes.stamp} for prompt in prompts]
    added = {"urn": form.name, "incompletePrompts": open_, "completedPrompts": []}
    for asset in input[_ASSETS]:
        value = changes.value(asset, ASSIGNED)
        lists = {name: shapes.objects(value.get(name)) for name in LISTS}
        if not any(
            association.get("urn") == form.name for name in LISTS for association in lists[name]
        ):
            lists["incompleteForms"] = [*lists["incompleteForms"], added]
            changes.put(asset, ASSIGNED, {"verifications": [], **value, **lists})


def _unassign(changes: AspectChanges, form: Entity, input: Input) -> None:
    changes.check_exists(*input[_ASSETS])
    for asset in input[_ASSETS]:
        value = changes.value(asset, ASSIGNED)
        for name, key in (*((name, "urn") for name in LISTS), ("verifications", "form")):
            associations = shapes.objects(value.get(name))
            value[name] = [
                association for association in associations if association.get(key) != form.name
            ]
        changes.put(asset, ASSIGNED, value)


def _assign_matching(changes: AspectChanges, form: Entity, input: Input) -> None:
    changes.check_exists(form)
    criteria = {"filter": {"or": alternatives(input["orFilters"])}}
    changes.put(form, "dynamicFormAssignment", criteria)


def _assignment_write(write: Change) -> AspectWrite:
    return mutation(
        by_urn(TYPE, of="formUrn"),
        _MANAGE,
        write,
        about=NO_RESOURCE,
        reads={_ASSETS: _assets},
        audited_as="form",
    )


_KIND: Final = Kind(
    TYPE,
    ASPECT,
    (
        *members("name", "description"),
        Member("type", default="COMPLETION"),
        Member("prompts", read=_prompts, default=[]),
        Member("actors", read=_actors, default={"owners": True}),
    ),
    audited_as="form",
)


RESOLVERS: Final[Resolvers] = {
    "Mutation": {
        "createForm": creation(_KIND, _MANAGE),
        "updateForm": change(_KIND, _MANAGE, _changed_form),
        "deleteForm": deletion(_KIND, _MANAGE),
        "batchAssignForm": _assignment_write(_assign),
        "batchRemoveForm": _assignment_write(_unassign),
        "createDynamicFormAssignment": _assignment_write(_assign_matching),
    },
}
