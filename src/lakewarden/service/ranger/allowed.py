"""Who has which access on what, according to the matrix, at every moment from now on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Final

from pyroaring import BitMap

from lakewarden.engines.mapping import EngineMapping
from lakewarden.engines.ranger_service import Access, Level, RangerService
from lakewarden.kernel.denied_inside import with_denied_inside
from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.expression import Node
from lakewarden.kernel.listing import listing
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.model import NONE, Operation
from lakewarden.kernel.obligations import is_limited
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.request import Request
from lakewarden.service.limited_tables import newly_limited_tables
from lakewarden.service.ranger.places import Places


class Allowed:
    """The permissions of users in one matrix, as accesses of a service, `without` these places."""

    def __init__(
        self,
        matrix: Matrix,
        mapping: EngineMapping,
        service: RangerService,
        places: Places,
        now: float,
        without: BitMap | None = None,
    ) -> None:
        self._matrix, self._mapping, self._service = matrix, mapping, service
        self._places, self._now = places, now
        self._without = BitMap() if without is None else without
        self._seen: dict[str, BitMap] = {}
        self._found: dict[tuple[str, Node], BitMap] = {}
        self._of: Principal | None = None
        self.closed: dict[str, BitMap] = {}
        """Of the last principal, by act, the places where a DENY on a column closed it."""

    @cached_property
    def personal(self) -> bool:
        """Whether some rule depends on the user's identity, beyond what statements name."""
        accesses = self._service.accesses.values()
        acts = {act for access in accesses for acts in access.opens.values() for act in acts}
        acts |= {act for access in accesses for acts in access.within.values() for act in acts}
        acts |= {act for level in self._service.levels.values() for act in level.any}
        return any(
            plan.shape.personal or plan.shape.administrator
            for act in acts
            for operation in (self._operation(act),)
            for type in operation.rules
            if type != NONE
            for plan in (self._matrix.plan(operation, type),)
        )

    def is_allowed_globally(self, principal: Principal, level: Level, acts: Sequence[str]) -> bool:
        """Whether acts without a resource, or on the metalake, are allowed."""
        return all(self._decides(principal, act, level) for act in acts)

    def on(self, principal: Principal, level: Level, acts: Sequence[str]) -> BitMap:
        """The places where all acts are allowed that have a rule for the place's type.

        At least one act must have such a rule, and all containers of the place must be visible. An
        act on a whole table is excluded for users to whom a row filter or a column mask applies
        there, and an act on values for users to whom a DENY on a column closes it.
        """
        allowed = BitMap()
        for type in self._places.types(level):
            allowed |= self._of_type(principal, type, acts)
        if not allowed:
            return allowed
        allowed = allowed & self.visible_places(principal, level)
        if self._service.takes_whole(acts):
            allowed = allowed - self._limited(principal, allowed)
        allowed = allowed - self._denied_inside(principal, allowed, acts)
        return self._places.with_all_inside(level, allowed)

    def _denied_inside(self, principal: Principal, ids: BitMap, acts: Sequence[str]) -> BitMap:
        """Places among these where a DENY on a column closes an act: policies name all columns."""
        found, engine = BitMap(), self._service.engine
        for act in acts if self._matrix.snapshot.table.deny else ():
            closing = (one.name for one in engine.closing(engine.acts[act]))
            some = BitMap.union(BitMap(), *(self._closed(principal, ids, one) for one in closing))
            if some:
                self.closed[act] = self.closed.get(act, BitMap()) | some
                found |= some
        return found

    def _closed(self, principal: Principal, ids: BitMap, act: str) -> BitMap:
        """The places among these with a column on which a DENY closes the act."""
        operation, found = self._operation(act), BitMap()
        request = Request(principal, operation.name, NO_RESOURCE, self._now)
        for type in operation.rules if NONE not in operation.rules else ():
            some = ids & self._matrix.snapshot.of_type(type)
            found |= with_denied_inside(self._matrix, request, some)
        return found

    def _limited(self, principal: Principal, ids: BitMap) -> BitMap:
        """The places among these where a row filter or a column mask applies to the principal."""
        tree = self._matrix.snapshot.coded.tree
        asked = (
            (id, Request(principal, "", tree.entity(id), self._now))
            for id in ids & self.limited_tables
        )
        return BitMap([id for id, request in asked if is_limited(self._matrix, request)])

    @cached_property
    def limited_tables(self) -> BitMap:
        """The tables on which a row filter or a column mask may apply to some user."""
        snapshot = self._matrix.snapshot
        return newly_limited_tables(snapshot, snapshot)

    def append_only_places(self, principal: Principal, level: Level, access: Access) -> BitMap:
        """Places of append-only tables on which everything is allowed that an access opens there.

        It does not open acts that change existing rows.
        """
        places = self._places.append_only_places(level) if access.changes else BitMap()
        if not places:
            return places
        acts = [act for act in access.opens[level.name] if act not in access.changes]
        return places & self.on(principal, level, acts)

    def inside(self, principal: Principal, level: Level, acts: Sequence[str]) -> BitMap:
        """The visible places in containers on which all the acts are allowed."""
        above = self.on(principal, self._service.levels[level.within], acts)
        return self._places.inside(level, above) & self.visible_places(principal, level)

    def visible_places(self, principal: Principal, level: Level) -> BitMap:
        """The visible places of a level whose containers are visible too."""
        self._select_principal(principal)
        found = self._seen.get(level.name)
        if found is None:
            found = self._places.ids(level) - self._without
            for type in self._places.types(level):
                ids = found & self._matrix.snapshot.of_type(type)
                found = (found - ids) | (ids & self._of_type(principal, type, level.any))
            if level.within:
                above = self.visible_places(principal, self._service.levels[level.within])
                found = found & self._places.inside(level, above)
            self._seen[level.name] = found
        return found

    def _select_principal(self, principal: Principal) -> None:
        """Drops the results for another principal: principals come one after the other."""
        if principal != self._of:
            self._seen.clear()
            self._found.clear()
            self.closed.clear()
            self._of = principal

    def _of_type(self, principal: Principal, type: str, acts: Sequence[str]) -> BitMap:
        """The entities of one type on which all of the acts are allowed."""
        if not self._places.of_type(type):
            return BitMap()
        operations = [self._operation(act) for act in acts]
        about_nothing = (one for one in operations if NONE in one.rules)
        if not all(self._decides_nothing(principal, one) for one in about_nothing):
            return BitMap()
        found: BitMap | None = None
        for one in operations:
            if type in one.rules and found != BitMap():
                listed = self._listed(principal, one, type)
                found = listed if found is None else found & listed
        return BitMap() if found is None else found

    def _listed(self, principal: Principal, operation: Operation, type: str) -> BitMap:
        """COST: one list for all operations with the same rule, which most have in common."""
        self._select_principal(principal)
        key = type, operation.rules[type]
        found = self._found.get(key)
        if found is None:
            request = Request(principal, operation.name, NO_RESOURCE, self._now)
            found = self._found[key] = listing(self._matrix, request, type=type)
        return found

    def _decides(self, principal: Principal, act: str, level: Level) -> bool:
        operation = self._operation(act)
        if NONE in operation.rules:
            return self._decides_nothing(principal, operation)
        return any(
            self._matrix.decide(Request(principal, operation.name, entity, self._now)).allow
            for entity in self._places.roots(operation)
            if not self._is_left_out(entity)
        )

    def _is_left_out(self, entity: Entity) -> bool:
        id = self._matrix.snapshot.coded.tree.find(entity)
        return id is not None and id in self._without

    def _decides_nothing(self, principal: Principal, operation: Operation) -> bool:
        request = Request(principal, operation.name, NO_RESOURCE, self._now)
        return self._matrix.decide(request).allow

    def _operation(self, act: str) -> Operation:
        return self._matrix.operation(self._mapping.operation(act))


@dataclass(frozen=True, slots=True)
class GrantedAccess:
    """An access that some users have on places of a level, as long as nothing changes."""

    level: Level
    access: str
    ends: bool
    ids: BitMap


def granted_accesses(
    principal: Principal, service: RangerService, now: Allowed, later: Allowed | None
) -> Iterator[GrantedAccess]:
    """The accesses of one principal. Without a `later`, none ends by time."""
    for access in service.accesses.values():
        for name in access.levels:
            level = service.levels[name]
            ids = _ids(principal, level, access, now)
            if not ids:
                continue
            lasting = ids if later is None else ids & _ids(principal, level, access, later)
            if lasting:
                yield GrantedAccess(level, access.name, False, lasting)
            if ids - lasting:
                yield GrantedAccess(level, access.name, True, ids - lasting)


NOWHERE: Final = BitMap([0])
"""The only place of a level without resources."""


def _ids(principal: Principal, level: Level, access: Access, allowed: Allowed) -> BitMap:
    acts, within = access.opens.get(level.name, ()), access.within.get(level.name, ())
    if level.part:
        ids = allowed.inside(principal, level, within) if within else None
        if acts:
            own = allowed.on(principal, level, acts) | allowed.append_only_places(
                principal, level, access
            )
            ids = own if ids is None else ids & own
        return BitMap() if ids is None else ids
    return NOWHERE if allowed.is_allowed_globally(principal, level, acts) else BitMap()
