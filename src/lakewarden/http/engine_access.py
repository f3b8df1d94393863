"""What one user may do in a realm, asked by the acts of an engine on the names that it uses."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

from pyroaring import BitMap

from lakewarden.config.engines import EngineRealm
from lakewarden.engines.engine import Act
from lakewarden.engines.mapping import EngineMapping, placeholders
from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.errors import WardenError
from lakewarden.kernel.listing import listing
from lakewarden.kernel.model import NONE
from lakewarden.kernel.obligations import is_limited
from lakewarden.kernel.principal import GROUP, Principal
from lakewarden.kernel.request import Request
from lakewarden.kernel.statement import OBLIGING
from lakewarden.kernel.tree import Index
from lakewarden.service.state import RealmState

Names = Mapping[str, str]
"""The names of a request by what they name: `catalog`, `schema`, `table` and so on."""

_ORDER: Final = (
    *("metalake", "catalog", "schema"),
    *("table", "view", "column", "function", "topic", "fileset"),
)
"""The parts of a name, from the outermost."""


Asking = Callable[[str, Entity], Request]
"""The request of one user, for an operation of the model on an entity."""


def vouched(realm: RealmState, user: str, groups: Sequence[str], now: float) -> Asking:
    """Requests of a user whom an engine names, with groups that count beside those stored."""
    system = realm.system
    principal = system.identities.user(user)
    sent = tuple(system.spelled(Principal(GROUP, name)) for name in groups)
    return lambda operation, entity: Request(principal, operation, entity, now, groups=sent)


class EngineAccess:
    """The answers of a realm about one user at one moment."""

    def __init__(
        self, realm: RealmState, mapping: EngineMapping, settings: EngineRealm, asking: Asking
    ) -> None:
        self.realm = realm
        self.mapping = mapping
        self._settings = settings
        self._asking = asking
        self._listed: dict[str, BitMap] = {}

    def decides(self, act: Act, names: Names) -> bool:
        """Whether the act is allowed on what the names name most exactly.

        Of an act with rules for several types, the one with the most names decides; one that
        cannot be named denies, whatever contains it. An act that takes the whole table is denied
        to whom a row filter or a column mask binds.
        """
        entity = self.target(act, names)
        if entity is None or not self.decides_on(act, entity):
            return False
        return not (act.whole and self.is_limited(entity))

    def target(self, act: Act, names: Names) -> Entity | None:
        """The entity that decides about the act; None where the names cannot name one."""
        types = self.types(act)
        if NONE in types:
            return NO_RESOURCE
        return self.stored(self._most_exact(types, names), names)

    def listed_or_allowed(self, act: Act, names: Names) -> bool:
        """Whether the act is allowed, by one list for all that is stored."""
        entity = self.target(act, names)
        if entity is None:
            return False
        is_stored = self.realm.matrix.snapshot.coded.tree.find(entity) is not None
        return self.lists(act, entity) if is_stored else self.decides_on(act, entity)

    def decides_on(self, act: Act, entity: Entity) -> bool:
        """Whether the act is allowed on the entity."""
        return self.realm.matrix.decide(self.request(self._operation(act), entity)).allow

    def is_limited(self, entity: Entity) -> bool:
        """Whether a row filter or a column mask binds the user on the entity or inside it."""
        return is_limited(self.realm.matrix, self.request("", entity))

    @property
    def limits_anybody(self) -> bool:
        """Whether there is any row filter or column mask in force."""
        table = self.realm.matrix.snapshot.table
        return any(table.obligations(effect) for effect in OBLIGING)

    def types(self, act: Act) -> Iterable[str]:
        """The types of the model on which the act has a rule."""
        return self.realm.matrix.snapshot.model.operations[self._operation(act)].rules

    def listed(self, act: Act) -> BitMap:
        """The ids of the entities on which the act is allowed; remembered."""
        found = self._listed.get(act.name)
        if found is None:
            found = listing(self.realm.matrix, self.request(self._operation(act)))
            self._listed[act.name] = found
        return found

    def lists(self, act: Act, entity: Entity) -> bool:
        """Whether the act is allowed on the entity, which has to be stored."""
        id = self.realm.matrix.snapshot.coded.tree.find(entity)
        return id is not None and id in self.listed(act)

    def stored(self, types: Iterable[str], names: Names) -> Entity | None:
        """The entity that the names give: of those of the types the stored one, else the first."""
        entities = list(self._entities(types, names))
        tree = self.realm.matrix.snapshot.coded.tree
        found = (entity for entity in entities if tree.find(entity) is not None)
        return next(found, entities[0] if entities else None)

    def entity(self, type: str, names: Names) -> Entity | None:
        """The entity of a type that the names give; None where they cannot name one."""
        template = self.mapping.names.get(type)
        if template is None:
            return None
        values = self._values(names)
        try:
            entity = self.realm.system.spelling.parse(type, template.format_map(values))
        except (KeyError, WardenError):
            return None
        return entity if self._is_exact(template, values, entity) else None

    def indexes(
        self, act: Act, catalog: str, schema: str, part: str = "table"
    ) -> Sequence[tuple[Index, str]]:
        """What stored entities of a schema are called: by type an index of names, and their start.

        `part` is what the last part of their names is called. Stored names have a fixed number of
        parts, so behind the start of a schema there is one part, whatever the request says.
        """
        names = {"catalog": catalog, "schema": schema}
        if self.entity("schema", names) is None:
            return ()
        named = self.realm.matrix.snapshot.coded.tree.named
        values = self._values(names)
        last = f"{{{part}}}"
        templates = {type: self.mapping.names.get(type, "") for type in self.types(act)}
        return [
            (named[type], template.removesuffix(last).format_map(values))
            for type, template in templates.items()
            if type in named and template.endswith(last)
        ]

    def allowed_names(
        self, act: Act, names: Names, part: str, candidates: Iterable[str]
    ) -> frozenset[str]:
        """Of what lies in one schema the names on which the act is allowed.

        COST: 1 µs for a stored name; one that is not stored is decided by itself, where its type
        is judged by names at all.
        """
        listed, model = frozenset(self.listed(act)), self.realm.matrix.snapshot.model
        indexes = self.indexes(act, names["catalog"], names["schema"], part)
        judges = any(model.judged(type) for type in self.types(act))
        allowed = set()
        for name in candidates:
            stored = [id for index, start in indexes if (id := index.get(start + name)) is not None]
            if stored:
                is_allowed = any(id in listed for id in stored)
            else:
                is_allowed = judges and self.decides(act, {**names, part: name})
            if is_allowed:
                allowed.add(name)
        return frozenset(allowed)

    def request(self, operation: str, entity: Entity = NO_RESOURCE) -> Request:
        """The user's request for an operation of the model."""
        return self._asking(operation, entity)

    def _operation(self, act: Act) -> str:
        return self.mapping.operation(act.name)

    def _most_exact(self, types: Iterable[str], names: Names) -> list[str]:
        """Of the types that have enough names, those that take the most of them."""
        given = {*names, "metalake"}
        taken = {
            type: placeholders(self.mapping.names[type])
            for type in types
            if type in self.mapping.names
        }
        enough = {type: parts for type, parts in taken.items() if parts <= given}
        most = max((len(parts) for parts in enough.values()), default=0)
        return [type for type, parts in enough.items() if len(parts) == most]

    def _entities(self, types: Iterable[str], names: Names) -> Iterator[Entity]:
        for type in types:
            entity = self.entity(type, names)
            if entity is not None:
                yield entity

    def _values(self, names: Names) -> dict[str, str]:
        """The names of a request, with the catalog as the realm calls it, and the metalake."""
        values = {**names, "metalake": self._settings.metalake}
        if "catalog" in names:
            values["catalog"] = self._settings.catalogs.get(names["catalog"], names["catalog"])
        return values

    def _is_exact(self, template: str, values: Names, entity: Entity) -> bool:
        """Whether each name is one part of the entity's: no name may reach into another."""
        own = self.realm.system.spelling.parts(entity)
        expected = tuple(values[name] for name in _ORDER if f"{{{name}}}" in template)
        return tuple(own) == expected
