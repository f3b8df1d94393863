"""The access of one user in a realm, by the acts of an engine and the names that it uses."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import chain
from typing import Final, cast

from pyroaring import BitMap

from lakewarden.config.engines import EngineRealm
from lakewarden.engines.engine import Act
from lakewarden.engines.mapping import EngineMapping
from lakewarden.engines.place import Place
from lakewarden.kernel.denied_inside import denied_inside, may_be_denied_inside, with_denied_inside
from lakewarden.kernel.entity import NO_RESOURCE, Entity, Spelling
from lakewarden.kernel.errors import WardenError
from lakewarden.kernel.listing import listing
from lakewarden.kernel.obligations import carries_limits, is_limited
from lakewarden.kernel.principal import GROUP, Principal
from lakewarden.kernel.request import Request
from lakewarden.kernel.statement import OBLIGING, On
from lakewarden.kernel.statement_file import principal_text
from lakewarden.kernel.tree import Index
from lakewarden.names.letter_case import same_but_for_case
from lakewarden.service.column_names import ColumnNames
from lakewarden.service.denials import DeniedDecision
from lakewarden.service.state import RealmState
from lakewarden.service.steps import step
from lakewarden.service.switched_off import lies_in_off, off_ids

Names = Mapping[str, str]
"""The names in a request by their kind: `catalog`, `schema`, `table` and so on."""

_NamesByFolded = dict[tuple[str, str], set[str]]
"""The names of entities by type and by the form that they share with those of another case."""

_ORDER: Final = (
    *("metalake", "catalog", "schema"),
    *("table", "view", "column", "function", "topic", "fileset"),
)
"""The parts of a name, from the outermost."""


def vouched(realm: RealmState, user: str, groups: Sequence[str], now: float) -> Request:
    """The request of a user whom an engine names, with groups in addition to the stored ones."""
    system = realm.system
    principal = system.identities.user(user)
    sent = tuple(system.spelled(Principal(GROUP, name)) for name in groups)
    return Request(principal, "", NO_RESOURCE, now, groups=sent)


@dataclass(frozen=True, slots=True)
class NamesIndex:
    """An index of the stored names of a type, with the prefix and suffix for one schema.

    A name that contains one of the characters `ends` would end there, so it is invalid.
    """

    index: Index
    start: str
    end: str
    ends: frozenset[str]
    type: str

    def id(self, name: str) -> int | None:
        """The id of a name, stored or not; None if there is none."""
        found = self.index.get(self.start + name + self.end)
        return found if found is None or self.ends.isdisjoint(name) else None


class EngineAccess:
    """The answers of a realm about one user at one time: the principal and time of `asking`."""

    def __init__(
        self, realm: RealmState, mapping: EngineMapping, settings: EngineRealm, asking: Request
    ) -> None:
        self.realm = realm
        self.mapping = mapping
        self._settings = settings
        self._asking = asking
        self._places = mapping.placed(settings.metalake, settings.parts)
        self._own_order = _orders(mapping, settings.metalake)
        self._listed: dict[str, BitMap] = {}
        self._columns: dict[Entity, ColumnNames] = {}

    def decides(self, act: Act, names: Names) -> bool:
        """Whether the act is allowed on the most exact entity that the names give.

        If an act has rules for several types, the one with the most names decides; if that one
        cannot be named, the act is denied, whatever contains it. An act that takes the whole table
        is denied to a user whom a row filter or a column mask binds.
        """
        entity = self.target(act, names)
        if entity is None or not self.decides_on(act, entity):
            return False
        return not self.withholds(act, entity)

    def withholds(self, act: Act, entity: Entity) -> bool:
        """Whether the act takes all of the entity, on which a filter or a mask binds the user.

        Also whether it renames the entity, if a DENY on one of its columns binds the user.
        """
        return (act.whole and self.is_limited(entity)) or (
            act.renames and self._is_denied_anything(act, entity)
        )

    def _is_denied_anything(self, act: Act, entity: Entity) -> bool:
        """Whether a DENY on something inside closes an act that must stay open for this one."""
        return any(
            self.is_denied_inside(one, entity)
            for one in self.mapping.engine.closing(act)
            if entity.type in self._rules(one)
        )

    def is_denied_inside(
        self, act: Act, entity: Entity, named: Iterable[Entity] | None = None
    ) -> bool:
        """Whether a DENY closes the act on something inside the entity.

        For a table, these are its columns: the `named` ones, or any of them.
        """
        return bool(self.denied_inside(act, entity, named))

    def may_be_denied_inside(self, act: Act, entity: Entity) -> bool:
        """Whether any DENY in force could close the act on something inside the entity."""
        if not act.takes_values or not entity.type:
            return False
        return may_be_denied_inside(self.realm.matrix, self.request(self._operation(act), entity))

    def denied_inside(
        self, act: Act, entity: Entity, named: Iterable[Entity] | None = None
    ) -> frozenset[Entity]:
        """The entities inside on which a DENY closes the act, as in `is_denied_inside`."""
        if not act.takes_values or not entity.type:
            return frozenset()
        request = self.request(self._operation(act), entity)
        return denied_inside(self.realm.matrix, request, named)

    def _rules(self, act: Act) -> Collection[str]:
        """The types on which the act has a rule."""
        return self.realm.matrix.operation(self._operation(act)).rules

    def target(self, act: Act, names: Names) -> Entity | None:
        """The entity that decides about the act; None if the names do not give one."""
        if self.is_about_nothing(act):
            return NO_RESOURCE
        return self.stored(self._most_exact(self.places(act), names), names)

    def listed_or_allowed(self, act: Act, names: Names) -> bool:
        """Whether the act is allowed; stored entities are looked up in one cached list."""
        entity = self.target(act, names)
        if entity is None:
            return False
        is_stored = self.realm.matrix.snapshot.coded.tree.find(entity) is not None
        return self.lists(act, entity) if is_stored else self.decides_on(act, entity)

    def decides_on(self, act: Act, entity: Entity, named: Iterable[Entity] | None = None) -> bool:
        """Whether the act is allowed on the entity, or by what is inside it.

        An act that takes values is denied if a DENY closes it on one of the `named` entities
        inside; without these, on any entity inside. Every act is denied on what is switched off.
        """
        if lies_in_off(self.realm, entity):
            return False
        request = self.request(self._operation(act), entity)
        with step("decide"):
            if self.realm.matrix.decide(request).allow:
                return not self.is_denied_inside(act, entity, named)
        return self.decides_inside(act, entity)

    def _is_allowed_inside(self, act: Act, entity: Entity) -> bool:
        """Whether an act is allowed on something that is stored inside the entity."""
        tree = self.realm.matrix.snapshot.coded.tree
        id = tree.find(entity)
        return id is not None and not self.listed(act).isdisjoint(tree.subtree(id))

    def is_limited(self, entity: Entity) -> bool:
        """Whether a row filter or a column mask binds the user on the entity or inside it."""
        return is_limited(self.realm.matrix, self.request("", entity))

    def carries_limits(self, entity: Entity) -> bool:
        """Whether a row filter or a column mask is on the entity or inside it, for any user."""
        return carries_limits(self.realm.matrix.snapshot, entity)

    @property
    def denies_anything(self) -> bool:
        """Whether there is any DENY in force."""
        return bool(self.realm.matrix.snapshot.table.deny)

    @property
    def limits_anybody(self) -> bool:
        """Whether there is any row filter or column mask in force."""
        table = self.realm.matrix.snapshot.table
        return any(table.obligations(effect) for effect in OBLIGING)

    def is_limited_in_another_case(self, entity: Entity) -> bool:
        """Whether a limit is on a name that differs from that of the entity only by case.

        The limit is a filter, a mask or a DENY, for anybody, on what contains the entity, on the
        entity or inside it.
        """
        on, inside = self._limited_names
        containers = ((one, on) for one in self._above(entity))
        return any(
            name != one.name
            for one, limited in ((entity, inside), *containers)
            for name in limited.get((one.type, same_but_for_case(one.name)), ())
        )

    @cached_property
    def _limited_names(self) -> tuple[_NamesByFolded, _NamesByFolded]:
        """What is filtered, masked or denied, by type and folded name; then with all above it."""
        table = self.realm.matrix.snapshot.table
        denied = (grouped.every for grouped in table.deny.values())
        on: _NamesByFolded = defaultdict(set)
        inside: _NamesByFolded = defaultdict(set)
        for grant in chain(*map(table.obligations, OBLIGING), *denied):
            if isinstance(grant.statement.scope, On):
                limited = grant.statement.scope.entity
                on[limited.type, same_but_for_case(limited.name)].add(limited.name)
                for one in (limited, *self._above(limited)):
                    inside[one.type, same_but_for_case(one.name)].add(one.name)
        return on, inside

    def _above(self, entity: Entity) -> Iterator[Entity]:
        """What contains the entity, nearest first; by its name if it is not stored."""
        tree = self.realm.matrix.snapshot.coded.tree
        id = tree.find(entity)
        if id is not None:
            yield from map(tree.entity, tree.ancestors(id))
            return
        above = self.realm.system.spelling.parent(entity)
        while above is not None:
            yield above
            above = self.realm.system.spelling.parent(above)

    def places(self, act: Act) -> Sequence[str]:
        """The places on which the act has a rule."""
        return self.mapping.about[act.name]

    def is_about_nothing(self, act: Act) -> bool:
        """Whether the act has the same answer for every resource."""
        return not self.mapping.about[act.name]

    def places_of(self, types: Collection[str]) -> Sequence[str]:
        """The places whose entities are of these types of the model."""
        return [place.name for place in self._places.values() if place.type in types]

    def listed(self, act: Act) -> BitMap:
        """The ids of the entities on which the act is allowed; cached."""
        found = self._listed.get(act.name)
        if found is None:
            with step("decide"):
                found = self._listing(act)
            self._listed[act.name] = found
        return found

    def _listing(self, act: Act) -> BitMap:
        matrix, request = self.realm.matrix, self.request(self._operation(act))
        found = listing(matrix, request) - off_ids(self.realm)
        for type in self._rules(act) if act.takes_values else ():
            ids = found & matrix.snapshot.of_type(type)
            found -= with_denied_inside(matrix, request, ids)
        return found

    def lists(self, act: Act, entity: Entity) -> bool:
        """Whether the act is allowed on the entity; by the cached list if it is stored."""
        snapshot = self.realm.matrix.snapshot
        id = snapshot.coded.tree.find(entity)
        if id is None:
            return snapshot.model.judged(entity.type) and self.decides_on(act, entity)
        return id in self.listed(act) or self.decides_inside(act, entity)

    def decides_inside(self, act: Act, entity: Entity) -> bool:
        """Whether the act is allowed by what is inside the entity."""
        within = self.mapping.within.get(act.name)
        if within is None:
            return False
        return self._is_allowed_inside(self.mapping.engine.acts[within], entity)

    def is_stored(self, entity: Entity) -> bool:
        """Whether the realm stores the entity."""
        tree = self.realm.matrix.snapshot.coded.tree
        id = tree.find(entity)
        return id is not None and id in tree.stored

    def stored(self, places: Iterable[str], names: Names) -> Entity | None:
        """The first stored entity that the names give at the places; without one, the first."""
        entities = list(self._entities(places, names))
        tree = self.realm.matrix.snapshot.coded.tree
        found = (entity for entity in entities if tree.find(entity) is not None)
        return next(found, entities[0] if entities else None)

    def entity(self, place: str, names: Names) -> Entity | None:
        """The entity that the names give at a place; None if they do not give one."""
        found = self._places.get(place)
        if found is None:
            return None
        values = self._values(names)
        try:
            texts = tuple([values[part] for part in found.order])
        except KeyError:
            return None
        # INVARIANT: the place contains the metalake, and is the mapping's own for these settings.
        spelling = cast("Hashable", self.realm.system.spelling)  # a module, or a value
        return _entity(spelling, found, self._own_order[place], texts)

    @cached_property
    def column_places(self) -> Sequence[str]:
        """The places of columns."""
        types = self.realm.matrix.snapshot.model.types
        return self.places_of({name for name, type in types.items() if type.masked})

    @cached_property
    def places_with_rows(self) -> Sequence[str]:
        """The places of tables and views."""
        types = self.realm.matrix.snapshot.model.types
        return self.places_of({name for name, type in types.items() if type.filtered})

    @cached_property
    def _places_with_columns(self) -> Sequence[str]:
        """The places of tables and views, and of other parents of columns."""
        types = self.realm.matrix.snapshot.model.types
        holding = (type.parents for type in types.values() if type.masked)
        return self.places_of(
            {name for name, type in types.items() if type.filtered}.union(*holding)
        )

    def columns(self, names: Names, column: str) -> Sequence[Entity]:
        """The entities that an engine may mean by a table's or view's column (`ColumnNames.meant`).

        The first is that of the name itself, or the table if no entity can have the name; empty if
        the table has no name either.
        """

        def named(name: str) -> Entity | None:
            return self.stored(self.column_places, {**names, "column": name})

        table = self.stored(self._places_with_columns, names)
        if table is None or not (self.limits_anybody or self.denies_anything):
            found = named(column) or table
            return () if found is None else (found,)
        if table not in self._columns:
            self._columns[table] = ColumnNames(self.realm, table, named)
        return self._columns[table].candidates(column)

    def indexes(
        self, act: Act, catalog: str, schema: str, part: str = "table"
    ) -> Sequence[NamesIndex]:
        """The indexes of stored names in a schema, by place; `part` is the entities' own part.

        Empty if there is no such place.
        """
        values = self._values({"catalog": catalog, "schema": schema})
        named = self.realm.matrix.snapshot.coded.tree.named
        found = []
        for name in self.places(act):
            place = self._places.get(name)
            around = None if place is None else place.around(part, values)
            if place is not None and around is not None:
                ends, index = place.ends.get(part, frozenset()), named.get(place.type, {})
                found.append(NamesIndex(index, *around, ends, place.type))
        return found

    def allowed_names(
        self, act: Act, names: Names, part: str, candidates: Iterable[str]
    ) -> frozenset[str]:
        """The candidates in one schema on which the act is allowed.

        COST: 1 µs for a stored name; a name that is not stored is decided on its own, if its type
        is judged by names at all.
        """
        listed, snapshot = self.listed(act), self.realm.matrix.snapshot
        stored = snapshot.coded.tree.stored
        indexes = self.indexes(act, names["catalog"], names["schema"], part)
        judges = any(snapshot.model.judged(index.type) for index in indexes)
        allowed = set()
        for name in candidates:
            ids = [id for index in indexes if (id := index.id(name)) is not None and id in stored]
            if ids:
                is_allowed = any(id in listed for id in ids)
            else:
                is_allowed = judges and self.decides(act, {**names, part: name})
            if is_allowed:
                allowed.add(name)
        return frozenset(allowed)

    def requirement(self, act: Act) -> str:
        """The model's rules for the act, in words that reveal nothing about stored data.

        Rules of columns are left out: they are only evaluated if there is a DENY on a column.
        """
        operation = self.mapping.operations[self._operation(act)]
        rules, types = operation.get("rules"), self.realm.matrix.snapshot.model.types
        texts = [operation.get("rule", "")]
        if isinstance(rules, Mapping):
            texts = [
                rule for type, rule in rules.items() if type not in types or not types[type].masked
            ]
        return " or ".join(f"`{text}`" for text in dict.fromkeys(texts))

    def denied_decision(
        self, act: Act, entity: Entity, named: Iterable[Entity] | None = None
    ) -> DeniedDecision:
        """The decision that denied the act on the entity, or on what is `named` inside it."""
        entity = self._denied_at(act, entity, named)
        request = self.request(self._operation(act), entity)
        return DeniedDecision(
            realm=self.realm.realm.name,
            principal=principal_text(request.principal),
            operation=request.operation,
            entity="" if entity == NO_RESOURCE else str(entity),
            groups=tuple(sorted(group.name for group in request.groups)),
        )

    def _denied_at(self, act: Act, entity: Entity, named: Iterable[Entity] | None) -> Entity:
        """The entity, or one inside it that a DENY closes, if its decision includes that DENY."""
        operation = self._operation(act)
        if not self.realm.matrix.decide(self.request(operation, entity)).allow:
            return entity
        rules, closed = self._rules(act), sorted(self.denied_inside(act, entity, named))
        return next((one for one in closed if one.type in rules), entity)

    def request(self, operation: str, entity: Entity = NO_RESOURCE) -> Request:
        """The user's request for an operation of the model."""
        asking = self._asking
        return Request(asking.principal, operation, entity, asking.now, groups=asking.groups)

    def _operation(self, act: Act) -> str:
        return self.mapping.operation(act.name)

    def _most_exact(self, places: Iterable[str], names: Names) -> list[str]:
        """The places for which there are enough names, and which use the most of them."""
        given = names.keys()
        taken = {name: self._places[name].parts for name in places if name in self._places}
        enough = {name: parts for name, parts in taken.items() if parts <= given}
        most = max((len(parts) for parts in enough.values()), default=0)
        return [name for name, parts in enough.items() if len(parts) == most]

    def _entities(self, places: Iterable[str], names: Names) -> Iterator[Entity]:
        for place in places:
            entity = self.entity(place, names)
            if entity is not None:
                yield entity

    def _values(self, names: Names) -> Names:
        """The names of a request, with the realm's name of the catalog."""
        catalog = names.get("catalog")
        own = None if catalog is None else self._settings.catalogs.get(catalog)
        return names if own is None else {**names, "catalog": own}


_Order = tuple[tuple[str, str | None], ...]
"""The parts of a template from the outermost, each with its text if the settings give it."""


@lru_cache(16_384)
def _entity(
    spelling: Spelling, place: Place, order: _Order, texts: tuple[str, ...]
) -> Entity | None:
    """The entity that these texts give at a place, in the order of its parts. Cached.

    Each name is one part of the entity's name: no name may extend into another part. For a
    spelling whose names have no parts, the template ensures that.
    """
    values = dict(zip(place.order, texts, strict=True))
    text = place.text(values)
    if text is None:
        return None
    try:
        entity = spelling.parse(place.type, text)
    except WardenError:
        return None
    own = tuple(spelling.parts(entity))
    if own == (entity.name,):
        return entity
    expected = tuple(values[part] if fixed is None else fixed for part, fixed in order)
    return entity if own == expected else None


@lru_cache(256)
def _orders(mapping: EngineMapping, metalake: str) -> Mapping[str, _Order]:
    """The parts of each place's template, in the order of names."""
    fixed = {"metalake": metalake}
    return {
        name: tuple((part, fixed.get(part)) for part in _ORDER if f"{{{part}}}" in place.template)
        for name, place in mapping.places.items()
    }
