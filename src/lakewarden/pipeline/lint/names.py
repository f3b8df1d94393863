"""Names that are looked up when somebody asks: a realm's rules look at few of millions.

What is not known yet is noted and stands as nothing for the time being. Whoever asked looks the
noted ones up, all at once, and asks again from the start, until nothing new was noted.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, SupportsIndex, overload

from lakewarden.kernel.entity import Entity

UNKNOWN = ""
"""Stands for a name that was not looked up yet."""


class Register:
    """What was looked up so far, and what is to be looked up next.

    `misses` counts how often something was asked for that is not known yet.
    """

    def __init__(self) -> None:
        self.names: dict[int, str] = {}
        self.ids: dict[Entity, int | None] = {}
        self.asked_ids: set[int] = set()
        self.asked_entities: set[Entity] = set()
        self.misses = 0

    def name(self, id: int) -> str:
        """The name of the entity with this id."""
        found = self.names.get(id)
        if found is None:
            self.misses += 1
            self.asked_ids.add(id)
        return UNKNOWN if found is None else found

    def id(self, entity: Entity) -> int | None:
        """The id of the entity, stored or only mentioned."""
        if entity not in self.ids:
            self.misses += 1
            self.asked_entities.add(entity)
        return self.ids.get(entity)

    def learn(self, rows: Iterable[tuple[int, Entity]]) -> None:
        """Takes what was found; what was asked for and is not among it is nowhere."""
        for id, entity in rows:
            self.names[id] = entity.name
            self.ids[entity] = id
        for entity in self.asked_entities - self.ids.keys():
            self.ids[entity] = None
        self.asked_ids.clear()
        self.asked_entities.clear()


class Names(list[str]):
    """Stands where a tree keeps the names of all entities, by id."""

    def __init__(self, register: Register, count: int) -> None:
        super().__init__()
        self._register = register
        self._count = count

    def __len__(self) -> int:
        return self._count

    @overload
    def __getitem__(self, at: SupportsIndex) -> str: ...
    @overload
    def __getitem__(self, at: Any) -> list[str]: ...
    def __getitem__(self, at: Any) -> Any:
        if isinstance(at, slice):
            return [self[id] for id in range(*at.indices(self._count))]
        return self._register.name(int(at))


class Ids(dict[str, int]):
    """Stands where a tree keeps the ids of all entities of a type, by name."""

    def __init__(self, register: Register, type: str) -> None:
        super().__init__()
        self._register = register
        self._type = type

    def get(self, name: str, default: Any = None) -> Any:
        """The id of the name, or None: there is no such entity, or nobody looked yet."""
        id = self._register.id(Entity(self._type, name))
        return default if id is None else id
