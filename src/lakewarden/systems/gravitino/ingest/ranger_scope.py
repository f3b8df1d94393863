"""The meaning of Ranger's resources and accesses in Gravitino: places in one service, privileges.

A resource names a value for each level, from the outermost on. Its *depth* is the number of levels
that remain after trailing `*` are dropped: `sales, *, *` is the schema `sales` with everything in
it. An allowing policy means exactly that; a pattern means the matching names that some policy
names. A restriction that cannot be expressed for its resource is expressed for the smallest entity
that contains it.

SOURCE: ecosystem reference 6.2 to 6.4; gravitino reference 7.2, read backwards.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import product, takewhile
from typing import Final, NamedTuple

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.systems.gravitino import names as gravitino
from lakewarden.systems.gravitino.ingest.ranger_policy import Level, Resource

TYPES: Final = ("metalake", "catalog", "schema", "table", "column")

MAX_PLACES: Final = 100_000
"""The maximum number of places that one policy may name."""

_ANY = "*"
_PATTERN = frozenset("*?{}$\\")


class Service(NamedTuple):
    """How services of one type name objects, and what their accesses mean."""

    levels: tuple[str, ...]
    others: frozenset[str]
    reads: frozenset[str]
    modifies: frozenset[str]
    inert: frozenset[str]


SERVICES: Final[Mapping[str, Service]] = {
    "hive": Service(
        levels=("database", "table", "column"),
        others=frozenset({"udf", "url", "hiveservice", "global"}),
        reads=frozenset({"select"}),
        modifies=frozenset({"select", "update", "alter"}),
        inert=frozenset({"drop", "repladmin", "serviceadmin", "tempudfadmin", "refresh"}),
    ),
    "trino": Service(
        levels=("catalog", "schema", "table", "column"),
        others=frozenset(
            {"procedure", "schemafunction", "sessionproperty", "trinouser", "systemproperty"}
            | {"function", "queryid", "sysinfo", "role"}
        ),
        reads=frozenset({"select"}),
        modifies=frozenset({"select", "insert", "delete", "alter"}),
        inert=frozenset(
            {"drop", "grant", "revoke", "impersonate", "execute", "read_sysinfo", "write_sysinfo"}
        ),
    ),
}
"""Types of services that have a counterpart. `others` are levels that are not supported, `inert`
accesses that no privilege here gives."""

_SEES = frozenset({"use", "show", "select", "read"})
_IN_SCHEMAS = frozenset({"SELECT_TABLE", "MODIFY_TABLE", "CREATE_TABLE"})
_CHANGES = frozenset({"insert", "update", "delete", "alter", "write", "index", "lock"})


class Place(NamedTuple):
    """An entity, and the type of the innermost level that the resource names.

    `whole`: all of the entity is meant, not only a part of it.
    """

    entity: Entity
    given: str
    whole: bool = True


@dataclass(slots=True)
class Scopes:
    """The places of one service; for Hive and similar, all are in one `catalog`."""

    metalake: str
    type: str
    catalog: str = ""
    _known: dict[str, dict[tuple[str, ...], Entity]] = field(default_factory=dict)
    _there: dict[tuple[str, ...], Entity] = field(default_factory=dict)

    @property
    def service(self) -> Service:
        return SERVICES[self.type]

    @property
    def top(self) -> tuple[str, ...]:
        """The names above the outermost level."""
        return (self.catalog,) if self.catalog else ()

    @property
    def root(self) -> Entity:
        """The entity that contains everything of the service."""
        return self._entity(self.top)

    def is_translatable(self, resource: Resource) -> bool:
        """Whether all levels of the resource have a counterpart, and none is missing."""
        levels = self.service.levels
        return bool(resource) and set(resource) == set(levels[: len(resource)])

    def is_elsewhere(self, resource: Resource) -> bool:
        """Whether the resource is of a kind without any counterpart here."""
        return bool(self.service.others & set(resource))

    def add_entities(self, entities: Iterable[Entity]) -> None:
        """Adds existing entities, to resolve patterns and names in any case.

        Raises `BadInput` if Ranger does not distinguish two names, or nothing is of the service.
        """
        top, catalogs = len(self.top), set[str]()
        for entity in entities:
            metalake, _, rest = entity.name.partition(":")
            names = tuple(rest.split(".")) if rest else ()
            if metalake != self.metalake or len(names) >= len(TYPES):
                continue
            if not names or TYPES[len(names)] != entity.type:
                continue
            catalogs.add(names[0])
            if names[:top] == self.top:
                folded = (*self.top, *(name.lower() for name in names[top:]))
                other = self._there.setdefault(folded, entity)
                if other != entity:
                    message = f"Ranger does not tell `{other.name}` and `{entity.name}` apart"
                    raise BadInput(message, where="inventory")
                self._known.setdefault(entity.type, {})[folded] = entity
        if not self._there:
            place = f"catalog `{self.catalog}`" if self.catalog else f"metalake `{self.metalake}`"
            listed = ", ".join(f"`{name}`" for name in sorted(catalogs)[:5]) or "none"
            message = f"has nothing in {place}; catalogs of `{self.metalake}`: {listed}"
            raise BadInput(message, where="inventory")

    def missing(self) -> list[Entity]:
        """The entities that policies name but that do not exist."""
        if not self._there:
            return []
        items_by_type = (named.items() for named in self._known.values())
        return [
            item_names
            for items in items_by_type
            for names, item_names in items
            if names not in self._there
        ]

    def learn(self, resource: Resource) -> None:
        """Remembers the names that a resource contains literally."""
        if self.is_translatable(resource):
            for values in self._combinations(resource):
                spelt = list(takewhile(_is_name, values))
                for depth in range(1, len(spelt) + 1):
                    self._add_entity((*self.top, *spelt[:depth]))

    def _add_entity(self, names: tuple[str, ...]) -> None:
        try:
            entity = self._entity(names)
        except BadInput:
            return
        self._known.setdefault(entity.type, {})[names] = entity

    def entities(self) -> list[Entity]:
        """All remembered entities and their containers, outermost first."""
        entities = [Entity("metalake", self.metalake)]
        if self.catalog:
            entities.append(self.root)
        return entities + [
            entity for type in TYPES for entity in self._known.get(type, {}).values()
        ]

    def exact(self, resource: Resource) -> list[Place] | None:
        """The places of an allowing policy; None if they cannot be expressed."""
        if not self.is_translatable(resource) or any(level.excludes for level in resource.values()):
            return None
        type = TYPES[len(self.top) + len(resource)]
        entities: dict[Entity, None] = {}
        for values in self._combinations(resource):
            depth = len(values)
            while depth and values[depth - 1] == _ANY:
                depth -= 1
            for entity in self._matching((*self.top, *values[:depth])):
                entities[entity] = None
        return [Place(entity, type) for entity in entities]

    def _matching(self, names: tuple[str, ...]) -> Iterator[Entity]:
        if any("{" in name or "$" in name for name in names):
            return  # a name that Ranger resolves for each caller
        if all(map(_is_name, names)):
            with suppress(BadInput):
                yield self._entity(names)
            return
        tests = [_matcher(name) for name in names]
        for known, entity in self._known.get(TYPES[len(names)], {}).items():
            if all(test.fullmatch(name) for test, name in zip(tests, known, strict=True)):
                yield entity

    def covering(self, resource: Resource) -> list[Place]:
        """The smallest restrictable entities that contain the resource."""
        if not self.is_translatable(resource):
            return [Place(self.root, "column", whole=False)]
        type = TYPES[len(self.top) + len(resource)]
        excludes = any(level.excludes for level in resource.values())
        places: dict[Place, None] = {}
        for values in self._combinations(resource):
            names = (*self.top, *takewhile(_is_name, values))
            entity = self._restrictable(names)
            deeper = values[len(names) - len(self.top) :]
            covers_type = (
                not excludes and set(deeper) <= {_ANY} and entity.type == TYPES[len(names)]
            )
            places[Place(entity, type, covers_type)] = None
        return list(places)

    def _restrictable(self, names: Sequence[str]) -> Entity:
        """The innermost of these, but no column, whose name is valid in Gravitino."""
        for length in range(min(len(names), TYPES.index("table")), 0, -1):
            try:
                return self._entity(tuple(names[:length]))
            except BadInput:
                continue
        return Entity("metalake", self.metalake)

    def _combinations(self, resource: Resource) -> Iterator[tuple[str, ...]]:
        """All combinations of the values; an excluding level counts as all values.

        Names are case-insensitive. SOURCE: `ignoreCase` in Ranger's service definitions.
        """
        levels: list[list[str]] = []
        total = 1
        for name in self.service.levels[: len(resource)]:
            levels.append(_values(resource[name]))
            total *= len(levels[-1])
        if total > MAX_PLACES:
            raise BadInput(f"the policy names {total:,} places, at most {MAX_PLACES:,} are read")
        yield from product(*levels)

    def _entity(self, names: tuple[str, ...]) -> Entity:
        full = ".".join(names)
        name = f"{self.metalake}:{full}" if full else self.metalake
        stored = self._there.get(names)
        return stored if stored is not None else gravitino.parse(TYPES[len(names)], name)

    def covered_privileges(self, accesses: Iterable[str], place: Place) -> set[str]:
        """The privileges that mean no more than the accesses at that place."""
        accesses_given, depth = self._all_privileges(accesses), TYPES.index(place.entity.type)
        given_depth, privileges = TYPES.index(place.given), set[str]()
        if place.given == "column" and place.entity.type != "column":
            privileges |= {"SELECT_TABLE"} if self.service.reads <= accesses_given else set()
            privileges |= {"MODIFY_TABLE"} if self.service.modifies <= accesses_given else set()
        if (
            "create" in accesses_given
            and given_depth > TYPES.index("schema")
            and depth <= TYPES.index("schema")
        ):
            privileges.add("CREATE_TABLE")
        if place.given == "schema":
            privileges |= {"USE_SCHEMA"} if accesses_given & {"select", "use"} else set()
            if "create" in accesses_given and place.entity.type in ("metalake", "catalog"):
                privileges.add("CREATE_SCHEMA")
        if place.given == "catalog" and "use" in accesses_given:
            privileges.add("USE_CATALOG")
        return privileges

    def without_meaning(self, accesses: Iterable[str], place: Place) -> set[str]:
        """The accesses that add nothing to the privileges at that place."""
        all_given = set(accesses)
        given = self.covered_privileges(all_given, place)
        return {
            access
            for access in all_given
            if not self.covered_privileges({access}, place)
            and self.covered_privileges(all_given - {access}, place) == given
        }

    def needs(self, place: Place, accesses: set[str]) -> Iterator[tuple[Entity, str]]:
        """The USE privileges required for these privileges, which Ranger does not require."""
        entity: Entity | None = place.entity
        while entity is not None and entity.type not in ("schema", "catalog", "metalake"):
            entity = gravitino.parent(entity)
        if entity is None:
            return
        if accesses & _IN_SCHEMAS:
            yield entity, "USE_SCHEMA"
        if self.catalog and accesses:
            yield self.root, "USE_CATALOG"

    def denied(self, accesses: Iterable[str], place: Place) -> Iterator[tuple[Entity, str]]:
        """The privileges to remove for the accesses at that place, and the entities."""
        accesses_denied = self._all_privileges(accesses) - self.service.inert
        denies_reading, privileges = bool(accesses_denied & _SEES), set[str]()
        unknown = bool(accesses_denied - _SEES - _CHANGES - {"create"})
        if denies_reading or unknown:
            privileges |= {"SELECT_TABLE", "MODIFY_TABLE"}
            if place.whole:
                privileges.add("USE_SCHEMA")
        if unknown or (place.whole and "use" in accesses_denied and not self.catalog):
            privileges.add("USE_CATALOG")
        if accesses_denied & _CHANGES:
            privileges.add("MODIFY_TABLE")
        if "create" in accesses_denied or unknown:
            privileges |= {"CREATE_TABLE", "CREATE_SCHEMA"}
        depth = TYPES.index(place.entity.type)
        for privilege in privileges:
            if depth <= _INNERMOST[privilege]:
                yield place.entity, privilege
            elif (
                privilege == "CREATE_TABLE"
            ):  # of that name: nobody can be kept from one name alone
                yield _above(place.entity), privilege

    def _all_privileges(self, accesses: Iterable[str]) -> set[str]:
        expanded = set(accesses)
        service = self.service
        if "all" in expanded:
            expanded |= service.reads | service.modifies | {"create", "use"}
            expanded.discard("all")
        return expanded


_INNERMOST: Final = {
    "USE_CATALOG": 1,
    "CREATE_SCHEMA": 1,
    "USE_SCHEMA": 2,
    "CREATE_TABLE": 2,
    "SELECT_TABLE": 3,
    "MODIFY_TABLE": 3,
}
"""The innermost level at which each privilege can be granted, as an index of `TYPES`."""


def _values(level: Level) -> list[str]:
    return [_ANY] if level.excludes else [_compared_value(value) for value in level.values]


def _compared_value(value: str) -> str:
    """The value for comparisons: in lower case, with one star for several."""
    return re.sub(r"\*+", _ANY, value.lower())


def _is_name(value: str) -> bool:
    return not _PATTERN & set(value)


def _above(entity: Entity) -> Entity:
    parent = gravitino.parent(entity)
    return entity if parent is None else parent


def _matcher(value: str) -> re.Pattern[str]:
    pieces = {"*": ".*", "?": "."}
    return re.compile("".join(pieces.get(c, re.escape(c)) for c in value), re.DOTALL)
