"""Narrower anchors: entities that could replace a statement's scope and still cover its uses."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Final

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.grants import affected_privileges
from lakewarden.kernel.model import ANY, Model, Reach
from lakewarden.kernel.scopes import Reaching, match, normal
from lakewarden.kernel.statement import Anything, Matching, On, Scope, Statement
from lakewarden.pipeline.index.task_context import CompiledBlock

Chain = tuple[Entity, ...]
"""Possible narrower anchors of a statement, the widest first."""


@dataclass(slots=True)
class Narrower:
    """The sufficient narrower anchors by level; each level is narrower than the one before.

    A level is None if it has more than `limit` anchors; without any level, the present anchor has
    to stay.
    """

    limit: int
    levels: list[set[Entity] | None] = field(default_factory=list)
    stays: bool = False
    last: list[Chain] = field(default_factory=list)

    def add(self, chain: Chain) -> None:
        """Adds the possible anchors for one place."""
        if not chain:
            self.stays = True
        self.join([{entity} for entity in chain])

    def join(self, levels: Iterable[set[Entity] | None]) -> None:
        """Adds the possible anchors for other places."""
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
        """The serialized form."""
        levels = [None if level is None else sorted(level) for level in self.levels]
        return json.dumps([] if self.stays else levels)

    def take(self, text: str) -> None:
        """Adds the anchors for other places from `text`."""
        levels = json.loads(text)
        self.stays = self.stays or not levels
        self.join(None if level is None else {Entity(*e) for e in level} for level in levels)

    def narrowest(self, limit: int | None = None) -> frozenset[Entity] | None:
        """The anchors of the narrowest level with at most `limit`; None: the present anchor."""
        if self.stays:
            return None
        few = self.limit if limit is None else limit
        levels = [level for level in self.levels if level and len(level) <= few]
        return frozenset(levels[-1]) if levels else None


def _at(levels: list[set[Entity] | None], place: int) -> set[Entity] | None:
    return levels[min(place, len(levels) - 1)]


NAMES: Final = 100
"""The most names in a criterion that replaces a wider one."""


def named_by(model: Model) -> str | None:
    """The field whose values are names of entities, in a system that has one."""
    return next((f.name for f in model.fields.values() if f.origin == ("name",)), None)


def is_by_name(scope: Scope, model: Model) -> bool:
    """Whether a narrower scope is the same scope with an additional criterion on names."""
    return not isinstance(scope, (On, Matching)) and named_by(model) is not None


def anchor_limit(scope: Scope, model: Model, pieces: int) -> int:
    """How many narrower anchors may replace a scope."""
    return NAMES if is_by_name(scope, model) else pieces


def chain(compiled_block: CompiledBlock, statement: Statement, privilege: str, place: int) -> Chain:
    """Narrower anchors for a word of a statement that still reach a stored place.

    Empty if the statement cannot be narrowed: there is no narrower anchor, or a narrower one would
    reach more than the wide one (a privilege that also reaches upwards).
    """
    snapshot, scope = compiled_block.snapshot, statement.scope
    model, tree = snapshot.model, snapshot.coded.tree
    entity = tree.entity(place)
    if not entity.name:
        return ()
    if is_by_name(scope, model):
        return (entity,)
    alone = replace(statement, privileges=frozenset({privilege}))
    reaches = {model.privilege(name).reach for name in affected_privileges(alone, model)}
    on = model.privilege(privilege).on
    if isinstance(scope, (On, Anything)) and reaches == {Reach.BELOW}:
        top = tree.find(scope.entity) if isinstance(scope, On) else -1
        return () if top is None else _between(compiled_block, place, top, on)
    fits = isinstance(scope, (Matching, Anything)) and bool({entity.type, ANY} & on)
    return (entity,) if fits and _is_within(compiled_block, place, scope, reaches) else ()


def _between(compiled_block: CompiledBlock, place: int, top: int, on: frozenset[str]) -> Chain:
    """The path from below `top` (-1: everything) to the place, of entities that grants may name."""
    tree = compiled_block.snapshot.coded.tree
    chain: list[Entity] = []
    for at in (place, *tree.ancestors(place)):
        if at == top:
            return tuple(reversed(chain))
        entity = tree.entity(at)
        if at in tree.stored and {entity.type, ANY} & on:
            chain.append(entity)
    return tuple(reversed(chain)) if top < 0 else ()


def _is_within(
    compiled_block: CompiledBlock, place: int, scope: Scope, reaches: set[Reach]
) -> bool:
    """Whether a statement on the place alone reaches it, and reaches no more than `scope`."""
    block = compiled_block.snapshot.block
    own = On(compiled_block.snapshot.coded.tree.entity(place))
    wide = match(block, [Reaching(scope, Reach.EXACTLY), *(normal(scope, r) for r in reaches)])
    narrow = match(block, [normal(own, reach) for reach in reaches])
    if place not in wide[0]:
        return False
    return all(few <= many for few, many in zip(narrow, wide[1:], strict=True))
