"""What users gain and lose when the model of a realm is replaced by another edition of it.

Unlike `access`, which compares statements under one model, every operation is listed on both
sides: a rule may have changed without any change of statements.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from pyroaring import BitMap

from lakewarden.analysis.access import LISTINGS, Access, Reached, WayCount
from lakewarden.analysis.tally import SOMEBODY
from lakewarden.analysis.universe import Side, Universe, universe
from lakewarden.kernel.entity import NO_RESOURCE
from lakewarden.kernel.expression import Node
from lakewarden.kernel.facts import ROOT
from lakewarden.kernel.listing import listing
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.model import WAYS, Model
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.request import Request


def access_under(before: Matrix, after: Matrix, now: float, limit: int = LISTINGS) -> Access:
    """What users gain and lose from `before` to `after`, evaluated at `now`.

    After `limit` listings no more are computed: the result is then correct but incomplete. `held`
    is empty: privileges of two editions are not compared by name.
    """
    return _Comparison(before, after, now, limit).access()


@dataclass(frozen=True, slots=True)
class _Change:
    """Some entities of one type, gained or lost by some users; `ids` as a key."""

    gained: bool
    type: str
    ids: bytes
    users: tuple[Principal, ...]


class _Comparison:
    def __init__(self, before: Matrix, after: Matrix, now: float, limit: int) -> None:
        self._sides = before, after
        self._models = before.snapshot.model, after.snapshot.model
        self._universe: Universe = universe(before.snapshot, after.snapshot)
        self._now = now
        self._left = limit
        placed = self._universe.before, self._universe.after
        self._placed: tuple[Side, Side] = placed
        self._users = (*sorted({user for side in placed for user in side.users()}), SOMEBODY)

    def access(self) -> Access:
        """All differences."""
        operations: dict[_Change, list[str]] = {}
        for operation, type in self._questions():
            for change in self._changes(operation, type):
                operations.setdefault(change, []).append(operation)
        reached = [self._reached(change, names) for change, names in operations.items()]
        reached.sort(
            key=lambda change: (not change.gained, -change.pairs, change.type, change.operations)
        )
        ids = BitMap.union(BitMap(), *(BitMap.deserialize(change.ids) for change in operations))
        users = {user for change in operations for user in change.users} - {SOMEBODY}
        return Access(
            reached=tuple(reached),
            held=(),
            ways=tuple(self._ways(operations)),
            users=len(users),
            entities=len(ids),
            is_whole=self._left >= 0,
        )

    def _questions(self) -> list[tuple[str, str]]:
        """Every operation with each type to which it applies; those with changed rules first."""
        trees = [side.snapshot.coded.tree for side in self._sides]
        kinds = {kind for tree in trees for kind in tree.kinds if kind and tree.of_type(kind)}
        is_same_rule: dict[tuple[str, str], bool] = {}
        for name in dict.fromkeys((*self._models[0].operations, *self._models[1].operations)):
            for type in sorted(kinds | {""}):
                rules = [_rule(model, name, type) for model in self._models]
                if any(rule is not None for rule in rules):
                    is_same_rule[name, type] = rules[0] == rules[1]
        return sorted(is_same_rule, key=lambda question: (is_same_rule[question], question))

    def _changes(self, operation: str, type: str) -> Iterator[_Change]:
        users: dict[tuple[bool, bytes], list[Principal]] = {}
        for user in self._users:
            if self._left <= 0:
                self._left = -1
                break
            had, has = (self._listed(side, user, operation, type) for side in (0, 1))
            for gained, ids in ((True, has - had), (False, had - has)):
                if ids:
                    users.setdefault((gained, ids.serialize()), []).append(user)
        for (gained, key), changed_for in users.items():
            yield _Change(gained, type, key, tuple(changed_for))

    def _listed(self, side: int, user: Principal, operation: str, type: str) -> BitMap:
        if _rule(self._models[side], operation, type) is None:
            return BitMap()
        self._left -= 1
        matrix, request = self._sides[side], Request(user, operation, NO_RESOURCE, self._now)
        if not type:
            return BitMap([ROOT] if matrix.decide(request).allow else [])
        return self._placed[side].placed(listing(matrix, request, type=type))

    def _reached(self, change: _Change, operations: Sequence[str]) -> Reached:
        ids = BitMap.deserialize(change.ids)
        return Reached(
            ways=tuple(way for way in WAYS if self._is_way(way, change, operations)),
            operations=tuple(operations),
            gained=change.gained,
            users=tuple(user for user in change.users if user != SOMEBODY),
            others=SOMEBODY in change.users,
            type=change.type,
            entities=len(ids),
            pairs=len(ids) * len(change.users),
            sample=self._universe.entity(ids.min()),
        )

    def _is_way(self, way: str, change: _Change, operations: Sequence[str]) -> bool:
        """Whether one of the operations has this access level, on the side that allows it."""
        return self._models[change.gained].reaching(way, change.type) in operations

    def _ways(self, changes: Mapping[_Change, Sequence[str]]) -> Iterator[WayCount]:
        for way in WAYS:
            for gained in (True, False):
                by_way = [
                    change
                    for change, names in changes.items()
                    if change.gained is gained and self._is_way(way, change, names)
                ]
                users = {user for change in by_way for user in change.users} - {SOMEBODY}
                ids = BitMap.union(BitMap(), *(BitMap.deserialize(block.ids) for block in by_way))
                yield WayCount(way, gained, len(users), len(ids))


def _rule(model: Model, operation: str, type: str) -> Node | None:
    declared = model.operations.get(operation)
    return None if declared is None else declared.rule_or_none(type)
