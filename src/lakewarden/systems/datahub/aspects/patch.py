"""Patches of aspects: JSON Patch, whose paths name the members of lists by their keys.

`/owners/URN/TYPE` is the owner with that URN and type, `/tags/URN` the tag with that URN. A path
may give only the first of several keys: it then names every member that has them. The value for a
member is the member, or a list of members; the rest of a path after the keys leads into the member.
Edges between columns have paths of their own (`lakewarden.systems.datahub.aspects.column_edges`).
Missing containers of a value are created: a list if the name is known to be one, else an object.

A patch may also be an object. With `arrayPrimaryKeys`, or with `forceGenericPatch`, only the keys
that it names apply: members of other lists are named by their index.

SOURCE: DataHub's patch templates (ownership: owner, type, typeUrn, attribution source), its
GenericJsonPatch and GenericPatchTemplate.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from lakewarden.kernel.errors import BadInput
from lakewarden.names.canonical import quoted
from lakewarden.systems.datahub.aspects import column_edges
from lakewarden.systems.datahub.aspects.column_edges import ColumnEdges
from lakewarden.systems.datahub.aspects.fields import Fields, without_avro_type

Keys = Sequence[str]

_INSIDE: Final = "␟"

SOURCE: Final = f"attribution{_INSIDE}source"
"""The notation for a key inside a member."""

KEYS: Final[Mapping[str, Keys]] = {
    "allowedValues": ("value",),
    "assets": ("destinationUrn",),
    "chartEdges": ("destinationUrn",),
    "dashboards": ("destinationUrn",),
    "datasetEdges": ("destinationUrn",),
    "documentations": (SOURCE,),
    "domainAssociations": ("domain", SOURCE),
    "editableSchemaFieldInfo": ("fieldPath",),
    "elements": ("url",),
    "inputDatajobEdges": ("destinationUrn",),
    "inputDatasetEdges": ("destinationUrn",),
    "inputEdges": ("destinationUrn",),
    "outputDatasetEdges": ("destinationUrn",),
    "owners": ("owner", "type", "typeUrn", SOURCE),
    "prompts": ("id",),
    "properties": ("propertyUrn", SOURCE),
    "subjects": ("entity",),
    "tags": ("tag", SOURCE),
    "terms": ("urn", SOURCE),
    "upstreams": ("dataset",),
}
"""The keys of the members of each list."""

TEXTS: Final = frozenset(
    (
        "admins",
        "allowedPlatforms",
        "charts",
        "datasets",
        "domains",
        "entityTypes",
        "groups",
        "inputDatasetFields",
        "inputs",
        "members",
        "nativeGroups",
        "outputDatasetFields",
        "ownershipTypes",
        "roles",
        "siblings",
        "users",
    )
)
"""The lists of plain strings, which are their own keys."""

_OPERATIONS = ("add", "remove", "replace")

LARGEST: Final = 1_000
"""The maximum number of operations in a patch, unless the operator sets another limit."""

DEEPEST: Final = 64
"""The maximum number of parts in a path."""

_DIGITS: Final = 6
_MOST_KEYS: Final = 8
_LONGEST_KEY: Final = 256


def check(patch: object, where: str) -> None:
    """Raises `BadInput` for an invalid patch."""
    _read_operations(patch, where, None)


def apply(aspect: object, patch: object, where: str, most: int | None = None) -> object:
    """The aspect after the patch; None: the aspect does not exist yet. Raises `BadInput`.

    >>> apply({"tags": [{"tag": "a"}]}, [{"op": "remove", "path": "/tags/a"}], "")
    {'tags': []}
    """
    patched = PatchedAspect(aspect)
    patched.apply(patch, where, most)
    return patched.value()


class _Naming(NamedTuple):
    """How a patch names the members of lists; `is_generic`: only by the keys in the patch."""

    keys: Mapping[str, Keys]
    is_generic: bool

    def is_list(self, name: str) -> bool:
        """Whether a missing value under a name is a list."""
        known = name in TEXTS or name == column_edges.NAME
        return name in self.keys or (known and not self.is_generic)

    def keys_of(self, name: str, members: object) -> Keys | None:
        """The keys of a list's members, none for strings; None: they are named by index."""
        if self.is_list(name):
            return self.keys.get(name, ())
        is_plain = isinstance(members, list) and members and not isinstance(members[0], str)
        return None if self.is_generic or is_plain else ()


class _Step(NamedTuple):
    """The rest of an operation: the remaining path, and the value (None: to be removed)."""

    parts: list[str]
    value: Any
    is_added: bool
    naming: _Naming
    at: str

    def after(self, count: int) -> _Step:
        """The operation after the first `count` parts."""
        return self._replace(parts=self.parts[count:])


Begin = Callable[[str], dict[str, Any]]


def _begin_empty(_: str) -> dict[str, Any]:
    return {}


class PatchedAspect:
    """An aspect to which several patches are applied, each with at most `most` operations.

    None means any number. Neither the aspect nor a patch is changed. COST: linear in the aspect and
    the patches, because the aspect is copied once and the members of a list are found by their
    keys.
    """

    def __init__(self, aspect: object, begin: Begin = _begin_empty) -> None:
        """`begin` returns the initial content of a missing object, by its name."""
        self._root: object = {} if aspect is None else copy.deepcopy(aspect)
        self._begin = begin
        self._lists: list[tuple[dict[str, Any], str, _Members | ColumnEdges]] = []

    def apply(self, patch: object, where: str, most: int | None = None) -> None:
        """Applies another patch. Raises `BadInput`; the object must not be used after that."""
        for step in _read_operations(patch, where, most):
            if not isinstance(self._root, dict):
                raise BadInput("expected an object", where=step.at)
            self._change_object(self._root, step._replace(value=copy.deepcopy(step.value)))

    def value(self) -> object:
        """The current aspect."""
        for node, name, members in self._lists:
            if node.get(name) is members:
                node[name] = members.to_list()
        self._lists.clear()
        return self._root

    def _change_object(self, node: dict[str, Any], step: _Step) -> None:
        """Changes a value below an object."""
        name, rest = step.parts[0], step.after(1)
        if not rest.parts:
            if step.value is None:
                node.pop(name, None)
            else:
                node[name] = step.value
            return
        if node.get(name) is None:
            if step.value is None:
                return
            is_list = step.naming.is_list(name) or rest.parts == ["-"]
            node[name] = [] if is_list else self._begin(name)
        inner = node[name]
        if isinstance(inner, dict):
            self._change_object(inner, rest)
        elif isinstance(inner, (list, _Members, ColumnEdges)):
            self._change_list(node, name, rest)
        else:
            raise BadInput(f"`{name}` has no members", where=step.at)

    def _change_list(self, node: dict[str, Any], name: str, step: _Step) -> None:
        """Changes members of the list under a name, or values below one of them."""
        value = node[name]
        keys = step.naming.keys_of(name, value)
        if keys is None:
            node[name] = value.to_list() if isinstance(value, (_Members, ColumnEdges)) else value
            self._change_by_position(node[name], name, step)
            return
        members = self._keyed_members(node, name, keys)
        key_parts = step.parts[: len(keys)]
        if isinstance(members, ColumnEdges) or not keys or step.parts == key_parts:
            members.change(step.parts, step.value)
            return
        number = members.find_or_add(key_parts, makes=step.value is not None)
        if number is None:
            return
        member = members.remove(number)
        if not isinstance(member, dict):
            raise BadInput(f"`{name}` has texts as members", where=step.at)
        self._change_object(member, step.after(len(keys)))
        members.insert(number, member)

    def _change_by_position(self, members: list[Any], name: str, step: _Step) -> None:
        """Changes the member with an index, counted from 0, or a value below it."""
        position, rest = step.parts[0], step.after(1)
        is_new = not rest.parts and step.is_added
        if position == "-" and is_new:
            members.append(step.value)
            return
        place = (
            int(position)
            if position.isascii() and position.isdigit() and len(position) <= _DIGITS
            else None
        )
        if place is None or place >= len(members) + is_new:
            raise BadInput(f"`{name}` has no member {quoted(position)}", where=step.at)
        if is_new:
            members.insert(place, step.value)
        elif not rest.parts and step.value is None:
            del members[place]
        elif not rest.parts:
            members[place] = step.value
        elif isinstance(members[place], dict):
            self._change_object(members[place], rest)
        else:
            raise BadInput(f"`{name}/{position}` has no members", where=step.at)

    def _keyed_members(self, node: dict[str, Any], name: str, keys: Keys) -> _Members | ColumnEdges:
        """The list under a name, with its members by these keys."""
        value = node[name]
        is_known = isinstance(value, (_Members, ColumnEdges))
        if is_known and value.keys == keys:
            known: _Members | ColumnEdges = value
            return known
        plain = value.to_list() if is_known else value
        is_of_columns = name == column_edges.NAME and not keys
        members = ColumnEdges(plain) if is_of_columns else _Members(plain, keys)
        node[name] = members
        self._lists.append((node, name, members))
        return members


class _Members:
    """The members of a list, in order, found by all or the first of their keys."""

    def __init__(self, members: Sequence[object], keys: Keys) -> None:
        self.keys = keys
        self._keyed_members: dict[int, object] = {}
        self._named: dict[tuple[str, ...], dict[int, None]] = {}
        self._next = 0
        for member in members:
            self._add(member)

    def change(self, parts: list[str], value: object | None) -> None:
        """Removes the members that the path names, and adds the new ones."""
        added = [] if value is None else value if isinstance(value, list) else [value]
        if parts != ["-"]:
            for number in list(self._named.get(tuple(parts), ())):
                self.remove(number)
        for member in added:
            self._add(member)

    def find_or_add(self, parts: list[str], *, makes: bool) -> int | None:
        """The number of the member with all of these keys; a missing one is added, or None.

        Several equal ones become one, as in the original.
        """
        first, *others = self._named.get(tuple(parts), ()) or (None,)
        if first is None:
            return self._add(self._new_member(parts)) if makes else None
        for other in others:
            both = self.remove(first), self.remove(other)
            alike = [member for member in both if isinstance(member, dict)]
            merged = {name: value for member in alike for name, value in member.items()}
            self.insert(first, merged if alike else both[0])
        return first

    def remove(self, number: int) -> object:
        """Removes a member."""
        member = self._keyed_members.pop(number)
        for name in _key_paths(member, self.keys):
            del self._named[name][number]
        return member

    def insert(self, number: int, member: object) -> None:
        """Inserts a member under a free number."""
        self._keyed_members[number] = member
        for name in _key_paths(member, self.keys):
            self._named.setdefault(name, {})[number] = None

    def to_list(self) -> list[object]:
        """The members as a list."""
        return [self._keyed_members[number] for number in sorted(self._keyed_members)]

    def _add(self, member: object) -> int:
        number, self._next = self._next, self._next + 1
        self.insert(number, member)
        return number

    def _new_member(self, parts: list[str]) -> dict[str, Any]:
        """A member with only these keys."""
        object: dict[str, Any] = {}
        for key, part in zip(self.keys, parts, strict=True):
            *outer, last = key.split(_INSIDE)
            if part:
                node = object
                for step in outer:
                    node = node.setdefault(step, {})
                node[last] = part
        return object


def _key_paths(member: object, keys: Keys) -> Iterator[tuple[str, ...]]:
    """The paths that name a member, from its first key to all keys; a string names itself."""
    if isinstance(member, Mapping):
        name: tuple[str, ...] = ()
        for key in keys:
            name = (*name, _key_value(member, key))
            yield name
    elif isinstance(member, str):
        yield (member,)


def _read_operations(patch: object, where: str, most: int | None) -> Iterator[_Step]:
    """The operations of a patch. Raises `BadInput` for anything else, and for an empty patch."""
    fields = Fields(patch if isinstance(patch, Mapping) else {"patch": patch}, where)
    naming = _read_naming(fields) if isinstance(patch, Mapping) else _Naming(KEYS, is_generic=False)
    operations = fields.values("patch")
    if not operations:
        raise BadInput("expected a list of operations, at least one", where=fields.at("patch"))
    if most is not None and len(operations) > most:
        raise BadInput(f"expected no more than {most} operations", where=fields.at("patch"))
    return iter([_read_operation(item, naming) for item in fields.objects("patch")])


def _read_naming(fields: Fields) -> _Naming:
    """How a patch in the form of an object names the members of lists."""
    is_forced = fields.flag("forceGenericPatch")
    declared = fields.object_or_none("arrayPrimaryKeys")
    keys = (
        {}
        if declared is None
        else {name: _read_keys(declared, name) for name in declared.everything()}
    )
    return _Naming(keys, is_generic=True) if keys or is_forced else _Naming(KEYS, is_generic=False)


def _read_keys(declared: Fields, name: str) -> Keys:
    """COST: limited, since every member of a list is examined for each of its keys."""
    keys = declared.texts(name)
    if len(keys) > _MOST_KEYS:
        raise BadInput(f"expected no more than {_MOST_KEYS} keys", where=declared.at(name))
    if any(len(key) > _LONGEST_KEY for key in keys):
        message = f"expected keys of no more than {_LONGEST_KEY} characters"
        raise BadInput(message, where=declared.at(name))
    return tuple(keys)


def _read_operation(item: Fields, naming: _Naming) -> _Step:
    operation = item.text("op")
    if operation not in _OPERATIONS:
        expected = ", ".join(_OPERATIONS)
        raise BadInput(
            f"unknown {quoted(operation)}; expected one of: {expected}", where=item.at("op")
        )
    path = item.text("path")
    if not path.startswith("/"):
        raise BadInput("expected a path that begins with `/`", where=item.at("path"))
    if path.count("/") > DEEPEST:
        raise BadInput(f"expected a path of no more than {DEEPEST} parts", where=item.at("path"))
    parts = [part.replace("~1", "/").replace("~0", "~") for part in path[1:].split("/")]
    if operation != "remove" and "value" not in item:
        raise BadInput("expected a value", where=item.at("value"))
    value = None if operation == "remove" else item.whole("value")
    return _Step(parts, value, operation == "add", naming, item.where)


def _key_value(member: Mapping[str, object], key: str) -> str:
    """The member's key; an absent one counts as empty."""
    value: object = member
    for step in key.split(_INSIDE):
        value = value.get(step) if isinstance(value, Mapping) else None
    value = without_avro_type(value)
    return "" if value is None else str(value)
