"""The statements through which an access is allowed, from the kernel's explanation.

An access is explained in the block of its entity. If a node of the rule holds, and all nodes above
it hold, then every statement that gives its privilege is on some way to the decision:

- by the privileges of the statement that give the one that the rule requires,
- by the principals of the statement that the caller acts as (or by ownership of the entity),
- at the entity that the rule is about.

The chosen way is decided later, over all blocks: `lakewarden.pipeline.unused.formula`.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

import pyarrow as pa
from pyroaring import BitMap, BitMap64

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.explain import Step, explain
from lakewarden.kernel.expression import IsSelf, Node, Owner, ServiceAdmin
from lakewarden.kernel.grants import affected_privileges
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.principal import SERVICE_ADMINS, Principal
from lakewarden.kernel.request import Request
from lakewarden.kernel.rows import Code
from lakewarden.kernel.statement import Statement
from lakewarden.kernel.subject import Subject
from lakewarden.pipeline.index.matching import canonical
from lakewarden.pipeline.index.task_context import CompiledBlock
from lakewarden.pipeline.unused.formula import Cell, formula, pairs
from lakewarden.pipeline.unused.narrower_scopes import Chain, Narrower, anchor_limit, chain

OWNERS: Final = -1
"""In place of a principal: the owners of the resource."""

DENIED: Final = "denied"
USED: Final = "used"
ACTED: Final = "acted"

SAID: Final = (
    "what string, access long, way string, statement string, word string, principal int, n long,"
    " last string, bits binary, users binary, narrower string"
)
"""The results for accesses, of three kinds:

    denied   `access` is not allowed (any more)
    used     accesses that are allowed by the same `way` (the formula) used the `word` of the
             `statement` through `principal`: `n` times since the window began, at the
             entities `bits`, by `users`; `last` is the last day in total; `narrower`: see
             `lakewarden.pipeline.unused.narrower_scopes.Narrower`
    acted    the user `access` acted as `principal`
"""

_ARROW: Final = pa.schema(
    [
        *(("what", pa.string()), ("access", pa.int64()), ("way", pa.string())),
        *(("statement", pa.string()), ("word", pa.string()), ("principal", pa.int32())),
        *(("n", pa.int64()), ("last", pa.string()), ("bits", pa.binary())),
        *(("users", pa.binary()), ("narrower", pa.string())),
    ]
)


class Access(NamedTuple):
    """An access: `n` times since the window began, and last on the day `last`."""

    number: int
    principal: int
    operation: str
    entity: Entity
    n: int
    last: str


@dataclass(slots=True)
class Use:
    """The uses of a statement's privilege through a principal."""

    narrower: Narrower
    n: int = 0
    last: str = ""
    places: BitMap64 = field(default_factory=BitMap64)
    users: BitMap = field(default_factory=BitMap)

    def join(self, row: Mapping[str, Any]) -> None:
        """Adds the uses of another block, or another way."""
        self.last = max(self.last, row["last"])
        if row["n"]:
            self.n += row["n"]
            self.places |= BitMap64.deserialize(row["bits"])
            self.users |= BitMap.deserialize(row["users"])
            self.narrower.take(row["narrower"])


class _Way(NamedTuple):
    """How an access is allowed: the formula, and its cells with the entities they are about."""

    text: str
    cells: tuple[tuple[Cell, Entity], ...]


class Ways:
    """The ways of the accesses in one block. `pieces`: how many anchors may replace one."""

    def __init__(self, compiled_block: CompiledBlock, now: float, pieces: int) -> None:
        self._compiled_block = compiled_block
        self._matrix = Matrix(compiled_block.snapshot)
        self._now = now
        self._pieces = pieces
        self._uses: dict[tuple[str, Cell], Use] = {}
        self._acted: set[tuple[int, int]] = set()
        self._denied: list[int] = []
        self._words: dict[tuple[str, str], tuple[str, ...]] = {}
        self._known: dict[object, _Way] = {}
        self._chains: dict[tuple[str, str, int], Chain] = {}

    def take(self, access: Access) -> None:
        """Explains one access."""
        principal = self._compiled_block.snapshot.coded.memberships.principals[access.principal]
        request = Request(principal, access.operation, access.entity, self._now)
        if not self._matrix.decide(request).allow:
            self._denied.append(access.number)
            return
        subject = self._matrix.subject(request)
        key = self._key(access, subject)
        way = None if key is None else self._known.get(key)
        if way is None:
            way, is_shared = self._explained(access, request, subject)
            if key is not None and is_shared:
                self._known[key] = way
        else:
            way = way._replace(cells=tuple((cell, access.entity) for cell, _ in way.cells))
        for cell, at in way.cells:
            self._use(access, way.text, cell, at)

    def _key(self, access: Access, subject: Subject) -> object | None:
        """A key for accesses with the same way; None: the access must be explained on its own.

        COST: accesses of one role set to entities of one class are explained once.
        """
        matrix, tree = self._matrix, self._compiled_block.snapshot.coded.tree
        id = tree.find(access.entity)
        if id is None or id in subject.owned_subtree:
            return None
        operation = matrix.operation(access.operation)
        plan = matrix.plan(operation, access.entity.type)
        if plan.columns is None or plan.shape.other:
            return None
        number = int(plan.columns.classes[id])
        if plan.codes(matrix.entry(plan, subject))[number] != Code.ALLOWED:
            return None
        return access.operation, access.entity.type, subject.key, number

    def _explained(self, access: Access, request: Request, subject: Subject) -> tuple[_Way, bool]:
        """The way of an access, and whether other accesses with its key have the same way."""
        explained = explain(self._matrix, request).rule
        if explained is None:
            return _Way("null", ()), False
        model = self._compiled_block.snapshot.model
        rule = self._matrix.operation(access.operation).rule(access.entity.type)
        steps: list[tuple[Cell, Entity]] = []

        def granting(step: Step) -> list[Cell]:
            entity = access.entity if step.entity is None else step.entity
            cells = list(self._granting_cells(step.says, step.allowed_by, subject))
            steps.extend((cell, entity) for cell in cells)
            return cells

        text = json.dumps(formula(model, rule, explained, granting), ensure_ascii=False)
        way = _Way(text, tuple(sorted(set(steps))))
        depends = self._act(access, subject, rule, explained)
        return way, not depends and all(at == access.entity for _, at in way.cells)

    def _granting_cells(
        self, privilege: str, statements: tuple[str, ...], subject: Subject
    ) -> Iterator[Cell]:
        """The cells of the statements that give the privilege there."""
        snapshot = self._compiled_block.snapshot
        ids = snapshot.coded.memberships.ids
        for id in statements:
            statement = snapshot.table.statements[id]
            people = {ids[p] for p in statement.principals} & subject.allow
            if not people:  # then ownership gives it: there is no other way
                people.add(OWNERS)
            for privilege_name in self._words_for(statement, privilege):
                yield from ((id, privilege_name, principal) for principal in people)

    def _words_for(self, statement: Statement, privilege: str) -> tuple[str, ...]:
        """The words of the statement that give the privilege."""
        key = (statement.id, privilege)
        if key not in self._words:
            model = self._compiled_block.snapshot.model
            alone = (
                (name, replace(statement, privileges=frozenset({name})))
                for name in statement.privileges
            )
            names = (
                name for name, single in alone if privilege in affected_privileges(single, model)
            )
            self._words[key] = tuple(sorted(names))
        return self._words[key]

    def _use(self, access: Access, way: str, cell: Cell, at: Entity) -> None:
        """Counts a cell for the accesses of a way."""
        snapshot = self._compiled_block.snapshot
        id, privilege, principal = cell
        statement = snapshot.table.statements[id]
        use = self._uses.get((way, cell))
        if use is None:
            limit = anchor_limit(statement.scope, snapshot.model, self._pieces)
            use = self._uses[way, cell] = Use(Narrower(limit))
        use.last = max(use.last, access.last)
        if not access.n:
            return
        if principal != OWNERS:
            self._acted.add((access.principal, principal))
        use.n += access.n
        use.users.add(access.principal)
        place = snapshot.coded.tree.find(at)
        if place is None or place not in snapshot.coded.tree.stored:
            use.narrower.add(())
            return
        use.places.add(int(self._compiled_block.block.ids[place]))
        key = (id, privilege, place)
        if key not in self._chains:
            self._chains[key] = chain(self._compiled_block, statement, privilege, place)
        use.narrower.add(self._chains[key])

    def _act(self, access: Access, subject: Subject, node: Node, step: Step) -> bool:
        """Records what the user acted as without a statement: an owner, administrator, or itself.

        Returns whether the decision depends on that.
        """
        model = self._compiled_block.snapshot.model
        is_personal = isinstance(node, (IsSelf, Owner, ServiceAdmin))
        if access.n:
            self._acted.update((access.principal, p) for p in self._as(subject, node, step))
        inner = [
            self._act(access, subject, part, at)
            for part, at in pairs(model, node, step)
            if at.holds
        ]
        return is_personal or any(inner)

    def _as(self, subject: Subject, node: Node, step: Step) -> Iterator[int]:
        """The principals that the user acts as in a node that holds, beyond those of statements."""
        coded = self._compiled_block.snapshot.coded
        if isinstance(node, ServiceAdmin):
            yield coded.memberships.ids[SERVICE_ADMINS]
        own = None if step.entity is None else coded.model.principal_kind(step.entity)
        if (
            isinstance(node, IsSelf)
            and own is not None
            and Principal(*own) in coded.memberships.ids
        ):
            yield coded.memberships.ids[Principal(*own)]
        id = None if step.entity is None else coded.tree.find(step.entity)
        for at in () if id is None else (id, *coded.tree.ancestors(id)):
            yield from (owner for owner, _ in coded.owners.of(at) if owner in subject.deny)

    def batch(self) -> pa.RecordBatch:
        """The results for all accesses; the columns are `SAID`."""
        rows: list[tuple[object, ...]] = [(DENIED, number, *[None] * 9) for number in self._denied]
        for (way, cell), use in sorted(self._uses.items()):
            sets = (canonical(use.places), canonical(use.users))
            rows.append((USED, None, way, *cell, use.n, use.last, *sets, use.narrower.text()))
        for user, principal in sorted(self._acted):
            rows.append((ACTED, user, *[None] * 3, principal, *[None] * 5))
        columns = list(zip(*rows, strict=True)) or [()] * len(_ARROW)
        arrays = [pa.array(c, f.type) for c, f in zip(columns, _ARROW, strict=True)]
        return pa.record_batch(arrays, schema=_ARROW)
