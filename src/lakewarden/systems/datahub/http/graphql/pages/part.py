"""Parts of aspects as values of the schema: members are read when they are asked for.

Aspects are kept as they were written, and nobody promises that a member is of the type that
DataHub gives it: what is not, is shown as if it were not there. Both spellings of JSON are read
(`lakewarden.systems.datahub.aspects.fields`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final, NamedTuple

from lakewarden.kernel.entity import Entity
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


def of_aspect(name: str, field: Field) -> Field:
    """A field of an aspect, shown as one of the entity; null where it has no such aspect."""

    def resolve(entity: Entity, info: Info) -> Any:
        value = info.context.aspect(entity, name)
        return field(Part(entity, value, name), info) if value else None

    return resolve


def text(key: str, otherwise: str | None = None) -> Field:
    """A text."""

    def resolve(part: Part, _info: Info) -> str | None:
        found = part.text(key)
        return otherwise if found is None else found

    return resolve


def texts(key: str) -> Field:
    """The texts of a list."""
    return lambda part, _info: part.texts(key)


def flag(key: str) -> Field:
    """Whether a member is true."""
    return lambda part, _info: part.flag(key)


def number(key: str, otherwise: int | None = None) -> Field:
    """A whole number."""

    def resolve(part: Part, _info: Info) -> int | None:
        found = part.number(key)
        return otherwise if found is None else found

    return resolve


def word(key: str, words: Iterable[str], otherwise: str | None = None) -> Field:
    """One of the words of an enum; any other counts as `otherwise`."""
    known = frozenset(words)

    def resolve(part: Part, _info: Info) -> str | None:
        found = part.text(key)
        return found if found in known else otherwise

    return resolve


def part(key: str) -> Field:
    """A member that is an object."""
    return lambda part, _info: part.part(key)


def parts(key: str) -> Field:
    """The objects of a list."""
    return lambda part, _info: part.parts(key)


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
