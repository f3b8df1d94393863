"""Answers to forms: the answer is written to the asset, and the form records it.

CHOICE: in the original all assignees of a form may answer it, so assigning a form grants privileges
on assets; here an answer requires the privilege for what it writes. SOURCE:
datahub-project/datahub:…/resolvers/form, FormService.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql import call as calls
from lakewarden.systems.datahub.http.graphql.authorization import Requirement
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.errors import bad
from lakewarden.systems.datahub.http.graphql.platform import forms, property_values, shapes
from lakewarden.systems.datahub.http.graphql.platform.aspect_write import (
    AspectChanges,
    AspectWrite,
    by_urn,
    mutation,
    reference,
)
from lakewarden.systems.datahub.http.graphql.platform.columns import column
from lakewarden.systems.datahub.http.graphql.records import Input
from lakewarden.systems.datahub.http.graphql.resolving import Resolvers
from lakewarden.systems.datahub.use_cases.aspects import Value


def _answer_target(_: Call, input: Input) -> list[Entity]:
    """The form, the asset, and the columns that the answer is about."""
    asset, form = calls.entity(input["urn"]), calls.entity(input["formUrn"], forms.TYPE)
    columns = [column(calls.entity(asset.name, "dataset"), path) for path in _paths(input)]
    return [form, asset, *columns]


def _requirements(
    _: AspectChanges, entities: Sequence[Entity], input: Input
) -> Sequence[Requirement]:
    _form, asset, *columns = entities
    if input["type"] == "OWNERSHIP":
        return [Requirement("owners.edit", asset)]
    return property_values.requirements(columns[0] if columns else asset)


def _submit(changes: AspectChanges, entities: Sequence[Entity], input: Input) -> None:
    form, asset, *columns = entities
    changes.check_exists(asset, form)
    prompt = _prompt(changes, form, input)
    if input["type"] == "OWNERSHIP":
        _own_prompt(changes, asset, input.get("ownershipParams"))
    else:
        for column in columns or [asset]:
            property_values.put(changes, column, [input["structuredPropertyParams"]])
    _record_answer(changes, asset, form, prompt, _paths(input))


def _paths(input: Input) -> list[str]:
    """The columns that an answer is about."""
    if input["type"] != "FIELDS_STRUCTURED_PROPERTY":
        return []
    path = input.get("fieldPath")
    paths = list(input.get("fieldPaths") or ([] if path is None else [path]))
    if not paths:
        raise bad("expected `fieldPaths`: the columns that the answer is about")
    return paths


def _prompt(changes: AspectChanges, form: Entity, input: Input) -> Input:
    for prompt in shapes.objects(changes.value(form, forms.ASPECT).get("prompts")):
        if prompt.get("id") == input["promptId"] and prompt.get("type") == input["type"]:
            property = shapes.mapping(prompt.get("structuredPropertyParams")).get("urn")
            answer = input.get("structuredPropertyParams") or {}
            if property != answer.get("structuredPropertyUrn"):
                raise bad("`structuredPropertyParams`: not the property that the prompt asks for")
            return prompt
    raise bad(f"`promptId`: `{form.name}` has no such prompt of this type")


def _own_prompt(changes: AspectChanges, asset: Entity, params: Input | None) -> None:
    if params is None:
        raise bad("expected `ownershipParams`: the owners")
    type = calls.entity(params["ownershipTypeUrn"], "ownershipType").name
    value = changes.value(asset, "ownership")
    owners = shapes.objects(value.get("owners"))
    stored = {(owner.get("owner"), owner.get("typeUrn")) for owner in owners}
    added = [
        {"owner": owner, "type": "CUSTOM", "typeUrn": type}
        for owner in (calls.entity(urn, "corpuser", "corpGroup").name for urn in params["owners"])
        if (owner, type) not in stored
    ]
    stamp = changes.stamp
    changes.put(asset, "ownership", {**value, "owners": [*owners, *added], "lastModified": stamp})


def _record_answer(
    changes: AspectChanges, asset: Entity, form: Entity, prompt: Input, paths: list[str]
) -> None:
    """Records the answer; the form is complete once no required prompt is unanswered."""
    value = changes.value(asset, forms.ASSIGNED)
    lists = {name: shapes.objects(value.get(name)) for name in forms.LISTS}
    assigned = [
        association
        for name in forms.LISTS
        for association in lists[name]
        if association.get("urn") == form.name
    ]
    if not assigned:
        raise bad(f"`{form.name}` is not asked about `{asset.name}`")
    entry = _with_answer(changes, asset, assigned[0], prompt, paths)
    prompts = shapes.objects(changes.value(form, forms.ASPECT).get("prompts"))
    required = {prompt.get("id") for prompt in prompts if prompt.get("required") is True}
    is_open = any(
        incompletePrompt.get("id") in required for incompletePrompt in entry["incompletePrompts"]
    )
    for name in forms.LISTS:
        lists[name] = [
            association for association in lists[name] if association.get("urn") != form.name
        ]
    lists["incompleteForms" if is_open else "completedForms"].append(entry)
    changes.put(asset, forms.ASSIGNED, {"verifications": [], **value, **lists})


def _with_answer(
    changes: AspectChanges, asset: Entity, entry: Input, prompt: Input, paths: list[str]
) -> Value:
    id, stamp = prompt.get("id"), changes.stamp
    open_, done = (
        shapes.objects(entry.get(name)) for name in ("incompletePrompts", "completedPrompts")
    )
    before: Input = next((answer for answer in (*open_, *done) if answer.get("id") == id), {})
    answer: Value = {"id": id, "lastModified": stamp}
    is_done = True
    if paths:
        noted = shapes.mapping(before.get("fieldAssociations")).get("completedFieldPrompts")
        answered = {str(answer.get("fieldPath")): answer for answer in shapes.objects(noted)}
        answered |= {path: {"fieldPath": path, "lastModified": stamp} for path in paths}
        answer["fieldAssociations"] = {"completedFieldPrompts": list(answered.values())}
        is_done = _columns(changes, asset) <= answered.keys()
    open_ = [answer for answer in open_ if answer.get("id") != id]
    done = [answer for answer in done if answer.get("id") != id]
    (done if is_done else open_).append(answer)
    return {**entry, "incompletePrompts": open_, "completedPrompts": done}


def _columns(changes: AspectChanges, dataset: Entity) -> set[str]:
    fields = shapes.objects(changes.value(dataset, "schemaMetadata").get("fields"))
    return {str(field.get("fieldPath")) for field in fields}


def _verify(changes: AspectChanges, form: Entity, input: Input) -> None:
    asset = input["entityUrn"]
    changes.check_exists(asset, form)
    if changes.value(form, forms.ASPECT).get("type") != "VERIFICATION":
        raise bad(f"`formUrn`: `{form.name}` verifies nothing")
    value = changes.value(asset, forms.ASSIGNED)
    complete = shapes.objects(value.get("completedForms"))
    if not any(association.get("urn") == form.name for association in complete):
        raise bad(f"`{form.name}` is not complete for `{asset.name}`")
    verifications = shapes.objects(value.get("verifications"))
    others = [
        verification for verification in verifications if verification.get("form") != form.name
    ]
    added = {"form": form.name, "lastModified": changes.stamp}
    changes.put(asset, forms.ASSIGNED, {**value, "verifications": [*others, added]})


RESOLVERS: Final[Resolvers] = {
    "Mutation": {
        "submitFormPrompt": AspectWrite(_answer_target, _requirements, _submit, audited_as="form"),
        "verifyForm": mutation(
            by_urn(forms.TYPE, of="formUrn"),
            lambda _, __, input: [Requirement("properties.edit", input["entityUrn"])],
            _verify,
            reads={"entityUrn": reference()},
            audited_as="form",
        ),
    },
}
