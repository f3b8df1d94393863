"""Patches of aspects: JSON Patch, whose paths name the members of lists by their keys.

`/owners/URN/TYPE` is the owner with that URN and type, `/tags/URN` the tag with that URN.
Of several keys the first ones are enough: they then mean every member that has them. The
value of a member is the member, or a list of members. A patch may also come as an object
that names the keys (`arrayPrimaryKeys`).

SOURCE: DataHub's patch templates (ownership: owner, type, typeUrn, attribution source).
"""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from typing import Final

from lakewarden.aspects.fields import Fields
from lakewarden.kernel.errors import BadInput
from lakewarden.names.canonical import quoted

Keys = Sequence[str]

SOURCE: Final = "attribution␟source"
"""How a key inside a member is written."""

KEYS: Final[Mapping[str, Keys]] = {
    "assets": ("destinationUrn",),
    "domainAssociations": ("domain", SOURCE),
    "owners": ("owner", "type", "typeUrn", SOURCE),
    "properties": ("propertyUrn", SOURCE),
    "subjects": ("entity",),
    "tags": ("tag", SOURCE),
    "terms": ("urn", SOURCE),
}
"""The keys of the members of each list; a list of plain texts needs none."""

_OPERATIONS = ("add", "remove", "replace")


def check(patch: object, where: str) -> None:
    """Raises `BadInput` for what is no patch that can be applied."""
    _read(patch, where)


def apply(aspect: object, patch: object, where: str) -> object:
    """The aspect (None: there is none yet) after the patch. Raises `BadInput`.

    >>> apply({"tags": [{"tag": "a"}]}, [{"op": "remove", "path": "/tags/a"}], "")
    {'tags': []}
    """
    keys, operations = _read(patch, where)
    result: object = {} if aspect is None else copy.deepcopy(aspect)
    for parts, value, at in operations:
        if not isinstance(result, dict):
            raise BadInput("expected an object", where=at)
        _object(result, parts, value, keys, at)
    return result


_Operation = tuple[list[str], object | None, str]


def _read(patch: object, where: str) -> tuple[Mapping[str, Keys], list[_Operation]]:
    keys = dict(KEYS)
    if isinstance(patch, Mapping):
        whole = Fields(patch, where)
        given = whole.object_or_none("arrayPrimaryKeys")
        if given is not None:
            keys |= {name: given.texts(name) for name in given.everything()}
        operations = whole.objects("patch")
    else:
        operations = Fields({"patch": patch}, where).objects("patch")
    return keys, [_operation(item) for item in operations]


def _operation(item: Fields) -> _Operation:
    word = item.text("op")
    if word not in _OPERATIONS:
        expected = ", ".join(_OPERATIONS)
        raise BadInput(f"unknown {quoted(word)}; expected one of: {expected}", where=item.at("op"))
    path = item.text("path")
    if not path.startswith("/"):
        raise BadInput("expected a path that begins with `/`", where=item.at("path"))
    parts = [part.replace("~1", "/").replace("~0", "~") for part in path[1:].split("/")]
    if word == "remove":
        return parts, None, item.where
    if "value" not in item:
        raise BadInput("expected a value", where=item.at("value"))
    return parts, item.whole("value"), item.where


def _object(
    node: dict[str, object],
    parts: list[str],
    value: object | None,
    keys: Mapping[str, Keys],
    at: str,
) -> None:
    name, *rest = parts
    if not rest:
        if value is None:
            node.pop(name, None)
        else:
            node[name] = value
        return
    inner = node.get(name)
    if inner is None:
        if value is None:
            return
        inner = node[name] = [] if name in keys or len(rest) == 1 else {}
    if isinstance(inner, list):
        node[name] = _list(inner, rest, value, keys.get(name, ()))
    elif isinstance(inner, dict):
        _object(inner, rest, value, keys, at)
    else:
        raise BadInput(f"`{name}` has no members", where=at)


def _list(
    members: list[object], parts: list[str], value: object | None, keys: Keys
) -> list[object]:
    """The list without the members that the path names, and with the new ones."""
    added = [] if value is None else value if isinstance(value, list) else [value]
    if parts == ["-"]:
        return [*members, *added]
    return [*(m for m in members if not _is_named(m, parts, keys)), *added]


def _is_named(member: object, parts: Sequence[str], keys: Keys) -> bool:
    if not isinstance(member, Mapping):
        return [member] == list(parts)
    return len(parts) <= len(keys) and all(
        _key(member, key) == part for key, part in zip(keys, parts, strict=False)
    )


def _key(member: Mapping[str, object], key: str) -> str:
    """The member's key; what it does not have counts as empty."""
    found: object = member
    for step in key.split("␟"):
        found = found.get(step) if isinstance(found, Mapping) else None
    return "" if found is None else str(found)
