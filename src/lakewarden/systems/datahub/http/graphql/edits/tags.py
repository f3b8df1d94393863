"""Tags themselves: created, described, coloured and deleted.

SOURCE: CreateTagResolver, TagType, DeleteTagResolver, SetTagColorResolver.
"""

from __future__ import annotations

import re
from typing import Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.edits import owners, page_edit, shapes
from lakewarden.systems.datahub.http.graphql.edits.page_edit import (
    by_urn,
    change,
    creation,
    deletion,
    name,
)
from lakewarden.systems.datahub.http.graphql.edits.targets import Input
from lakewarden.systems.datahub.http.graphql.errors import bad
from lakewarden.systems.datahub.http.graphql.resolving import Resolvers
from lakewarden.systems.datahub.use_cases.aspects import Value
from lakewarden.systems.datahub.use_cases.page_edits import Edit

_TYPE: Final = "tag"
_ASPECT: Final = "tagProperties"
_COLOR: Final = re.compile(r"#?[0-9A-Fa-f]{3,8}")


def _create(edit: Edit, tag: Entity, input: Input) -> None:
    edit.put(tag, _ASPECT, {"name": input["name"], **shapes.description(input)})


def _same_urn(_: Call, argument: str, input: Input) -> Input:
    given: Input = input[argument]
    if given["urn"] != input["urn"]:
        raise bad(f"`{argument}`: expected the URN `{input['urn']}`, got `{given['urn']}`")
    return given


def _ownership(_: Call, argument: str, input: Input) -> list[Value]:
    return owners.owners_of(input[argument]["owners"])


def _ask_update(edit: Edit, tag: Entity, input: Input) -> None:
    edit.ask("docs.edit", tag)
    if input.get("ownership") is not None:
        edit.ask("owners.edit", tag)


def _update(edit: Edit, tag: Entity, input: Input) -> None:
    value = {**shapes.begun(edit, tag, _ASPECT), "name": input["name"], **shapes.description(input)}
    edit.put(tag, _ASPECT, value)
    if input.get("ownership") is not None:
        owners.check(edit, input["ownership"])
        owners.replace(edit, tag, input["ownership"])


def _color(_: Call, argument: str, input: Input) -> str:
    color: str = input[argument]
    if not _COLOR.fullmatch(color):
        raise bad(f"`{argument}`: expected a color as `#RRGGBB`, got `{color}`")
    return color


def _set_color(edit: Edit, tag: Entity, input: Input) -> None:
    edit.put(tag, _ASPECT, {**shapes.begun(edit, tag, _ASPECT), "colorHex": input["colorHex"]})


RESOLVERS: Final[Resolvers] = page_edit.resolvers(
    {
        "createTag": creation(_TYPE, "tag.create", _create),
        "updateTag": change(
            by_urn(_TYPE),
            _ask_update,
            _update,
            reads={"input": _same_urn, "name": name, "ownership": _ownership},
        ),
        "deleteTag": deletion(by_urn(_TYPE), "tag.delete"),
        "setTagColor": change(by_urn(_TYPE), "tag.color", _set_color, reads={"colorHex": _color}),
    }
)
