"""Records of aspects as tables: the source of each member in a mutation's input.

RECORD = (Member("name"), Member("type", of="viewType"), Member("state", default="ACTIVE"))
created(RECORD, {"name": "n", "viewType": "GLOBAL"})
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from typing import Any, NamedTuple

from lakewarden.systems.datahub.use_cases.aspects import Value

Input = Mapping[str, Any]
"""An input object, or the arguments of a mutation together with the members of its `input`."""


class Member(NamedTuple):
    """A member of a record.

    `of`: the member of the input, as a path with dots; empty if it has the same name. `read`
    converts the value to that of the record; raises `Failure` 400. `default`: the value in a new
    record if the input gives none; None: the record then has no such member.
    """

    name: str
    of: str = ""
    read: Callable[[Any], Any] | None = None
    default: Any = None


def members(*names: str) -> tuple[Member, ...]:
    """Members that have the same names and values in the input."""
    return tuple(map(Member, names))


def provided_members(record: Iterable[Member], input: Input) -> Value:
    """The members that an input gives; null counts as absent."""
    value: Value = {}
    for member in record:
        provided_value = _read_member(member, input)
        if provided_value is not None:
            value[member.name] = (
                provided_value if member.read is None else member.read(provided_value)
            )
    return value


def new_record(record: Iterable[Member], input: Input) -> Value:
    """The members of a new record: those of the input, and defaults for the others."""
    members_of_record = tuple(record)
    defaults = {
        member.name: deepcopy(member.default)
        for member in members_of_record
        if member.default is not None
    }
    return {**defaults, **provided_members(members_of_record, input)}


def entries(inputs: Iterable[Input]) -> dict[str, str]:
    """A map of strings, from an input with its entries."""
    return {entry["key"]: entry.get("value") or "" for entry in inputs}


def _read_member(member: Member, input: Input) -> Any:
    value: Any = input
    for name in (member.of or member.name).split("."):
        value = None if value is None else value.get(name)
    return value
