"""The kernel's sets of users, for many entities of one snapshot: what was found is remembered.

What a rule means, and whom a statement concerns, the kernel says. Here is only remembered which
grants cover which class of entities, and who holds a privilege on one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property

from pyroaring import BitMap

from lakewarden.kernel.classes import Partition, partition
from lakewarden.kernel.grants import Grant
from lakewarden.kernel.point_evaluator import Spot
from lakewarden.kernel.request import Request
from lakewarden.kernel.snapshot import Snapshot
from lakewarden.kernel.who import Users

Grants = tuple[Grant, ...]


class Judge(Users):
    """As `Users`; of the grants of a privilege only those of a place's class are gone through."""

    def __init__(self, snapshot: Snapshot, request: Request) -> None:
        super().__init__(snapshot, request)
        self._sorted: dict[int, dict[int, list[Grant]]] = {}
        self._near: dict[tuple[int, int], Grants] = {}
        self._holding: dict[tuple[str, int, object], BitMap] = {}

    @cached_property
    def classes(self) -> Partition:
        """The entities that lie in the same scopes, however many such classes there are."""
        snapshot, size = self._snapshot, len(self._snapshot.coded.tree)
        found = snapshot.classes or partition(size, dict(enumerate(snapshot.bitmaps)), size + 1)
        assert found is not None  # noqa: S101 — INVARIANT: there are not more classes than entities
        return found

    def holds(self, privilege: str, place: Spot) -> BitMap:
        if not isinstance(place, int) or privilege in self._snapshot.model.self_privileges:
            return super().holds(privilege, place)
        speaks = self._snapshot.table.allows(privilege).to_owners
        owners = self._snapshot.coded.owners.of(place) if speaks else ()
        key = (privilege, self.classes.view[place], owners)
        users = self._holding.get(key)
        if users is None:
            users = self._holding[key] = super().holds(privilege, place)
        return users

    def _here(self, grants: Iterable[Grant], place: Spot) -> Iterator[Grant]:
        yield from super()._here(self._covering(grants, place), place)

    def _denied(self, privilege: str, place: Spot) -> BitMap:
        grants = self._covering(self._snapshot.table.denies(privilege).every, place)
        here = (grant for grant in grants if self._snapshot.lies_in(place, grant))
        return BitMap.union(BitMap(), *(self.of(grant.principals) for grant in here))

    def _covering(self, grants: Iterable[Grant], place: Spot) -> Iterable[Grant]:
        """Those of all grants of a privilege that may cover a place."""
        if not isinstance(place, int):
            return grants
        # INVARIANT: a table keeps the grants of a privilege as long as there is the table.
        key = (id(grants), self.classes.view[place])
        found = self._near.get(key)
        if found is None:
            by_scope = self._by_scope(grants)
            scopes = self.classes.inside[key[1]]
            found = tuple(grant for scope in scopes for grant in by_scope.get(scope, ()))
            self._near[key] = found
        return found

    def _by_scope(self, grants: Iterable[Grant]) -> dict[int, list[Grant]]:
        found = self._sorted.get(id(grants))
        if found is None:
            found = self._sorted[id(grants)] = {}
            for grant in grants:
                found.setdefault(grant.scope, []).append(grant)
        return found
