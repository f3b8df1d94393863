"""Patches of aspects: JSON Patch, whose paths name the members of lists by their keys.

`/owners/URN/TYPE` is the owner with that URN and type, `/tags/URN` the tag with that URN.
Of several keys the first ones are enough: they then mean every member that has them. The
value of a member is the member, or a list of members; edges between columns have paths of their
own (`lakewarden.aspects.column_edges`). A patch may also come as an object that names the keys
(`arrayPrimaryKeys`).

SOURCE: DataHub's patch templates (ownership: owner, type, typeUrn, attribution source).
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from lakewarden.aspects import column_edges
from lakewarden.aspects.column_edges import ColumnEdges
from lakewarden.aspects.fields import Fields
from lakewarden.kernel.errors import BadInput
from lakewarden.names.canonical import quoted

Keys = Sequence[str]

SOURCE: Final = "attribution␟source"
"""How a key inside a member is written."""

KEYS: Final[Mapping[str, Keys]] = {
    "assets": ("destinationUrn",),
    "chartEdges": ("destinationUrn",),
    "dashboards": ("destinationUrn",),
    "datasetEdges": ("destinationUrn",),
    "domainAssociations": ("domain", SOURCE),
    "inputDatajobEdges": ("destinationUrn",),
    "inputDatasetEdges": ("destinationUrn",),
    "inputEdges": ("destinationUrn",),
    "outputDatasetEdges": ("destinationUrn",),
    "owners": ("owner", "type", "typeUrn", SOURCE),
    "properties": ("propertyUrn", SOURCE),
    "subjects": ("entity",),
    "tags": ("tag", SOURCE),
    "terms": ("urn", SOURCE),
    "upstreams": ("dataset",),
}
"""The keys of the members of each list; a list of plain texts needs none."""

_OPERATIONS = ("add", "remove", "replace")

LARGEST: Final = 1_000
"""So many operations a patch may have, unless the operator says otherwise."""

DEEPEST: Final = 64
"""So many parts a path may have."""

_MOST_KEYS: Final = 8
_LONGEST_KEY: Final = 256


def check(patch: object, where: str) -> None:
    """Raises `BadInput` for what is no patch that can be applied."""
    _read(patch, where, None)


def apply(aspect: object, patch: object, where: str, most: int | None = None) -> object:
    """The aspect (None: there is none yet) after the patch. Raises `BadInput`.

    >>> apply({"tags": [{"tag": "a"}]}, [{"op": "remove", "path": "/tags/a"}], "")
    {'tags': []}
    """
    patched = Patched(aspect)
    patched.apply(patch, where, most)
    return patched.value()


class Patched:
    """An aspect under several patches, each with `most` operations at most (None: any number).

    Neither the aspect nor a patch is changed. COST: linear in the aspect and the patches, for
    the aspect is copied once and the members of a list are found by their keys.
    """

    def __init__(self, aspect: object) -> None:
        self._root: object = {} if aspect is None else copy.deepcopy(aspect)
        self._lists: list[tuple[dict[str, Any], str, _Members | ColumnEdges]] = []

    def apply(self, patch: object, where: str, most: int | None = None) -> None:
        """Applies one more patch. Raises `BadInput`, and then the rest is not to be used."""
        keys, operations = _read(patch, where, most)
        for parts, value, at in operations:
            if not isinstance(self._root, dict):
                raise BadInput("expected an object", where=at)
            self._object(self._root, parts, copy.deepcopy(value), keys, at)

    def value(self) -> object:
        """The aspect as it is now."""
        for node, name, members in self._lists:
            if node.get(name) is members:
                node[name] = members.plain()
        self._lists.clear()
        return self._root

    def _object(
        self,
        node: dict[str, Any],
        parts: list[str],
        value: object | None,
        keys: Mapping[str, Keys],
        at: str,
    ) -> None:
        for depth, name in enumerate(parts[:-1]):
            rest = parts[depth + 1 :]
            inner = node.get(name)
            if inner is None:
                if value is None:
                    return
                is_list = name in keys or len(rest) == 1 or name == column_edges.NAME
                inner = node[name] = [] if is_list else {}
            if isinstance(inner, (list, _Members, ColumnEdges)):
                self._members(node, name, keys.get(name, ())).change(rest, value)
                return
            if not isinstance(inner, dict):
                raise BadInput(f"`{name}` has no members", where=at)
            node = inner
        if value is None:
            node.pop(parts[-1], None)
        else:
            node[parts[-1]] = value

    def _members(self, node: dict[str, Any], name: str, keys: Keys) -> _Members | ColumnEdges:
        """The list under a name, its members by these keys."""
        there = node[name]
        is_known = isinstance(there, (_Members, ColumnEdges))
        if is_known and there.keys == keys:
            found: _Members | ColumnEdges = there
            return found
        plain = there.plain() if is_known else there
        is_of_columns = name == column_edges.NAME and not keys
        members = ColumnEdges(plain) if is_of_columns else _Members(plain, keys)
        node[name] = members
        self._lists.append((node, name, members))
        return members


class _Members:
    """The members of a list, in order, found by the first ones of their keys or all of them."""

    def __init__(self, members: Sequence[object], keys: Keys) -> None:
        self.keys = keys
        self._members: dict[int, object] = {}
        self._named: dict[tuple[str, ...], dict[int, None]] = {}
        self._next = 0
        for member in members:
            self._add(member)

    def change(self, parts: list[str], value: object | None) -> None:
        """Takes the members away that the path names, and adds the new ones."""
        added = [] if value is None else value if isinstance(value, list) else [value]
        if parts != ["-"]:
            for number in list(self._named.get(tuple(parts), ())):
                for name in _names(self._members.pop(number), self.keys):
                    del self._named[name][number]
        for member in added:
            self._add(member)

    def plain(self) -> list[object]:
        """The members as a list."""
        return list(self._members.values())

    def _add(self, member: object) -> None:
        self._members[self._next] = member
        for name in _names(member, self.keys):
            self._named.setdefault(name, {})[self._next] = None
        self._next += 1


def _names(member: object, keys: Keys) -> Iterator[tuple[str, ...]]:
    """The paths that name a member, from its first key to all of them; a text names itself."""
    if isinstance(member, Mapping):
        name: tuple[str, ...] = ()
        for key in keys:
            name = (*name, _key(member, key))
            yield name
    elif isinstance(member, str):
        yield (member,)


_Operation = tuple[list[str], object | None, str]


def _read(
    patch: object, where: str, most: int | None
) -> tuple[Mapping[str, Keys], list[_Operation]]:
    keys = dict(KEYS)
    whole = Fields(patch if isinstance(patch, Mapping) else {"patch": patch}, where)
    if isinstance(patch, Mapping):
        given = whole.object_or_none("arrayPrimaryKeys")
        if given is not None:
            keys |= {name: _keys(given, name) for name in given.everything()}
    found = whole.values("patch")
    if most is not None and len(found) > most:
        raise BadInput(f"expected no more than {most} operations", where=whole.at("patch"))
    return keys, [_operation(item) for item in whole.objects("patch")]


def _keys(given: Fields, name: str) -> Keys:
    """COST: bounded, since each member of a list is looked at for each of its keys."""
    found = given.texts(name)
    if len(found) > _MOST_KEYS:
        raise BadInput(f"expected no more than {_MOST_KEYS} keys", where=given.at(name))
    if any(len(key) > _LONGEST_KEY for key in found):
        told = f"expected keys of no more than {_LONGEST_KEY} characters"
        raise BadInput(told, where=given.at(name))
    return tuple(found)


def _operation(item: Fields) -> _Operation:
    word = item.text("op")
    if word not in _OPERATIONS:
        expected = ", ".join(_OPERATIONS)
        raise BadInput(f"unknown {quoted(word)}; expected one of: {expected}", where=item.at("op"))
    path = item.text("path")
    if not path.startswith("/"):
        raise BadInput("expected a path that begins with `/`", where=item.at("path"))
    if path.count("/") > DEEPEST:
        raise BadInput(f"expected a path of no more than {DEEPEST} parts", where=item.at("path"))
    parts = [part.replace("~1", "/").replace("~0", "~") for part in path[1:].split("/")]
    if word == "remove":
        return parts, None, item.where
    if "value" not in item:
        raise BadInput("expected a value", where=item.at("value"))
    return parts, item.whole("value"), item.where


def _key(member: Mapping[str, object], key: str) -> str:
    """The member's key; what it does not have counts as empty."""
    found: object = member
    for step in key.split("␟"):
        found = found.get(step) if isinstance(found, Mapping) else None
    return "" if found is None else str(found)
