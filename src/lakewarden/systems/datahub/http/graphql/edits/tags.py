"""Tags themselves: created, described, coloured and deleted.

SOURCE: CreateTagResolver, TagType, DeleteTagResolver, SetTagColorResolver.
"""

from __future__ import annotations

import re
from typing import Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.edits import owners, page_edit
from lakewarden.systems.datahub.http.graphql.errors import bad
from lakewarden.systems.datahub.http.graphql.records import Input, members
from lakewarden.systems.datahub.http.graphql.resolving import Resolvers
from lakewarden.systems.datahub.use_cases.aspects import Value
from lakewarden.systems.datahub.use_cases.page_edits import Edit

_TYPE: Final = "tag"
_ASPECT: Final = "tagProperties"
_DESCRIBE: Final = page_edit.merge_members(_ASPECT, *members("name", "description"))
_COLOR: Final = re.compile(r"#?[0-9A-Fa-f]{3,8}")


def _same_urn(_: Call, argument: str, input: Input) -> Input:
    tag: Input = input[argument]
    if tag["urn"] != input["urn"]:
        raise bad(f"`{argument}`: expected the URN `{input['urn']}`, got `{tag['urn']}`")
    return tag


def _ownership(_: Call, argument: str, input: Input) -> list[Value]:
    return owners.owners_of(input[argument]["owners"])


def _ask_update(edit: Edit, tag: Entity, input: Input) -> None:
    edit.ask("docs.edit", tag)
    if input.get("ownership") is not None:
        edit.ask("owners.edit", tag)


def _update(edit: Edit, tag: Entity, input: Input) -> None:
    _DESCRIBE(edit, tag, input)
    if input.get("ownership") is not None:
        owners.check(edit, input["ownership"])
        owners.replace(edit, tag, input["ownership"])


def _color(_: Call, argument: str, input: Input) -> str:
    color: str = input[argument]
    if not _COLOR.fullmatch(color):
        raise bad(f"`{argument}`: expected a color as `#RRGGBB`, got `{color}`")
    return color


RESOLVERS: Final[Resolvers] = {
    "Mutation": {
        "createTag": page_edit.creation(_TYPE, "tag.create", _DESCRIBE),
        "updateTag": page_edit.change(
            page_edit.by_urn(_TYPE),
            _ask_update,
            _update,
            reads={"input": _same_urn, "name": page_edit.name, "ownership": _ownership},
        ),
        "deleteTag": page_edit.deletion(page_edit.by_urn(_TYPE), "tag.delete"),
        "setTagColor": page_edit.change(
            page_edit.by_urn(_TYPE),
            "tag.color",
            page_edit.merge_members(_ASPECT, *members("colorHex")),
            reads={"colorHex": _color},
        ),
    }
}
