"""Links of an entity: `institutionalMemory`. A link is known by its address and its label.

SOURCE: LinkUtils.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql import authorization
from lakewarden.systems.datahub.http.graphql.edits import shapes, targets
from lakewarden.systems.datahub.http.graphql.edits.targets import Input
from lakewarden.systems.datahub.http.graphql.errors import Failure, bad
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers
from lakewarden.systems.datahub.use_cases.aspects import Value
from lakewarden.systems.datahub.use_cases.page_edits import Edit

_ASPECT: Final = "institutionalMemory"

_ACTING: Final = ("data:", "javascript:", "vbscript:")
"""Addresses that would act in the page that shows them."""

Links = list[Any]
Change = Callable[[Edit, Links, Input], Links]


def checked(argument: str, address: str) -> str:
    """An address that a page may show; raises `Failure` 400."""
    plain = "".join(address.split()).lower()
    if not plain or plain.startswith(_ACTING) or any(ord(one) < ord(" ") for one in address):
        raise bad(f"`{argument}`: expected the address of a page")
    return address


def put(edit: Edit, entity: Entity, links: Links) -> None:
    """These links from now on."""
    value = shapes.begun(edit, entity, _ASPECT)
    edit.put(entity, _ASPECT, {**value, "elements": links})


def new(edit: Edit, address: str, label: str) -> Value:
    """A link that the caller makes."""
    return {"url": address, "description": label, "createStamp": edit.stamp}


def _add(edit: Edit, links: Links, input: Input) -> Links:
    if any(_is(one, input["linkUrl"], input["label"]) for one in links):
        return links
    return [*links, {**new(edit, input["linkUrl"], input["label"]), **_settings(input)}]


def _update(edit: Edit, links: Links, input: Input) -> Links:
    address = input.get("currentUrl") or input["linkUrl"]
    at = [n for n, one in enumerate(links) if _is(one, address, input.get("currentLabel"))]
    if not at:
        raise Failure(404, f"there is no link to `{address}`")
    others = links[: at[0]] + links[at[0] + 1 :]
    if any(_is(one, input["linkUrl"], input["label"]) for one in others):
        raise Failure(409, f"the link to `{input['linkUrl']}` is there already")
    changed = {
        **links[at[0]],
        "url": input["linkUrl"],
        "description": input["label"],
        "updateStamp": edit.stamp,
        **_settings(input),
    }
    return [*links[: at[0]], changed, *links[at[0] + 1 :]]


def _remove(_: Edit, links: Links, input: Input) -> Links:
    return [one for one in links if not _is(one, input["linkUrl"], input.get("label"))]


def _is(link: object, address: str, label: str | None) -> bool:
    """Whether a link has the address, and the label if one is given."""
    if not isinstance(link, dict) or link.get("url") != address:
        return False
    return label is None or link.get("description") == label


def _settings(input: Input) -> Value:
    given = input.get("settings")
    shown = None if given is None else given.get("showInAssetPreview")
    return {} if shown is None else {"settings": {"showInAssetPreview": shown}}


def _resolver(change: Change) -> Callable[..., bool]:
    def resolve(_: object, info: Info, input: Input) -> bool:
        entity = targets.place(input).entity
        if change is not _remove:
            checked("linkUrl", input["linkUrl"])

        def task(edit: Edit) -> bool:
            edit.ask("links.edit", entity)
            targets.check_there(edit, entity)
            links = shapes.members(edit.value(entity, _ASPECT), "elements")
            put(edit, entity, change(edit, links, input))
            return True

        return authorization.edit(info.context, task)

    return resolve


RESOLVERS: Final[Resolvers] = {
    "Mutation": {
        "addLink": _resolver(_add),
        "updateLink": _resolver(_update),
        "removeLink": _resolver(_remove),
    }
}
