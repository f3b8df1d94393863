"""Replies of SCIM 2.0: names of attributes in any case, and lists that may come in pages.

A page that is missing would leave users out of groups, and so out of what a group is denied.

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
    """The reply with names as the RFC spells them. Raises `BadInput` for one that is repeated.

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
    """How many resources lists say that there are, and which of them came."""

    def __init__(self) -> None:
        self._ids: dict[str, set[str]] = {}
        self._totals: list[tuple[int, frozenset[str], str]] = []

    def add(self, kind: str, id: str) -> None:
        """Adds a resource, in a list or by itself."""
        self._ids.setdefault(kind, set()).add(id)

    def total(self, reply: Section, kinds: frozenset[str]) -> None:
        """Adds what a list of these kinds says of all its pages. Raises `BadInput`."""
        total = reply.take("totalResults")
        if isinstance(total, bool) or not isinstance(total, int):
            raise BadInput("expected a list response", where=reply.at("totalResults"))
        self._totals.append((total, kinds, reply.at("totalResults")))

    def check(self) -> None:
        """Raises `BadInput` where a list has more resources than came."""
        for total, kinds, where in self._totals:
            count = sum(len(self._ids.get(kind, ())) for kind in kinds)
            if count < total:
                message = f"expected {total:,} resources, got {count:,}: ask for all pages"
                raise BadInput(message, where=where)
