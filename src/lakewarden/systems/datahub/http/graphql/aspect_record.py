"""Stored aspects: members of JSON objects, read as the expected type.

Aspects are stored as they were written, so a member may have another type than DataHub declares:
such a member counts as absent. Both spellings of JSON are read
(`lakewarden.systems.datahub.aspects.fields`).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.aspects.fields import without_avro_type
from lakewarden.systems.datahub.http.graphql.call import Call


class RecordPath:
    """The path of a record: its aspect, and the members that lead to the record from there.

    There is one object per path, compared by identity.
    """

    __slots__ = ("_within", "path")

    def __init__(self, path: tuple[str, ...]) -> None:
        self.path: Final = path
        """The aspect's name first."""
        self._within: dict[str, RecordPath] = {}

    def at(self, key: str) -> RecordPath:
        """The path of a member."""
        place = self._within.get(key)
        return (
            self._within.setdefault(key, RecordPath((*self.path, key))) if place is None else place
        )


class Record(NamedTuple):
    """An aspect of an entity, or an object within one. `place` is None outside a stored aspect."""

    entity: Entity
    value: Mapping[str, Any]
    place: RecordPath | None = None

    def get(self, key: str) -> Any:
        """A member, without the name of its Avro type."""
        return without_avro_type(self.value.get(key))

    def text(self, key: str) -> str | None:
        """A string."""
        value = self.get(key)
        return value if isinstance(value, str) else None

    def number(self, key: str) -> int | None:
        """An integer; 7.0 is read as 7."""
        value = self.get(key)
        if isinstance(value, float) and value.is_integer():
            return int(value)
        return value if isinstance(value, int) and not isinstance(value, bool) else None

    def decimal(self, key: str) -> float | None:
        """Any number."""
        value = self.get(key)
        is_number = isinstance(value, int | float) and not isinstance(value, bool)
        return float(value) if is_number else None

    def flag(self, key: str) -> bool | None:
        """A boolean."""
        value = self.get(key)
        return value if isinstance(value, bool) else None

    def texts(self, key: str) -> list[str]:
        """The strings of a list."""
        return [item for item in self.raw_list(key) if isinstance(item, str)]

    def record(self, key: str) -> Record | None:
        """A member that is an object."""
        value = self.get(key)
        return Record(self.entity, value, self._at(key)) if isinstance(value, Mapping) else None

    def record_or_empty(self, key: str) -> Record:
        """A member that is an object; an empty record for anything else."""
        return self.record(key) or Record(self.entity, {}, self._at(key))

    def records(self, key: str) -> list[Record]:
        """The objects of a list."""
        value, place = self.get(key), self._at(key)
        objects = map(without_avro_type, value) if isinstance(value, list) else ()
        return [Record(self.entity, item, place) for item in objects if isinstance(item, Mapping)]

    def objects(self, key: str) -> list[Record]:
        """The objects of a list, or of a member that is a single object."""
        value, place = self.get(key), self._at(key)
        members = map(without_avro_type, value) if isinstance(value, list) else (value,)
        return [
            Record(self.entity, member, place) for member in members if isinstance(member, Mapping)
        ]

    def raw_list(self, key: str) -> Iterator[object]:
        """The members of a list, of any type."""
        value = self.get(key)
        yield from (without_avro_type(item) for item in value) if isinstance(value, list) else ()

    def records_at(self, path: Sequence[str]) -> list[Record]:
        """The objects at the end of a path; through lists, those of each object."""
        records = [self]
        for key in path:
            records = [inner for record in records for inner in record.objects(key)]
        return records

    def entries(self, key: str) -> list[tuple[str, str]]:
        """The strings of a map, sorted by key. Users choose the keys: none names an Avro type."""
        value = self.value.get(key)
        members = sorted(value.items()) if isinstance(value, Mapping) else ()
        return [(name, text) for name, text in members if isinstance(text, str)]

    def _at(self, key: str) -> RecordPath | None:
        return None if self.place is None else self.place.at(key)


def aspect(call: Call, entity: Entity, name: str) -> Record:
    """An aspect of an entity; empty if it has none."""
    return record_of(entity, name, call.aspect(entity, name))


def record_of(entity: Entity, name: str, value: Mapping[str, Any]) -> Record:
    """The record of an aspect's value."""
    return Record(entity, value, _ASPECTS.at(name))


_ASPECTS: Final = RecordPath(())
