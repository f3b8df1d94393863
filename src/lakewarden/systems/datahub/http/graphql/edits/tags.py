"""Tags themselves: made, described, coloured and deleted.

SOURCE: CreateTagResolver, TagType, DeleteTagResolver, SetTagColorResolver.
"""

from __future__ import annotations

import re
from typing import Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql import authorization
from lakewarden.systems.datahub.http.graphql.edits import owners, shapes, targets
from lakewarden.systems.datahub.http.graphql.edits.shown import shown
from lakewarden.systems.datahub.http.graphql.edits.targets import Input
from lakewarden.systems.datahub.http.graphql.errors import bad
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers
from lakewarden.systems.datahub.use_cases.aspects import Value
from lakewarden.systems.datahub.use_cases.page_edits import Edit

_TYPE: Final = "tag"
_ASPECT: Final = "tagProperties"
_COLOR: Final = re.compile(r"#?[0-9A-Fa-f]{3,8}")


def _create(_: object, info: Info, input: Input) -> str:
    tag = targets.made(_TYPE, input.get("id"))
    value: Value = {"name": targets.text("name", input["name"])}
    if input.get("description") is not None:
        value["description"] = input["description"]

    def task(edit: Edit) -> str:
        edit.ask("tag.create")
        targets.check_new(edit, tag)
        edit.put(tag, _ASPECT, value)
        edit.own(tag, "tag.create")
        return tag.name

    return authorization.edit(info.context, task)


def _update(_: object, info: Info, urn: str, input: Input) -> Entity | None:
    tag = targets.parsed("urn", urn, _TYPE)
    if input["urn"] != urn:
        raise bad(f"`input`: expected the URN `{urn}`, got `{input['urn']}`")
    name, ownership = targets.text("name", input["name"]), input.get("ownership")
    wanted = None if ownership is None else owners.owners_of(ownership["owners"])

    def task(edit: Edit) -> None:
        edit.ask("docs.edit", tag)
        if wanted is not None:
            edit.ask("owners.edit", tag)
        targets.check_there(edit, tag)
        value = {**shapes.begun(edit, tag, _ASPECT), "name": name}
        if input.get("description") is not None:
            value["description"] = input["description"]
        edit.put(tag, _ASPECT, value)
        if wanted is not None:
            owners.check(edit, wanted)
            owners.replace(edit, tag, wanted)

    authorization.edit(info.context, task)
    return shown(info.context, tag)


def _delete(_: object, info: Info, urn: str) -> bool:
    tag = targets.parsed("urn", urn, _TYPE)

    def task(edit: Edit) -> bool:
        edit.ask("tag.delete", tag)
        targets.check_there(edit, tag)
        edit.drop(tag)
        return True

    return authorization.edit(info.context, task)


def _color(_: object, info: Info, urn: str, colorHex: str) -> bool:  # noqa: N803 — as the schema has it
    tag = targets.parsed("urn", urn, _TYPE)
    if not _COLOR.fullmatch(colorHex):
        raise bad(f"`colorHex`: expected a color as `#RRGGBB`, got `{colorHex}`")

    def task(edit: Edit) -> bool:
        edit.ask("tag.color", tag)
        targets.check_there(edit, tag)
        edit.put(tag, _ASPECT, {**shapes.begun(edit, tag, _ASPECT), "colorHex": colorHex})
        return True

    return authorization.edit(info.context, task)


RESOLVERS: Final[Resolvers] = {
    "Mutation": {
        "createTag": _create,
        "updateTag": _update,
        "deleteTag": _delete,
        "setTagColor": _color,
    }
}
