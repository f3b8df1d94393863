"""Answers to forms: what is answered is written, and the form says that it was.

CHOICE: in the original whoever a form is assigned to may answer it, so that who assigns forms
gives away rights over assets; here an answer takes the right to what it writes.
SOURCE: datahub-project/datahub:…/resolvers/form, FormService.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql import call as calls
from lakewarden.systems.datahub.http.graphql.authorization import Ask
from lakewarden.systems.datahub.http.graphql.errors import bad
from lakewarden.systems.datahub.http.graphql.platform import forms, property_values, shapes
from lakewarden.systems.datahub.http.graphql.platform.columns import column
from lakewarden.systems.datahub.http.graphql.platform.draft import Draft, write, write_all
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers

_OF_COLUMNS: Final = "FIELDS_STRUCTURED_PROPERTY"


def _submit(_: object, info: Info, urn: str, input: Mapping[str, Any]) -> bool:
    asset = calls.entity(urn)
    form = calls.entity(input["formUrn"], forms.TYPE)
    columns = [column(calls.entity(urn, "dataset"), path) for path in _paths(input)]

    def asks(_: Draft) -> list[Ask]:
        if input["type"] == "OWNERSHIP":
            return [Ask("owners.edit", asset)]
        return property_values.asks(columns[0] if columns else asset)

    def task(draft: Draft) -> bool:
        draft.check_there(asset, form)
        prompt = _prompt(draft, form, input)
        _write(draft, asset, columns, input)
        _mark(draft, asset, form, prompt, _paths(input))
        return True

    return write_all(info.context, asks, task, {"form": form.name})


def _paths(input: Mapping[str, Any]) -> list[str]:
    """The columns that an answer is about."""
    if input["type"] != _OF_COLUMNS:
        return []
    one = input.get("fieldPath")
    found = list(input.get("fieldPaths") or ([] if one is None else [one]))
    if not found:
        raise bad("expected `fieldPaths`: the columns that the answer is about")
    return found


def _prompt(draft: Draft, form: Entity, input: Mapping[str, Any]) -> Mapping[str, Any]:
    for prompt in shapes.objects(draft.value(form, forms.ASPECT).get("prompts")):
        if prompt.get("id") == input["promptId"] and prompt.get("type") == input["type"]:
            wanted = shapes.mapping(prompt.get("structuredPropertyParams")).get("urn")
            answer = input.get("structuredPropertyParams") or {}
            if wanted != answer.get("structuredPropertyUrn"):
                raise bad("`structuredPropertyParams`: not the property that the prompt asks for")
            return prompt
    raise bad(f"`promptId`: `{form.name}` has no such prompt of this type")


def _write(
    draft: Draft, asset: Entity, columns: Iterable[Entity], input: Mapping[str, Any]
) -> None:
    if input["type"] == "OWNERSHIP":
        _own(draft, asset, input.get("ownershipParams"))
        return
    for one in list(columns) or [asset]:
        property_values.put(draft, one, [input["structuredPropertyParams"]])


def _own(draft: Draft, asset: Entity, params: Mapping[str, Any] | None) -> None:
    if params is None:
        raise bad("expected `ownershipParams`: the owners")
    type = calls.entity(params["ownershipTypeUrn"], "ownershipType").name
    value = draft.value(asset, "ownership")
    owners = shapes.objects(value.get("owners"))
    there = {(one.get("owner"), one.get("typeUrn")) for one in owners}
    added = [
        {"owner": owner, "type": "CUSTOM", "typeUrn": type}
        for owner in (calls.entity(urn, "corpuser", "corpGroup").name for urn in params["owners"])
        if (owner, type) not in there
    ]
    stamp = draft.stamp()
    draft.put(asset, "ownership", {**value, "owners": [*owners, *added], "lastModified": stamp})


def _mark(
    draft: Draft,
    asset: Entity,
    form: Entity,
    prompt: Mapping[str, Any],
    paths: Iterable[str],
) -> None:
    """Notes the answer; the form is complete once nothing that it requires is open."""
    value = draft.value(asset, forms.ASSIGNED)
    lists = {name: shapes.objects(value.get(name)) for name in forms.LISTS}
    found = [one for name in forms.LISTS for one in lists[name] if one.get("urn") == form.name]
    if not found:
        raise bad(f"`{form.name}` is not asked about `{asset.name}`")
    entry = _answered(draft, asset, found[0], prompt, list(paths))
    info = draft.value(form, forms.ASPECT)
    required = {
        one.get("id") for one in shapes.objects(info.get("prompts")) if one.get("required") is True
    }
    is_open = any(one.get("id") in required for one in entry["incompletePrompts"])
    for name in forms.LISTS:
        lists[name] = [one for one in lists[name] if one.get("urn") != form.name]
    lists["incompleteForms" if is_open else "completedForms"].append(entry)
    draft.put(asset, forms.ASSIGNED, {"verifications": [], **value, **lists})


def _answered(
    draft: Draft,
    asset: Entity,
    entry: Mapping[str, Any],
    prompt: Mapping[str, Any],
    paths: list[str],
) -> dict[str, Any]:
    id, stamp = prompt.get("id"), draft.stamp()
    open_, done = (
        shapes.objects(entry.get(name)) for name in ("incompletePrompts", "completedPrompts")
    )
    before: Mapping[str, Any] = next((one for one in (*open_, *done) if one.get("id") == id), {})
    mark: dict[str, Any] = {"id": id, "lastModified": stamp}
    is_done = True
    if paths:
        noted = shapes.mapping(before.get("fieldAssociations")).get("completedFieldPrompts")
        answered = {str(one.get("fieldPath")): one for one in shapes.objects(noted)}
        answered |= {path: {"fieldPath": path, "lastModified": stamp} for path in paths}
        mark["fieldAssociations"] = {"completedFieldPrompts": list(answered.values())}
        is_done = _columns(draft, asset) <= answered.keys()
    open_ = [one for one in open_ if one.get("id") != id]
    done = [one for one in done if one.get("id") != id]
    (done if is_done else open_).append(mark)
    return {**entry, "incompletePrompts": open_, "completedPrompts": done}


def _columns(draft: Draft, dataset: Entity) -> set[str]:
    fields = shapes.objects(draft.value(dataset, "schemaMetadata").get("fields"))
    return {str(one.get("fieldPath")) for one in fields}


def _verify(_: object, info: Info, input: Mapping[str, Any]) -> bool:
    asset = calls.entity(input["entityUrn"])
    form = calls.entity(input["formUrn"], forms.TYPE)

    def task(draft: Draft) -> bool:
        draft.check_there(asset, form)
        if draft.value(form, forms.ASPECT).get("type") != "VERIFICATION":
            raise bad(f"`formUrn`: `{form.name}` verifies nothing")
        value = draft.value(asset, forms.ASSIGNED)
        complete = shapes.objects(value.get("completedForms"))
        if not any(one.get("urn") == form.name for one in complete):
            raise bad(f"`{form.name}` is not complete for `{asset.name}`")
        there = shapes.objects(value.get("verifications"))
        others = [one for one in there if one.get("form") != form.name]
        added = {"form": form.name, "lastModified": draft.stamp()}
        draft.put(asset, forms.ASSIGNED, {**value, "verifications": [*others, added]})
        return True

    return write(info.context, "properties.edit", asset, task, {"form": form.name})


RESOLVERS: Final[Resolvers] = {
    "Mutation": {"submitFormPrompt": _submit, "verifyForm": _verify},
}
