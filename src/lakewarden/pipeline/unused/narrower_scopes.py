"""Narrower anchors: on what a statement could be instead and still reach what was done."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.grants import touched
from lakewarden.kernel.model import ANY, Model, Reach
from lakewarden.kernel.scopes import Reaching, match, normal
from lakewarden.kernel.statement import Anything, Matching, On, Scope, Statement
from lakewarden.pipeline.index.task_context import CompiledBlock

Chain = tuple[Entity, ...]
"""Where a statement could be anchored in place of where it is, the widest first."""


@dataclass(slots=True)
class Narrower:
    """The narrower anchors that would do, level by level, each level narrower than the one before.

    A level is None where there are more than `limit`; without any level the anchor that there
    is has to stay.
    """

    limit: int
    levels: list[set[Entity] | None] = field(default_factory=list)
    stays: bool = False
    last: list[Chain] = field(default_factory=list)

    def add(self, chain: Chain) -> None:
        """What one place would do with."""
        if not chain:
            self.stays = True
        self.join([{entity} for entity in chain])

    def join(self, levels: Iterable[set[Entity] | None]) -> None:
        """What other places would do with."""
        others = list(levels)
        if self.stays or not others:
            return
        mine = self.levels or [set()]
        count = max(len(mine), len(others))
        self.levels = [self._both(_at(mine, i), _at(others, i)) for i in range(count)]

    def _both(self, first: set[Entity] | None, second: set[Entity] | None) -> set[Entity] | None:
        if first is None or second is None:
            return None
        both = first | second
        return None if len(both) > self.limit else both

    def text(self) -> str:
        """As it travels."""
        levels = [None if level is None else sorted(level) for level in self.levels]
        return json.dumps([] if self.stays else levels)

    def take(self, text: str) -> None:
        """Takes in what `text` says of other places."""
        levels = json.loads(text)
        self.stays = self.stays or not levels
        self.join(None if level is None else {Entity(*e) for e in level} for level in levels)

    def narrowest(self, limit: int | None = None) -> frozenset[Entity] | None:
        """The anchors of the narrowest level that has at most so many; None: the one there is."""
        if self.stays:
            return None
        few = self.limit if limit is None else limit
        levels = [level for level in self.levels if level and len(level) <= few]
        return frozenset(levels[-1]) if levels else None


def _at(levels: list[set[Entity] | None], place: int) -> set[Entity] | None:
    return levels[min(place, len(levels) - 1)]


NAMES: Final = 100
"""How many names a criterion lists at most that takes the place of a wider one."""


def named_by(model: Model) -> str | None:
    """The field whose values are names of entities, in a system that has one."""
    return next((f.name for f in model.fields.values() if f.origin == ("name",)), None)


def is_by_name(scope: Scope, model: Model) -> bool:
    """Whether a narrower scope is the same with the names of some entities besides."""
    return not isinstance(scope, (On, Matching)) and named_by(model) is not None


def anchor_limit(scope: Scope, model: Model, pieces: int) -> int:
    """How many narrower anchors may take the place of a scope."""
    return NAMES if is_by_name(scope, model) else pieces


def chain(judged: CompiledBlock, statement: Statement, privilege: str, place: int) -> Chain:
    """Narrower anchors for a word of a statement that still reach a stored place.

    Empty where the statement has to stay as wide as it is: none is narrower, or a narrower one
    would reach what the wide one does not (a privilege that also reaches upwards).
    """
    snapshot, scope = judged.snapshot, statement.scope
    model, tree = snapshot.model, snapshot.coded.tree
    entity = tree.entity(place)
    if not entity.name:
        return ()
    if is_by_name(scope, model):
        return (entity,)
    alone = replace(statement, privileges=frozenset({privilege}))
    reaches = {model.privilege(name).reach for name in touched(alone, model)}
    on = model.privilege(privilege).on
    if isinstance(scope, (On, Anything)) and reaches == {Reach.BELOW}:
        top = tree.find(scope.entity) if isinstance(scope, On) else -1
        return () if top is None else _between(judged, place, top, on)
    fits = isinstance(scope, (Matching, Anything)) and bool({entity.type, ANY} & on)
    return (entity,) if fits and _is_within(judged, place, scope, reaches) else ()


def _between(judged: CompiledBlock, place: int, top: int, on: frozenset[str]) -> Chain:
    """What lies from below `top` (-1: all) down to the place and may be granted on."""
    tree = judged.snapshot.coded.tree
    chain: list[Entity] = []
    for at in (place, *tree.ancestors(place)):
        if at == top:
            return tuple(reversed(chain))
        entity = tree.entity(at)
        if at in tree.stored and {entity.type, ANY} & on:
            chain.append(entity)
    return tuple(reversed(chain)) if top < 0 else ()


def _is_within(judged: CompiledBlock, place: int, scope: Scope, reaches: set[Reach]) -> bool:
    """Whether a statement on the place alone reaches it, and nothing but what `scope` reaches."""
    block = judged.snapshot.block
    own = On(judged.snapshot.coded.tree.entity(place))
    wide = match(block, [Reaching(scope, Reach.EXACTLY), *(normal(scope, r) for r in reaches)])
    narrow = match(block, [normal(own, reach) for reach in reaches])
    if place not in wide[0]:
        return False
    return all(few <= many for few, many in zip(narrow, wide[1:], strict=True))
