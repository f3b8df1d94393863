"""Two snapshots side by side: one numbering of entities and of scopes for both.

Entities keep the ids of the first snapshot; entities of only the second one are numbered after
them. Scopes that contain the same entities on both sides have one number.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from pyroaring import BitMap

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.facts import ROOT
from lakewarden.kernel.grants import Grouped
from lakewarden.kernel.model import Model
from lakewarden.kernel.principal import USER, Principal
from lakewarden.kernel.scopes import Reaching
from lakewarden.kernel.snapshot import Snapshot
from lakewarden.kernel.tree import Tree

OwnerTypes = frozenset[str] | None
Ids = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Grants:
    """The statements about one privilege: scope numbers by principal, and those to owners.

    `owners` holds (scope, ownership types); None for the types means any.
    """

    allow: Mapping[Principal, frozenset[int]]
    deny: Mapping[Principal, frozenset[int]]
    owners: frozenset[tuple[int, OwnerTypes]]
    principals: frozenset[Principal]


@dataclass(slots=True)
class ScopeNumbering:
    """The numbers of the scopes of both sides; `scopes[n]` are the stored entities in scope n."""

    scopes: list[BitMap] = field(default_factory=list)
    _numbers: dict[Reaching, list[int]] = field(default_factory=dict)

    def number(self, reaching: Reaching, ids: BitMap) -> int:
        """The number of a scope that contains these entities."""
        known = self._numbers.setdefault(reaching, [])
        for number in known:
            if self.scopes[number] == ids:
                return number
        self.scopes.append(ids)
        known.append(len(self.scopes) - 1)
        return known[-1]


@dataclass(slots=True)
class Universe:
    """Both snapshots under one numbering."""

    model: Model
    size: int
    numbering: ScopeNumbering = field(default_factory=ScopeNumbering)
    before: Side = field(init=False)
    after: Side = field(init=False)

    @property
    def scopes(self) -> Sequence[BitMap]:
        """By the number of a scope, the stored entities in it."""
        return self.numbering.scopes

    @property
    def is_moved(self) -> bool:
        """Whether the snapshots hold different entities."""
        return self.before.domain != self.after.domain

    def entity(self, id: int) -> Entity:
        """The entity with this id."""
        tree = self.before.tree
        return tree.entity(id) if id < len(tree) else self.after.late[id - len(tree)]

    def of_types(self) -> Iterator[BitMap]:
        """The entities of each type on either side, and the one that stands for no resource."""
        tree = self.before.tree
        domain = self.before.domain | self.after.domain
        kinds: dict[str, BitMap] = {}
        for code, kind in enumerate(tree.kinds):
            kinds[kind] = BitMap(np.flatnonzero(tree.types == code).astype(np.uint32)) & domain
        for place, entity in enumerate(self.after.late):
            if place + len(tree) in domain:
                kinds.setdefault(entity.type, BitMap()).add(place + len(tree))
        yield from kinds.values()

    def changed_owners(self) -> frozenset[Principal]:
        """The principals whose owned entities or ownership types differ between the sides."""
        before, after = self.before.by_owner(), self.after.by_owner()
        if before is after:
            return frozenset()
        keys = before.keys() | after.keys()
        nothing = BitMap()
        return frozenset(k[0] for k in keys if before.get(k, nothing) != after.get(k, nothing))


Owned = dict[tuple[Principal, str], BitMap]
"""By owner and ownership type, the entities owned."""


class Side:
    """One of the two snapshots, in terms of the universe.

    `places[id]` is the universe's id of the snapshot's entity `id`; None: the same one. `late`
    are the entities that only this snapshot knows. `domain` are the stored entities, and the
    one that stands for no resource.
    """

    def __init__(
        self,
        numbering: ScopeNumbering,
        snapshot: Snapshot,
        places: Ids | None,
        late: list[Entity],
    ) -> None:
        # Not the universe itself: in a circle, both snapshots would outlive the comparison.
        self._numbering = numbering
        self._snapshot = snapshot
        self._places = places
        self._owned: Owned | None = None
        self._numbered: dict[int, int] = {}
        self.tree: Tree = snapshot.coded.tree
        self.late = late
        # A name may be dropped and stored again: only one of its two ids counts.
        self._live = snapshot.coded.tree.stored | BitMap([ROOT])
        self.domain = self.placed(self._live)

    def placed(self, ids: BitMap) -> BitMap:
        """The universe's ids of the stored ones among the entities."""
        live = ids & self._live
        if self._places is None:
            return live
        rows = np.asarray(live.to_array())
        return BitMap(self._places[rows].astype(np.uint32))

    def users(self) -> Iterator[Principal]:
        """The stored users."""
        memberships = self._snapshot.coded.memberships
        stored = (memberships.principals[id] for id in memberships.stored)
        return (principal for principal in stored if principal.kind == USER)

    def named(self) -> Iterator[Principal]:
        """The principals named in statements in force."""
        table = self._snapshot.table
        principals = self._snapshot.coded.memberships.principals
        for side in (table.allow, table.deny):
            for grouped in side.values():
                yield from (principals[id] for id in grouped.by_principal)

    def acts_as(self, user: Principal) -> frozenset[Principal]:
        """Everything that the user acts as."""
        memberships = self._snapshot.coded.memberships
        return frozenset(memberships.principals[id] for id in memberships.acts_as(user))

    def is_too_nested(self, user: Principal) -> bool:
        """Whether the user's chain of memberships is too long; such a user is denied everything."""
        return self._snapshot.coded.memberships.is_too_nested(user)

    def grants(self, privilege: str) -> Grants:
        """The statements in force about a privilege."""
        table = self._snapshot.table
        allows, denies = table.allows(privilege), table.denies(privilege)
        allow, deny = self._by_principal(allows), self._by_principal(denies)
        owners = frozenset(
            (self._number(grant.scope), grant.owners.types)
            for grant in allows.to_owners
            if grant.owners is not None
        )
        return Grants(allow, deny, owners, frozenset({*allow, *deny}))

    def _by_principal(self, grouped: Grouped) -> dict[Principal, frozenset[int]]:
        principals = self._snapshot.coded.memberships.principals
        return {
            principals[id]: frozenset(self._number(grant.scope) for grant in grants)
            for id, grants in grouped.by_principal.items()
        }

    def _number(self, scope: int) -> int:
        number = self._numbered.get(scope)
        if number is None:
            ids = self.placed(self._snapshot.bitmaps[scope])
            number = self._numbering.number(self._snapshot.table.scopes[scope], ids)
            self._numbered[scope] = number
        return number

    def owners(self) -> Iterable[Principal]:
        """The principals who own anything."""
        return {owner for owner, _ in self.by_owner()}

    def by_owner(self) -> Owned:
        """The entities of each owner."""
        if self._owned is None:
            self._owned = self._by_owner()
        return self._owned

    def share_owners(self, other: Side) -> None:
        """Declares that ownership is the same on both sides."""
        self._owned = other.by_owner()

    def _by_owner(self) -> Owned:
        coded = self._snapshot.coded
        stored = np.asarray(coded.tree.stored.to_array(), dtype=np.int32)
        positions, owners, labels = coded.owners.flat(stored)
        ids_by_owner: Owned = {}
        width = len(coded.ownerships)
        keys = owners.astype(np.int64) * width + labels
        order = np.argsort(keys, kind="stable")
        starts = np.flatnonzero(np.diff(keys[order], prepend=-1))
        for group in np.split(order, starts[1:]) if len(order) else ():
            owner, label = divmod(int(keys[group[0]]), width)
            ids = self.placed(BitMap(stored[positions[group]].astype(np.uint32)))
            ids_by_owner[coded.memberships.principals[owner], coded.ownerships[label]] = ids
        return ids_by_owner

    def owned(self, owners: Iterable[Principal], types: OwnerTypes) -> BitMap:
        """The entities that any of the principals owns with one of the ownership types."""
        by_owner = self.by_owner()
        labels = self._snapshot.coded.ownerships if types is None else tuple(types)
        keys = ((owner, label) for owner in owners for label in labels)
        return BitMap.union(BitMap(), *(by_owner[key] for key in keys if key in by_owner))

    def own(self, user: Principal) -> BitMap:
        """The stored entities that are the user."""
        return self.placed(self._snapshot.entities_of([user]))


def universe(before: Snapshot, after: Snapshot) -> Universe:
    """Both snapshots under one numbering."""
    old, new = before.coded.tree, after.coded.tree
    places: Ids | None = None
    late: list[Entity] = []
    if old is not new:
        places, late = _places(old, new)
    united = Universe(before.model, len(old) + len(late))
    united.before = Side(united.numbering, before, None, [])
    united.after = Side(united.numbering, after, places, late)
    coded = before.coded, after.coded
    if coded[0].owners is coded[1].owners and old is new:
        united.after.share_owners(united.before)
    return united


def _places(old: Tree, new: Tree) -> tuple[Ids, list[Entity]]:
    """For each id of `new` that of `old`, or one after those of `old`; and the new entities."""
    places = np.arange(len(new), dtype=np.int64)
    late: list[Entity] = []
    for id in range(len(old) if _continues(old, new) else 0, len(new)):
        entity = new.entity(id)
        place = old.find(entity)
        if place is None:
            place = len(old) + len(late)
            late.append(entity)
        places[id] = place
    return places, late


def _continues(old: Tree, new: Tree) -> bool:
    """Whether `new` gives the ids of `old` to the same entities."""
    size = len(old)
    return (
        new.kinds[: len(old.kinds)] == old.kinds
        and new.names[:size] == old.names
        and np.array_equal(new.types[:size], old.types)
    )
