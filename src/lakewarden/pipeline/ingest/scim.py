"""Replies of SCIM 2.0: attribute names in any case, and lists that may be split into pages.

A missing page would leave users out of groups, and so exempt them from the groups' denials.

SOURCE: RFC 7643, 2.1; RFC 7644, 3.4.2.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.toml_section import Section

_NAMES: Final = {
    name.lower(): name
    for name in (
        "totalResults",
        "Resources",
        "id",
        "userName",
        "displayName",
        "active",
        "members",
        "value",
    )
}


def spelled(reply: Section) -> Section:
    """The reply with names spelled as in the RFC. Raises `BadInput` for a repeated name.

    >>> reply = spelled(Section({"ACTIVE": False, "members": [{"Value": "7"}]}, "x"))
    >>> reply.flag("active", default=True), reply.tables("members")[0].text("value")
    (False, '7')
    """
    value = {name: reply.take(name) for name in reply.names()}
    return Section(_spelled(value, reply.where), reply.where)


def _spelled(value: object, where: str) -> object:
    if isinstance(value, list):
        return [_spelled(item, f"{where}[{number}]") for number, item in enumerate(value)]
    if not isinstance(value, Mapping):
        return value
    members: dict[str, object] = {}
    for key, member in value.items():
        name = _NAMES.get(str(key).lower(), str(key))
        if name in members:
            raise BadInput("is given twice, in upper and lower case", where=f"{where}.{name}")
        members[name] = _spelled(member, f"{where}.{name}")
    return members


class Lists:
    """The number of resources that lists announce, and the resources received."""

    def __init__(self) -> None:
        self._ids: dict[str, set[str]] = {}
        self._totals: list[tuple[int, frozenset[str], str]] = []

    def add(self, kind: str, id: str) -> None:
        """Adds a resource, from a list or a single reply."""
        self._ids.setdefault(kind, set()).add(id)

    def total(self, reply: Section, kinds: frozenset[str]) -> None:
        """Adds the total that a list of these kinds announces. Raises `BadInput`."""
        total = reply.take("totalResults")
        if isinstance(total, bool) or not isinstance(total, int):
            raise BadInput("expected a list response", where=reply.at("totalResults"))
        self._totals.append((total, kinds, reply.at("totalResults")))

    def check(self) -> None:
        """Raises `BadInput` if fewer resources were received than a list announces."""
        for total, kinds, where in self._totals:
            count = sum(len(self._ids.get(kind, ())) for kind in kinds)
            if count < total:
                message = f"expected {total:,} resources, got {count:,}: ask for all pages"
                raise BadInput(message, where=where)
