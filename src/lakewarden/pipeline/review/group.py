"""Groups of entities: those of one type that lie in one container.

If a matter distinguishes too many entities, a review reports for each group who is allowed on any
of its entities, and who on all of them. Both are exact. Bounds are computed first: statements that
touch a group allow at most the users they name, statements that cover the whole group at least
these. Where the bounds differ, the entities are evaluated one after the other, those in the fewest
scopes first, until nothing can change any more.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray
from pyroaring import BitMap

from lakewarden.kernel.algebra import Algebra
from lakewarden.kernel.expression import (
    At,
    Compare,
    Every,
    Holds,
    IsSelf,
    Node,
    NotDenied,
    Owner,
    ServiceAdmin,
    Some,
)
from lakewarden.kernel.grants import Grant
from lakewarden.kernel.principal import USER
from lakewarden.pipeline.review.audience import Audience, People, Telling
from lakewarden.pipeline.review.column import Codes, Column, joined
from lakewarden.pipeline.review.group_bounds import Atoms, Groups, Sides, both, either
from lakewarden.pipeline.review.reduction import Reduction, Spots
from lakewarden.pipeline.review.residue import (
    Everybody,
    Free,
    Given,
    Itself,
    Nobody,
    Owned,
    Residue,
    Residues,
)
from lakewarden.pipeline.review.statement_coverage import Cover, cover

_FIRST: Final = 4
"""How many entities of a group are evaluated first; each further step doubles the number."""


class Group(NamedTuple):
    """The outcome of a matter on one group: the users allowed on any entity, and on all."""

    some: BitMap
    every: BitMap
    atoms: Atoms


class Grouping(Algebra[Sides, Groups]):
    """Computes bounds for groups, rule by rule, and the exact outcomes."""

    def __init__(self, reduction: Reduction, people: People, telling: Telling) -> None:
        self._snapshot = reduction.snapshot
        self._like = reduction
        self._people = people
        self._telling = telling
        self._begin()

    def _begin(self) -> None:
        """Discards the residues of single entities, which may take much memory."""
        self._residues = Residues()
        self._reduction = Reduction(self._snapshot, self._residues, like=self._like)
        self._audience = Audience(self._people, self._residues, self._telling)

    def outcomes(self, rule: Node, groups: Groups) -> list[Group]:
        """The outcome of the rule on each group."""
        self._begin()
        sides = self.evaluate(rule, groups)
        some, every = self._settled(rule, groups, sides)
        return [Group(*cells) for cells in zip(some, every, sides.atoms, strict=True)]

    # what the bounds leave open

    def _settled(
        self, rule: Node, groups: Groups, sides: Sides
    ) -> tuple[list[BitMap], list[BitMap]]:
        some, every = list(map(BitMap, sides.some)), list(map(BitMap, sides.upper))
        sizes = np.diff(groups.starts)
        examined, step = 0, _FIRST
        while True:
            left = [
                g
                for g in range(len(groups))
                if examined < sizes[g] and (some[g] != sides.upper[g] or every[g] != sides.every[g])
            ]
            if not left:
                return some, every
            # Entities in the fewest scopes are evaluated first; the others follow in order.
            rows = [
                groups.order[groups.starts[g] + examined : groups.starts[g + 1]][:step]
                for g in left
            ]
            self._ask(rule, groups, np.concatenate(rows), some, every)
            examined, step = examined + step, step * 2
            self._begin()

    def _ask(
        self,
        rule: Node,
        groups: Groups,
        rows: Codes,
        some: list[BitMap],
        every: list[BitMap],
    ) -> None:
        """Updates the bounds with the outcomes of single entities."""
        column = self._reduction.evaluate(rule, Spots(groups.ids[rows]))
        for group, code in _pairs(groups.codes[rows], len(groups), column):
            users = self._audience.stated(column.of[code])
            some[group] |= users
            every[group] &= users

    # the algebra

    def evaluate(self, node: Node, place: Groups) -> Sides:
        if not isinstance(node, (Holds, NotDenied)):
            return super().evaluate(node, place)
        known = place.known.get(node)
        if known is None:
            known = place.known[node] = super().evaluate(node, place)
        return known

    def all_of(self, values: Iterator[Sides]) -> Sides:
        result = next(values)
        for more in values:
            result = both(result, more)
        return result

    def any_of(self, values: Iterator[Sides]) -> Sides:
        result = next(values)
        for more in values:
            result = either(result, more)
        return result

    def holds(self, privilege: str, place: Groups) -> Sides:
        allows, denies = self._grants(privilege, place)
        own = self._self(privilege, place)
        some, upper, every, atoms = [], [], [], []
        for allowed, denied in zip(allows, denies, strict=True):
            surely_allowed, allowed_some = self._users_named(allowed)
            surely_denied, denied_some = self._users_named(denied)
            some.append(allowed_some - denied_some)
            upper.append(allowed_some - surely_denied)
            every.append(surely_allowed - denied_some)
            atoms.append(_atoms(privilege, [g for g, _ in (*allowed, *denied)]) | own)
        return Sides(some, upper, every, tuple(atoms))

    def not_denied(self, privilege: str, place: Groups) -> Sides:
        _, denies = self._grants(privilege, place)
        everyone = self._people.users.everyone
        bounds = [self._users_named(denied) for denied in denies]
        lower = [everyone - denied_some for _, denied_some in bounds]
        upper = [everyone - surely_denied for surely_denied, _ in bounds]
        atoms = [_atoms(privilege, [grant for grant, _ in denied]) for denied in denies]
        return Sides(lower, upper, lower, atoms)

    def may(self, operation: str, place: Groups) -> Sides:
        rule = self._snapshot.model.operation(operation).rule_or_none(place.type)
        return self.constant(False, place) if rule is None else self.evaluate(rule, place)

    def constant(self, truth: bool, place: Groups) -> Sides:
        users = self._people.users.everyone if truth else BitMap()
        alike = [users] * len(place)
        return Sides(alike, alike, alike, [frozenset()] * len(place))

    # parts that do not depend on statements about the entity itself vary little: no bounds

    def owner(self, levels: tuple[str, ...], place: Groups) -> Sides:
        return self._exactly(Owner(levels), place)

    def is_self(self, place: Groups) -> Sides:
        return self._exactly(IsSelf(), place)

    def service_admin(self, place: Groups) -> Sides:
        return self._exactly(ServiceAdmin(), place)

    def elsewhere(self, selector: str, inner: Node, place: Groups) -> Sides:
        return self._exactly(At(selector, inner), place)

    def related(self, source: str, inner: Node, place: Groups, *, every: bool) -> Sides:
        return self._exactly((Every if every else Some)(source, inner), place)

    def compare(self, node: Compare, place: Groups) -> Sides:
        return self._exactly(node, place)

    def _exactly(self, node: Node, place: Groups) -> Sides:
        column = self._reduction.evaluate(node, Spots(place.ids))
        some = [BitMap() for _ in place.names]
        every = [BitMap(self._people.users.everyone) for _ in place.names]
        atoms: list[set[Residue]] = [set() for _ in place.names]
        for group, code in _pairs(place.codes, len(place), column):
            users = self._audience.stated(column.of[code])
            some[group] |= users
            every[group] &= users
            atoms[group] |= self._residues.leaves(column.of[code]) - {Nobody(), Everybody()}
        return Sides(some, some, every, list(map(frozenset, atoms)))

    # statements

    def _grants(self, privilege: str, place: Groups) -> tuple[list[_Touching], list[_Touching]]:
        """The ALLOWs and the DENYs that touch each group, and whether they cover all of it."""
        table = self._snapshot.table
        allows = self._touching(table.allows(privilege).every, place)
        return allows, self._touching(table.denies(privilege).every, place)

    def _touching(self, grants: Sequence[Grant], place: Groups) -> list[_Touching]:
        by_group: list[_Touching] = [[] for _ in place.names]
        for grant in grants:
            touched, complete = self._touched(grant.scope, place)
            for group, is_whole in zip(touched.tolist(), complete.tolist(), strict=True):
                by_group[group].append((grant, is_whole))
        return by_group

    def _touched(self, scope: int, place: Groups) -> tuple[Codes, NDArray[np.bool_]]:
        """The groups with entities in a scope, and whether all of them are inside."""
        known = place.touched.get(scope)
        if known is None:
            inside = np.asarray(self._snapshot.bitmaps[scope].to_array(), dtype=np.int64)
            # The ids of a type ascend, so those inside are found by binary search.
            at = np.minimum(np.searchsorted(place.ids, inside), len(place.ids) - 1)
            codes = place.codes[at[place.ids[at] == inside]]
            counts = np.bincount(codes, minlength=len(place))
            touched = np.flatnonzero(counts)
            complete = counts[touched] == np.diff(place.starts)[touched]
            known = place.touched[scope] = touched, complete
        return known

    def _users_named(self, grants: _Touching) -> tuple[BitMap, BitMap]:
        """The users named by grants that cover a whole group, and those named by any grant."""
        complete = (p for grant, is_whole in grants if is_whole for p in grant.principals)
        every = (p for grant, _ in grants for p in grant.principals)
        return self._people.of(set(complete)), self._people.of(set(every))

    def _self(self, privilege: str, place: Groups) -> Atoms:
        model = self._snapshot.model
        declared = model.types.get(place.type)
        is_user = declared is not None and declared.principal == USER
        if is_user and privilege in model.self_privileges:
            return frozenset({Itself((), exactly=True)})
        return frozenset()


_Touching = list[tuple[Grant, bool]]


def _pairs(groups: Codes, count: int, column: Column) -> list[list[int]]:
    """The pairs of a group and a column value that occur."""
    _, stands = joined([(groups, count), (column.codes, len(column.of))])
    rows: list[list[int]] = stands.tolist()
    return rows


def _atoms(privilege: str, grants: Sequence[Grant]) -> Atoms:
    """The residues of the grants for one privilege."""
    covered: Cover = cover({0: list(grants)}, [0])
    atoms: set[Residue] = {Owned((), types, ids) for types, ids in covered.owners}
    if covered.allows:
        atoms.add(Given(privilege, covered.allows))
    if covered.denies:
        atoms.add(Free(privilege, covered.denies))
    return frozenset(atoms)
