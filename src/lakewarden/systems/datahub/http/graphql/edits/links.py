"""Links of an entity: `institutionalMemory`. A link is identified by its address and its label.

SOURCE: LinkUtils.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.edits import page_edit, shapes, targets
from lakewarden.systems.datahub.http.graphql.errors import Failure, bad
from lakewarden.systems.datahub.http.graphql.records import Input
from lakewarden.systems.datahub.http.graphql.resolving import Resolvers
from lakewarden.systems.datahub.use_cases.aspects import Value
from lakewarden.systems.datahub.use_cases.page_edits import Edit

_ASPECT: Final = "institutionalMemory"

_SCRIPTS: Final = ("data:", "javascript:", "vbscript:")
"""Addresses that would run as scripts in the page that shows them."""

Links = list[Any]
Change = Callable[[Edit, Links, Input], Links]


def check_address(argument: str, address: str) -> str:
    """An address that a page may show; raises `Failure` 400."""
    plain = "".join(address.split()).lower()
    if (
        not plain
        or plain.startswith(_SCRIPTS)
        or any(ord(character) < ord(" ") for character in address)
    ):
        raise bad(f"`{argument}`: expected the address of a page")
    return address


def put(edit: Edit, entity: Entity, links: Links) -> None:
    """Replaces the links of an entity."""
    value = shapes.editable_value(edit, entity, _ASPECT)
    edit.put(entity, _ASPECT, {**value, "elements": links})


def new_link(edit: Edit, address: str, label: str) -> Value:
    """A link that the caller adds."""
    return {"url": address, "description": label, "createStamp": edit.stamp}


def _add(edit: Edit, links: Links, input: Input) -> Links:
    if any(_matches(link, input["linkUrl"], input["label"]) for link in links):
        return links
    return [*links, {**new_link(edit, input["linkUrl"], input["label"]), **_settings(input)}]


def _update(edit: Edit, links: Links, input: Input) -> Links:
    address = input.get("currentUrl") or input["linkUrl"]
    matching = (
        n for n, link in enumerate(links) if _matches(link, address, input.get("currentLabel"))
    )
    at = next(matching, None)
    if at is None:
        raise Failure(404, f"there is no link to `{address}`")
    before, after = links[:at], links[at + 1 :]
    if any(_matches(link, input["linkUrl"], input["label"]) for link in (*before, *after)):
        raise Failure(409, f"the link to `{input['linkUrl']}` already exists")
    changes = {"url": input["linkUrl"], "description": input["label"], "updateStamp": edit.stamp}
    return [*before, {**links[at], **changes, **_settings(input)}, *after]


def _remove(_: Edit, links: Links, input: Input) -> Links:
    return [link for link in links if not _matches(link, input["linkUrl"], input.get("label"))]


def _matches(link: object, address: str, label: str | None) -> bool:
    """Whether a link has the address, and the label if one is given."""
    if not isinstance(link, dict) or link.get("url") != address:
        return False
    return label is None or link.get("description") == label


def _settings(input: Input) -> Value:
    is_shown = (input.get("settings") or {}).get("showInAssetPreview")
    return {} if is_shown is None else {"settings": {"showInAssetPreview": is_shown}}


def _link_edit(change: Change) -> page_edit.PageEdit:
    def edit_links(edit: Edit, entity: Entity, input: Input) -> None:
        links = shapes.members(edit.value(entity, _ASPECT), "elements")
        put(edit, entity, change(edit, links, input))

    reads = {} if change is _remove else {"linkUrl": _address}
    return page_edit.change(_entities, "links.edit", edit_links, reads=reads)


def _entities(_: Call, input: Input) -> list[Entity]:
    return [targets.place(input).entity]


def _address(_: Call, argument: str, input: Input) -> str:
    return check_address(argument, input[argument])


RESOLVERS: Final[Resolvers] = {
    "Mutation": {
        "addLink": _link_edit(_add),
        "updateLink": _link_edit(_update),
        "removeLink": _link_edit(_remove),
    }
}
