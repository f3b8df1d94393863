"""Who gains and who loses what, between two snapshots of one realm.

A row is (role set × class × privilege): users with the same memberships are merged,
as are entities in the same scopes. Users are never multiplied by entities; the effect of
ownership is counted through each owner's own entities. The comparison is of what `decide` returns
for every privilege by name, for every stored user on every stored entity and on no
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

    `role_set` are the principals that are the reason: the users newly act as some of them, or
    no longer do, or statements on them changed; empty if ownership is the reason.
    `pairs` counts (user, entity); it is `len(users) * entities` unless
    ownership distinguishes the users. `others`: users who are not stored gain or lose as well.
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
    """All differences, in order of privilege, and their totals.

    `users` and `entities` are the totals over all rows, each counted once.
    """

    rows: tuple[Row, ...]
    users: int
    entities: int

    @property
    def gained(self) -> int:
        """How many (user, entity, privilege) are newly allowed."""
        return sum(row.pairs for row in self.rows if row.gained)

    @property
    def lost(self) -> int:
        """How many (user, entity, privilege) are no longer allowed."""
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
"""What users act as, before and after, limited to principals that statements name."""


class Comparison:
    """Two snapshots, and their users grouped by the principals in statements.

    `groups` holds all stored users and `SOMEBODY`; within a group, only ownership or identity
    distinguishes users. `moved` are users whose memberships changed.
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
        """The differences in privileges, by name."""
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
        """For each group, the users for whom the statements about the privilege differ.

        `stayed`: only differences on entities of both sides.
        """
        compared = _OnePrivilege(self.universe, privilege)
        changed = compared.changed_on_both if stayed else compared.changed
        concerned: dict[Acting, Sequence[Principal]] = {}
        for memberships, users in self.groups.items():
            before, after = memberships[0] & compared.named(0), memberships[1] & compared.named(1)
            if before != after or not changed.isdisjoint(before) or compared.owners_differ:
                concerned[memberships] = users
            else:
                owning = self._with_changed_ownership(compared, users)
                if owning:
                    concerned[memberships] = owning
        return concerned

    def _rows(self, privilege: str) -> Iterator[Row]:
        compared = _OnePrivilege(self.universe, privilege)
        groups = self._concerned(compared)
        if not groups:
            return
        cells = compared.set_cells(groups)
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
        """The users whom a difference may affect, by the principals that the privilege names."""
        concerned: dict[Acting, list[Principal]] = {}
        for (before, after), users in self.groups.items():
            is_moved = before != after or not compared.changed.isdisjoint(before)
            differing = (
                users
                if is_moved or compared.owners_differ
                else self._with_changed_ownership(compared, users)
            )
            if differing:
                key = before & compared.named(0), after & compared.named(1)
                concerned.setdefault(key, []).extend(differing)
        return concerned

    def _with_changed_ownership(
        self, compared: _OnePrivilege, users: Sequence[Principal]
    ) -> list[Principal]:
        """Those users whose owned entities changed, if that matters for the privilege."""
        if not compared.asks_owners:
            return []
        return [user for user in users if self.owns_otherwise(user)]

    def owns_otherwise(self, user: Principal) -> bool:
        """Whether the user's owned entities changed."""
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
        """The entities of these scopes that are stored on both sides."""
        both = self._universe.before.domain & self._universe.after.domain
        return BitMap.union(BitMap(), *(self._universe.scopes[n] & both for n in numbers or ()))

    def named(self, side: int) -> RoleSet:
        """The principals that statements about the privilege name on one side."""
        return self._grants[side].principals

    def is_special(self, user: Principal, comparison: Comparison) -> bool:
        """Whether the user's access may depend on more than the role set."""
        return (self.asks_owners and comparison.owns(user)) or (self._is_own and user != SOMEBODY)

    def set_cells(self, groups: Iterable[Acting]) -> Cells:
        """Sets and returns the cells that distinguish the access of these role sets."""
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
            mine = self._own_access(old, user, owners[old], role_sets[old])
            now = self._own_access(new, user, owners[new], role_sets[new])
            less = self._cells.within(mine, change.cells)
            more = now - mine - self._cells.within(now, had | change.cells)
            if less:
                change.less[user] = less
            if more:
                change.more[user] = more
        return change

    def _base(self, side: int, role_set: RoleSet) -> BitMap:
        """The cells in which statements give the privilege to the role set itself."""
        allowed = self._union_of_cells(self._grants[side].allow, role_set)
        return allowed - self._denied(side, role_set)

    def _denied(self, side: int, role_set: RoleSet) -> BitMap:
        return self._union_of_cells(self._grants[side].deny, role_set)

    def _union_of_cells(self, by: Mapping[Principal, frozenset[int]], role_set: RoleSet) -> BitMap:
        numbers = {number for p in role_set for number in by.get(p, ())}
        return BitMap.union(BitMap(), *(self._cells.inside(number) for number in numbers))

    def _own_access(self, side: int, user: Principal, owners: RoleSet, role_set: RoleSet) -> BitMap:
        """The entities on which the user holds the privilege as an owner, or on itself."""
        owning: Side = self._sides[side]
        mine = BitMap()
        for number, types in self._grants[side].owners:
            mine |= self._universe.scopes[number] & owning.owned(owners, types)
        if mine:
            mine -= self._cells.within(mine, self._denied(side, role_set))
        return mine | owning.own(user) if self._is_own else mine
