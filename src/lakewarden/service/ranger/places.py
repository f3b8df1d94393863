"""The stored entities that policies of a service can name, by the engine's names."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final

from pyroaring import BitMap

from lakewarden.engines.mapping import EngineMapping
from lakewarden.engines.place import placeholders
from lakewarden.engines.ranger_service import CATALOG, Level, RangerService
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.model import Operation
from lakewarden.names.letter_case import same_but_for_case
from lakewarden.service.ranger.file_places import Files
from lakewarden.service.residue import Residue, Residues
from lakewarden.service.state import RealmState

_NAMEABLE: Final = re.compile(r"[a-z0-9_@#~=+:-]+")
"""Names that Ranger takes literally: no wildcard, no macro, no quotes, no capital letters."""

_NAMEABLE_EXACTLY: Final = re.compile(r"[A-Za-z0-9_@#~=+:.-]+")
"""The same if the engine is case-sensitive."""


@dataclass(frozen=True, slots=True)
class Place:
    """An entity that policies can name: the names of its containers, outermost first, and its own.

    A fileset or a table of a file system has one or more names: the paths of its files.
    """

    id: int
    above: tuple[str, ...]
    own: tuple[str, ...]

    @property
    def path(self) -> tuple[str, ...]:
        """The names from the outermost, for a place with one name."""
        return (*self.above, *self.own)


@dataclass(frozen=True, slots=True)
class Naming:
    """The names of a service, and what it governs: a catalog of the realm.

    Without a catalog it governs all of them. `files` are the places of files, if it is a file
    system. `folded`: Ranger ignores case, so neither of two names that differ only in case can be
    used. `append_only_catalogs` are catalogs of the engine whose tables are append-only. `by_tags`:
    masks by tags also become policies about tags; masks of columns precede them. Nobody gets access
    on the entities in `without`, given by ids.
    """

    service: str
    metalake: str
    catalogs: Mapping[str, str]
    governs: str = ""
    files: Files | None = None
    folded: bool = False
    append_only_catalogs: frozenset[str] = frozenset()
    by_tags: bool = False
    without: BitMap = field(default_factory=BitMap)


class Places:
    """The contents of a service's levels: the stored entities that Ranger can name.

    Excluded are names with capital letters if Ranger ignores case, two entities with the same name,
    and everything inside of these.
    """

    def __init__(
        self,
        realm: RealmState,
        mapping: EngineMapping,
        service: RangerService,
        naming: Naming,
        residues: Residues,
    ) -> None:
        self._realm, self._mapping, self._service = realm, mapping, service
        self._naming, self._residues = naming, residues
        catalogs = naming.catalogs
        # Catalogs that the engine calls by other names do not have their own names there.
        self._called = {own: called for called, own in catalogs.items()}
        self._twice = {own for own in catalogs.values() if [*catalogs.values()].count(own) > 1}
        self._taken = frozenset(catalogs)
        self._found: dict[str, Mapping[int, Place]] = {}
        self._ids: dict[str, BitMap] = {}
        self._inside: dict[str, Mapping[int, BitMap]] = {}
        self._of_types: dict[str, BitMap] = {}
        self._by_name: dict[str, Mapping[tuple[str, ...], int]] = {}

    def of(self, level: Level) -> Mapping[int, Place]:
        """The places of a level by entity id."""
        found = self._found.get(level.name)
        if found is None:
            found = self._found[level.name] = self._of(level)
        return found

    def ids(self, level: Level) -> BitMap:
        """The ids of the places of a level; do not modify it."""
        found = self._ids.get(level.name)
        if found is None:
            found = self._ids[level.name] = BitMap(self.of(level))
        return found

    def inside(self, level: Level, above: BitMap) -> BitMap:
        """The places of a level that are inside these."""
        inside = self._inside.get(level.name)
        if inside is None:
            grouped: dict[int, BitMap] = {}
            for id in self.of(level):
                grouped.setdefault(self._above(id), BitMap()).add(id)
            inside = self._inside[level.name] = grouped
        return BitMap.union(BitMap(), *(inside[id] for id in above if id in inside))

    def append_only_places(self, level: Level) -> BitMap:
        """The places of a level in catalogs whose tables are append-only."""
        catalogs = self._naming.append_only_catalogs
        if not catalogs:
            return BitMap()
        return BitMap([id for id, place in self.of(level).items() if place.path[0] in catalogs])

    def with_all_inside(self, level: Level, ids: BitMap) -> BitMap:
        """The places among these whose policies open no files of entities outside of these."""
        files = self._naming.files if level.located else None
        return ids if files is None else files.with_all_inside(ids)

    def named(self, level: Level, parts: tuple[str, ...]) -> Entity | None:
        """The entity with that name on a level, for files by folder; None if there is none."""
        if level.located:
            files = self._naming.files
            id = None if files is None or len(parts) != 1 else files.innermost(parts[0])
            id = id if id in self.of(level) else None
        else:
            known = self._by_name.get(level.name)
            if known is None:
                known = self._by_name[level.name] = {
                    place.path: place.id for place in self.of(level).values()
                }
            id = known.get(parts)
        return None if id is None else self._realm.matrix.snapshot.coded.tree.entity(id)

    def _above(self, id: int) -> int:
        return int(self._realm.matrix.snapshot.coded.tree.parents[id])

    def of_type(self, type: str) -> BitMap:
        """The ids of the places of a type of the realm; do not modify it."""
        found = self._of_types.get(type)
        if found is None:
            levels = (one for one in self._service.levels.values() if type in self.types(one))
            stored = self._realm.matrix.snapshot.of_type(type)
            found = BitMap.union(BitMap(), *(self.ids(level) for level in levels)) & stored
            self._of_types[type] = found
        return found

    def types(self, level: Level) -> Sequence[str]:
        """The types of the entities of the level."""
        return [
            type
            for type, template in self._mapping.names.items()
            if level.part and template.endswith(f"{{{level.part}}}")
        ]

    def roots(self, operation: Operation) -> Iterator[Entity]:
        """The entities of an operation on the whole engine: the metalake."""
        for type in operation.rules:
            template = self._mapping.names.get(type, "")
            if template and placeholders(template) == {"metalake"}:
                yield self._realm.system.spelling.parse(type, self._naming.metalake)

    def _of(self, level: Level) -> Mapping[int, Place]:
        snapshot = self._realm.matrix.snapshot
        tree = snapshot.coded.tree
        by_path: dict[tuple[str, ...], list[Place]] = {}
        alike_names = self._alike_names(level) if self._naming.folded else frozenset()
        for type in self.types(level):
            for id in snapshot.of_type(type) & tree.stored:
                entity = tree.entity(id)
                place = self._place(level, id, entity)
                if place is not None and self._folded(entity) in alike_names:
                    self._left_out("Ranger would take another name for it, in other case", entity)
                    continue
                if place is not None:
                    # Several may be at the same place: `with_all_inside` handles them.
                    key = (str(id),) if level.hidden or level.located else place.path
                    by_path.setdefault(key, []).append(place)
        places = {}
        for alike in by_path.values():
            if len(alike) == 1:
                places[alike[0].id] = alike[0]
            else:
                for place in alike:
                    self._left_out("another thing has the same name", tree.entity(place.id))
        return places

    def _alike_names(self, level: Level) -> frozenset[tuple[str, ...]]:
        """The folded names of a level that several entities with different names share."""
        snapshot, names = self._realm.matrix.snapshot, dict[tuple[str, ...], set[str]]()
        for type in self.types(level):
            for id in snapshot.of_type(type) & snapshot.coded.tree.stored:
                entity = snapshot.coded.tree.entity(id)
                names.setdefault(self._folded(entity), set()).add(entity.name)
        return frozenset(folded for folded, each in names.items() if len(each) > 1)

    def _folded(self, entity: Entity) -> tuple[str, ...]:
        """The parts of a name, equal for names that differ only in case."""
        parts = self._realm.system.spelling.parts(entity)
        return tuple(map(same_but_for_case, parts))

    def _place(self, level: Level, id: int, entity: Entity) -> Place | None:
        """The entity's name in the engine; None if it cannot be named, or is not governed."""
        parts = tuple(self._realm.system.spelling.parts(entity))
        if len(parts) != len(self._service.path(level)) + 1 or parts[0] != self._naming.metalake:
            return None
        if not level.within:
            return self._catalog(level, id, entity)
        parent = self.of(self._service.levels[level.within]).get(self._above(id))
        if parent is None:
            return None
        if level.hidden:
            return Place(id, parent.path, ())
        own = parts[-1]
        if own in self._service.engine.schemas:
            self._left_out("the engine has one of that name", entity)
            return None
        if level.part == "function" and self._mapping.engine.guards("function_schemas", parts[-2]):
            self._left_out("functions of a connector take more than their name says", entity)
            return None
        if level.located and self._naming.files is not None:
            paths = self._naming.files.paths(id)
            return Place(id, parent.path, paths) if paths else None
        return Place(id, parent.path, (own,)) if self._is_nameable(own, entity) else None

    def _catalog(self, level: Level, id: int, entity: Entity) -> Place | None:
        own = self._realm.system.spelling.parts(entity)[-1]
        if level.hidden:
            governs, is_one = self._naming.governs, self._service.governs == CATALOG
            return Place(id, (), ()) if own == governs or not (governs or is_one) else None
        if self._naming.governs and own != self._naming.governs:
            return None
        if own in self._twice:
            self._left_out("the engine has two catalogs for it", entity)
            return None
        called = self._called.get(own, own)
        is_taken = own not in self._called and own in self._taken
        if is_taken or called in self._service.engine.catalogs:
            self._left_out("the engine has another catalog of that name", entity)
            return None
        return Place(id, (), (called,)) if self._is_nameable(called, entity) else None

    def _is_nameable(self, name: str, entity: Entity) -> bool:
        pattern = _NAMEABLE if self._service.folds else _NAMEABLE_EXACTLY
        if pattern.fullmatch(name):
            return True
        self._left_out("Ranger would read the name in another way", entity)
        return False

    def _left_out(self, why: str, entity: Entity) -> None:
        self._residues.add(Residue(why, entity=str(entity)))
