"""Parts of aspects as values of the schema: members are read when they are asked for.

Aspects are kept as they were written, and nobody promises that a member is of the type that
DataHub gives it: what is not, is shown as if it were not there. Both spellings of JSON are read
(`lakewarden.systems.datahub.aspects.fields`).
"""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Mapping
from functools import cache
from typing import Any, Final, NamedTuple

from graphql import (
    GraphQLEnumType,
    GraphQLField,
    GraphQLList,
    GraphQLOutputType,
    GraphQLScalarType,
    default_field_resolver,
    get_named_type,
    get_nullable_type,
    is_non_null_type,
)

from lakewarden.kernel.entity import Entity
from lakewarden.service.cancellation import check
from lakewarden.systems.datahub.aspects.fields import untagged
from lakewarden.systems.datahub.http.graphql.resolving import Info

NOBODY: Final = "urn:li:corpuser:unknown"
"""Who did what nobody is known to have done."""


class Part(NamedTuple):
    """An aspect of an entity, or a part of one: an object."""

    entity: Entity
    value: Mapping[str, Any]
    aspect: str = ""

    def of(self, value: Mapping[str, Any]) -> Part:
        """A part of this one."""
        return Part(self.entity, value, self.aspect)

    def get(self, key: str) -> Any:
        """A member, without the name of its Avro type."""
        return untagged(self.value.get(key))

    def text(self, key: str) -> str | None:
        found = self.get(key)
        return found if isinstance(found, str) else None

    def number(self, key: str) -> int | None:
        """A whole number; one that was written as 7.0 is 7."""
        found = self.get(key)
        if isinstance(found, float) and found.is_integer():
            return int(found)
        return found if isinstance(found, int) and not isinstance(found, bool) else None

    def decimal(self, key: str) -> float | None:
        """Any number."""
        found = self.get(key)
        is_number = isinstance(found, int | float) and not isinstance(found, bool)
        return float(found) if is_number else None

    def flag(self, key: str) -> bool:
        return self.get(key) is True

    def texts(self, key: str) -> list[str]:
        return [one for one in self.listed(key) if isinstance(one, str)]

    def part(self, key: str) -> Part | None:
        """A member that is an object."""
        found = self.get(key)
        return self.of(found) if isinstance(found, Mapping) else None

    def parts(self, key: str) -> list[Part]:
        """The objects of a list."""
        return [self.of(one) for one in self.listed(key) if isinstance(one, Mapping)]

    def listed(self, key: str) -> Iterator[object]:
        """The members of a list, whatever they are."""
        found = self.get(key)
        yield from (untagged(one) for one in found) if isinstance(found, list) else ()


Field = Callable[..., Any]
"""A resolver of a field of a part."""


def aspect(name: str) -> Field:
    """An aspect of the entity; null where it has none."""

    def resolve(entity: Entity, info: Info, **_: object) -> Part | None:
        value = info.context.aspect(entity, name)
        return Part(entity, value, name) if value else None

    return resolve


def of_aspect(name: str, field: Field | None = None) -> Field:
    """A field of an aspect, shown as one of the entity; null where it has no such aspect.

    Without `field` it is the member of the field's name.
    """
    read = field or typed()

    def resolve(entity: Entity, info: Info) -> Any:
        value = info.context.aspect(entity, name)
        return read(Part(entity, value, name), info) if value else None

    return resolve


@cache
def reader(type: GraphQLOutputType, otherwise: str | None = None) -> Callable[[Part, str], Any]:
    """How a member is read for a field of this type; any other member counts as not there.

    What is not there is `otherwise`, or else null; where null is not allowed, empty or zero.
    """
    named = get_named_type(type)
    many = isinstance(get_nullable_type(type), GraphQLList)
    if isinstance(named, GraphQLEnumType):
        return _words(named.values) if many else _word(named.values, otherwise)
    if not isinstance(named, GraphQLScalarType):
        return Part.parts if many else Part.part
    if many:
        return Part.texts
    read, empty = _SCALARS[named.name]
    return _or(
        read, (empty if is_non_null_type(type) else None) if otherwise is None else otherwise
    )


_SCALARS: Final[Mapping[str, tuple[Callable[[Part, str], Any], object]]] = {
    "Boolean": (Part.flag, None),
    "Float": (Part.decimal, None),
    "ID": (Part.text, ""),
    "Int": (Part.number, 0),
    "Long": (Part.number, 0),
    "String": (Part.text, ""),
}
"""How a member is read for a scalar; what stands for none where null is not allowed."""


def _or(read: Callable[[Part, str], Any], otherwise: object) -> Callable[[Part, str], Any]:
    if otherwise is None:
        return read

    def found_or(part: Part, key: str) -> Any:
        found = read(part, key)
        return otherwise if found is None else found

    return found_or


def _word(words: Container[str | None], otherwise: str | None) -> Callable[[Part, str], Any]:
    def word(part: Part, key: str) -> str | None:
        found = part.text(key)
        return found if found in words else otherwise

    return word


def _words(words: Container[str]) -> Callable[[Part, str], Any]:
    return lambda part, key: [one for one in part.texts(key) if one in words]


def by_default(name: str, field: GraphQLField) -> Field:
    """The resolver of a field that no module resolves: of a part, the member of its name."""
    read = reader(field.type)

    def resolve(parent: object, info: Info, **given: Any) -> Any:
        if isinstance(parent, Part):
            check()
            return read(parent, name)
        return default_field_resolver(parent, info, **given)

    return resolve


def typed(key: str | None = None, otherwise: str | None = None) -> Field:
    """A member under another key than the field's name, or with a value for where it is not there.

    It is read by the field's type.
    """

    def resolve(part: Part, info: Info) -> Any:
        return reader(info.return_type, otherwise)(part, key or info.field_name)

    return resolve


def stamp(key: str, *, always: bool = False) -> Field:
    """Who did something when. `always`: where nothing is known, nobody at the epoch."""

    def resolve(part: Part, _info: Info) -> Mapping[str, Any] | None:
        found = part.part(key)
        if found is None:
            return {"time": 0, "actor": NOBODY} if always else None
        return {"time": found.number("time") or 0, "actor": found.text("actor")}

    return resolve


def time_of(key: str) -> Field:
    """When something was done, of a member that says also by whom."""

    def resolve(part: Part, _info: Info) -> int | None:
        found = part.part(key)
        return None if found is None else found.number("time")

    return resolve


def actor_of(key: str) -> Field:
    """Who did something, as a URN."""

    def resolve(part: Part, _info: Info) -> str | None:
        found = part.part(key)
        return None if found is None else found.text("actor")

    return resolve


def custom_properties(part: Part, _info: Info) -> list[Mapping[str, Any]]:
    """The properties without a meaning, in order of their names."""
    return [
        {"key": key, "value": value, "associatedUrn": part.entity.name}
        for key, value in _map(part, "customProperties")
    ]


def entries(key: str) -> Field:
    """A map of texts, in order of its keys."""

    def resolve(part: Part, _info: Info) -> list[Mapping[str, str]] | None:
        found = _map(part, key)
        return [{"key": name, "value": value} for name, value in found] or None

    return resolve


def _map(part: Part, key: str) -> list[tuple[str, str]]:
    """The texts of a map. Its keys are anybody's, so that none is the name of a type."""
    found = part.value.get(key)
    members = sorted(found.items()) if isinstance(found, Mapping) else ()
    return [(name, value) for name, value in members if isinstance(value, str)]
