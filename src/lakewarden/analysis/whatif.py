"""Who gains and who loses what, between two snapshots of one realm.

A row is (role set × class × privilege): users who act as the same principals stand together,
as do entities that lie in the same scopes. Users are never multiplied with entities; what
ownership adds is counted through each owner's own entities. Compared is what `decide` says
about every privilege by its bare name, for every stored user on every stored entity and on no
resource. On an entity that only one of the snapshots holds, the other gives no access.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from pyroaring import BitMap

from lakewarden.analysis.cell import Cells, cells
from lakewarden.analysis.tally import SOMEBODY, Change, Tally, TallyPart
from lakewarden.analysis.universe import Side, Universe, universe
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.principal import SERVICE_ADMINS, Principal
from lakewarden.kernel.snapshot import Snapshot

RoleSet = frozenset[Principal]


@dataclass(frozen=True, slots=True)
class Row:
    """Users gain, or lose, a privilege on one class of entities.

    `role_set` are the principals that the reasons are about: users act as some of them, and did
    not or do no longer, or statements say something else to them; none where ownership is the
    reason.
    `pairs` counts (user, entity); it is `len(users) * entities` unless
    ownership tells the users apart. `others`: whoever is not stored gains or loses as well.
    `type` is that of all the entities, empty for the request without a resource; `sample`
    is the first of them.
    """

    privilege: str
    gained: bool
    role_set: tuple[Principal, ...]
    users: tuple[Principal, ...]
    others: bool
    type: str
    entities: int
    pairs: int
    sample: Entity


@dataclass(frozen=True, slots=True)
class Difference:
    """All that differs, in order of privilege; and how far it reaches.

    `users` and `entities` are all that any row is about, each counted once.
    """

    rows: tuple[Row, ...]
    users: int
    entities: int

    @property
    def gained(self) -> int:
        """How many (user, entity, privilege) are allowed that were not."""
        return sum(row.pairs for row in self.rows if row.gained)

    @property
    def lost(self) -> int:
        """How many (user, entity, privilege) were allowed and are not."""
        return sum(row.pairs for row in self.rows if not row.gained)


def difference(before: Snapshot, after: Snapshot) -> Difference:
    """What users gain and lose from `before` to `after`.

    Raises `BadInput` when the snapshots are of different models or settings.
    """
    return comparison(before, after).difference()


def comparison(before: Snapshot, after: Snapshot) -> Comparison:
    """The snapshots side by side; errors as `difference`."""
    if before.model.digest != after.model.digest:
        raise BadInput("access can be compared under one model with the same settings only")
    return Comparison(universe(before, after))


def _order(row: Row) -> tuple[object, ...]:
    return row.gained, -row.pairs, row.role_set, row.type, row.sample, row.users


Acting = tuple[RoleSet, RoleSet]
"""What users act as, before and after, as far as any statement names it."""


class Comparison:
    """Two snapshots, and their users grouped by what statements know of them.

    `groups` holds all stored users and `SOMEBODY`; in one group only ownership, or who they
    are, tells users apart. `moved` are those who act as something else than before.
    """

    def __init__(self, universe: Universe) -> None:
        self.universe = universe
        self.moved: set[Principal] = set()
        self._entities = BitMap()
        sides = universe.before, universe.after
        named = frozenset(p for side in sides for p in side.named()) | {SERVICE_ADMINS}
        owners = frozenset(p for side in sides for p in side.owners())
        stored = {user for side in sides for user in side.users()}
        self._changed_owners = universe.changed_owners()
        self.groups: dict[Acting, list[Principal]] = {}
        self._owning: dict[Principal, Acting] = {}
        for user in (*sorted(stored), SOMEBODY):
            acts = sides[0].acts_as(user), sides[1].acts_as(user)
            key = acts[0] & named, acts[1] & named
            self.groups.setdefault(key, []).append(user)
            if acts[0] != acts[1]:
                self.moved.add(user)
            if (acts[0] | acts[1]) & owners:
                self._owning[user] = acts[0] & owners, acts[1] & owners

    def difference(self) -> Difference:
        """What differs about the privileges by their bare names."""
        rows = tuple(
            row
            for name in self.universe.model.privileges
            for row in sorted(self._rows(name), key=_order)
        )
        users = {user for row in rows for user in row.users}
        return Difference(rows, len(users), len(self._entities))

    def concerned(
        self, privilege: str, *, stayed: bool = False
    ) -> dict[Acting, Sequence[Principal]]:
        """Of each group, the users for whom what statements say of the privilege differs.

        `stayed`: where it differs on what is on both sides.
        """
        compared = _OnePrivilege(self.universe, privilege)
        changed = compared.changed_on_both if stayed else compared.changed
        concerned: dict[Acting, Sequence[Principal]] = {}
        for memberships, users in self.groups.items():
            before, after = memberships[0] & compared.named(0), memberships[1] & compared.named(1)
            if before != after or not changed.isdisjoint(before) or compared.owners_differ:
                concerned[memberships] = users
            else:
                owning = self._reowning(compared, users)
                if owning:
                    concerned[memberships] = owning
        return concerned

    def _rows(self, privilege: str) -> Iterator[Row]:
        compared = _OnePrivilege(self.universe, privilege)
        groups = self._concerned(compared)
        if not groups:
            return
        cells = compared.look_at(groups)
        tally = Tally(cells)
        for (before, after), users in groups.items():
            owned = {user: self._owned(user) for user in users if compared.is_special(user, self)}
            cause = tuple(sorted((before ^ after) | (compared.changed & (before | after))))
            for gained in (False, True):
                tally.add(
                    compared.change(before, after, owned, gained=gained), gained, cause, users
                )
        for part in tally.parts():
            yield self._row(privilege, part)
        self._entities |= tally.entities()

    def _row(self, privilege: str, part: TallyPart) -> Row:
        sample = self.universe.entity(part.first)
        return Row(
            privilege=privilege,
            gained=part.gained,
            role_set=part.cause,
            users=part.users,
            others=part.others,
            type=sample.type,
            entities=part.entities,
            pairs=part.pairs,
            sample=sample,
        )

    def _concerned(self, compared: _OnePrivilege) -> dict[Acting, list[Principal]]:
        """The users for whom something may differ, by the principals that the privilege names."""
        concerned: dict[Acting, list[Principal]] = {}
        for (before, after), users in self.groups.items():
            is_moved = before != after or not compared.changed.isdisjoint(before)
            differing = (
                users if is_moved or compared.owners_differ else self._reowning(compared, users)
            )
            if differing:
                key = before & compared.named(0), after & compared.named(1)
                concerned.setdefault(key, []).extend(differing)
        return concerned

    def _reowning(self, compared: _OnePrivilege, users: Sequence[Principal]) -> list[Principal]:
        """Those of the users who own something else than before, where that matters."""
        if not compared.asks_owners:
            return []
        return [user for user in users if self.owns_otherwise(user)]

    def owns_otherwise(self, user: Principal) -> bool:
        """Whether the user owns something that it did not own, or the reverse."""
        before, after = self._owning.get(user, (frozenset(), frozenset()))
        return before != after or not self._changed_owners.isdisjoint(before)

    def _owned(self, user: Principal) -> Acting:
        return self._owning.get(user, (frozenset(), frozenset()))

    def owns(self, user: Principal) -> bool:
        """Whether the user owns anything, before or after."""
        return user in self._owning


class _OnePrivilege:
    """One privilege on both sides."""

    def __init__(self, universe: Universe, name: str) -> None:
        self._universe = universe
        self._name = name
        self._sides = universe.before, universe.after
        self._grants = tuple(side.grants(name) for side in self._sides)
        before, after = self._grants
        self.changed = frozenset(
            p
            for p in before.principals | after.principals
            if before.allow.get(p) != after.allow.get(p) or before.deny.get(p) != after.deny.get(p)
        )
        self.changed_on_both = frozenset(
            p
            for p in self.changed
            if self._on_both(before.allow.get(p)) != self._on_both(after.allow.get(p))
            or self._on_both(before.deny.get(p)) != self._on_both(after.deny.get(p))
        )
        self.asks_owners = bool(before.owners or after.owners)
        is_own = name in universe.model.self_privileges
        self._is_own = is_own
        self.owners_differ = before.owners != after.owners or (is_own and universe.is_moved)
        self._cells: Cells = Cells.none()

    def _on_both(self, numbers: Iterable[int] | None) -> BitMap:
        """What of these scopes is stored on both sides."""
        both = self._universe.before.domain & self._universe.after.domain
        return BitMap.union(BitMap(), *(self._universe.scopes[n] & both for n in numbers or ()))

    def named(self, side: int) -> RoleSet:
        """The principals that statements about the privilege name on one side."""
        return self._grants[side].principals

    def is_special(self, user: Principal, comparison: Comparison) -> bool:
        """Whether more than the role set may tell what the user may do."""
        return (self.asks_owners and comparison.owns(user)) or (self._is_own and user != SOMEBODY)

    def look_at(self, groups: Iterable[Acting]) -> Cells:
        """Takes the classes that tell apart what these role sets may do, and returns them."""
        used = {number for grants in self._grants for number, _ in grants.owners}
        for key in groups:
            for role_set, grants in zip(key, self._grants, strict=True):
                used.update(*(grants.allow.get(p, ()) for p in role_set))
                used.update(*(grants.deny.get(p, ()) for p in role_set))
        self._cells = cells(self._universe, used)
        return self._cells

    def change(
        self,
        before: RoleSet,
        after: RoleSet,
        owned: Mapping[Principal, Acting],
        *,
        gained: bool,
    ) -> Change:
        """What users of the role sets gain from `before` to `after`, or lose."""
        old, new = (0, 1) if gained else (1, 0)
        role_sets = before, after
        had, has = (self._base(side, role_sets[side]) for side in (old, new))
        change = Change(has - had)
        for user, owners in owned.items():
            mine = self._mine(old, user, owners[old], role_sets[old])
            now = self._mine(new, user, owners[new], role_sets[new])
            less = self._cells.within(mine, change.cells)
            more = now - mine - self._cells.within(now, had | change.cells)
            if less:
                change.less[user] = less
            if more:
                change.more[user] = more
        return change

    def _base(self, side: int, role_set: RoleSet) -> BitMap:
        """The cells in which statements give the privilege to the role set itself."""
        allowed = self._united(self._grants[side].allow, role_set)
        return allowed - self._denied(side, role_set)

    def _denied(self, side: int, role_set: RoleSet) -> BitMap:
        return self._united(self._grants[side].deny, role_set)

    def _united(self, by: Mapping[Principal, frozenset[int]], role_set: RoleSet) -> BitMap:
        numbers = {number for p in role_set for number in by.get(p, ())}
        return BitMap.union(BitMap(), *(self._cells.inside(number) for number in numbers))

    def _mine(self, side: int, user: Principal, owners: RoleSet, role_set: RoleSet) -> BitMap:
        """The entities on which the user holds the privilege as an owner, or as itself."""
        owning: Side = self._sides[side]
        mine = BitMap()
        for number, types in self._grants[side].owners:
            mine |= self._universe.scopes[number] & owning.owned(owners, types)
        if mine:
            mine -= self._cells.within(mine, self._denied(side, role_set))
        return mine | owning.own(user) if self._is_own else mine
