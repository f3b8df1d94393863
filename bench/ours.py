"""lakewarden in the bench: the declared Gravitino model over workload W, without special code."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import cycle

import numpy as np
from numpy.typing import NDArray
from pyroaring import BitMap

from bench.literal import MODIFY_TABLE, SELECT_TABLE, USE_CATALOG, USE_SCHEMA, Literal, Void
from bench.timing import latencies, stretch
from lakewarden.kernel import listing
from lakewarden.kernel.batch import Batch, decide_many
from lakewarden.kernel.change import StatementAdded, StatementRemoved
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.grants import table
from lakewarden.kernel.incremental_compile import apply
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.principal import USER, Principal
from lakewarden.kernel.relations import Facts
from lakewarden.kernel.request import Request
from lakewarden.kernel.snapshot import assemble, compile
from lakewarden.kernel.statement import Effect, On, Statement
from lakewarden.service.system import System
from lakewarden.testing.workload import USERS, Workload, role, user

OPERATION, NOW = "table.load", 0.0
PAGE = 100
LEVELS = ("schema", "table", "schema", "catalog", "schema", "table") * 2
"""The levels of changed grants, roughly in the workload's own proportions."""


def built(facts: Facts, system: System) -> Matrix:
    """A servable matrix from decoded rows: encoded, matched, classified, the operation planned."""
    matrix = Matrix(compile(facts, system.model, system.spelling, now=NOW))
    matrix.plan(matrix.operation(OPERATION), "table")
    return matrix


def questions(workload: Workload) -> list[tuple[str, str, str, float]]:
    """The queries as arguments of `Matrix.check`."""
    return [(user(u).name, OPERATION, workload.entity(t).name, NOW) for u, t in workload.queries]


class Lists:
    """What users may load, as a set, sorted ids, a page or a count; compared with the truth."""

    def __init__(self, matrix: Matrix, workload: Workload, users: int) -> None:
        first = workload.first_table
        tree = matrix.snapshot.coded.tree
        found = (tree.find(workload.entity(node)) for node in range(first, workload.nodes))
        self.ids = np.array([-1 if id is None else id for id in found], dtype=np.int32)
        self.users = [(user(u).name,) for u in range(users)]
        self._matrix = matrix

    def bitmap(self, name: str) -> BitMap:
        """The whole list, as a set of ids."""
        return listing.listing(self._matrix, self._request(name))

    def sorted_ids(self, name: str) -> object:
        """The whole list, as an array of ids in canonical order."""
        return self.bitmap(name).to_array()

    def count(self, name: str) -> int:
        """The length of the list."""
        return listing.count(self._matrix, self._request(name))

    def page(self, name: str, after: Entity) -> listing.Page:
        """A page of a hundred from the middle of the list, including set, total and names."""
        return listing.page(self._matrix, self._request(name), PAGE, after)

    def _request(self, name: str) -> Request:
        return Request(Principal(USER, name), OPERATION, now=NOW)

    def middles(self) -> list[tuple[str, Entity]]:
        """Each user with the entity in the middle of its list."""
        tree = self._matrix.snapshot.coded.tree
        sets = [(name, self.bitmap(name)) for (name,) in self.users]
        return [(name, tree.entity(ids[len(ids) // 2])) for name, ids in sets if ids]

    def slices(self) -> list[tuple[BitMap, int]]:
        """Each user's set with the rank of its middle."""
        sets = [self.bitmap(name) for (name,) in self.users]
        return [(ids, len(ids) // 2) for ids in sets if ids]

    def slice(self, ids: BitMap, rank: int) -> list[Entity]:
        """A page of a hundred from an existing set, with the names."""
        entity = self._matrix.snapshot.coded.tree.entity
        return [entity(id) for id in ids[rank : rank + PAGE]]

    def agree(self, literal: Literal) -> list[int]:
        """Compares lists, counts and pages with the truth; the times of the first lists, in ns."""
        taken = []
        for number, (name,) in enumerate(self.users):
            truth = BitMap(self.ids[literal.standing(number).loads].astype(np.uint32))
            start = time.perf_counter_ns()
            ids = self.bitmap(name)
            taken.append(time.perf_counter_ns() - start)
            if ids != truth or self.count(name) != len(truth):
                raise Void(f"lakewarden lists {len(ids)} tables for {name}, not {len(truth)}")
            self._agree_on_page(name, truth)
        return taken

    def _agree_on_page(self, name: str, truth: BitMap) -> None:
        if not truth:
            return
        middle = len(truth) // 2
        page = self.page(name, self._matrix.snapshot.coded.tree.entity(truth[middle]))
        if list(page.entities) != self.slice(truth, middle + 1) or page.total != len(truth):
            raise Void(f"lakewarden gives {name} a wrong page")


@dataclass(frozen=True, slots=True)
class Batches:
    """The queries as one batch: as numbers for the prepared `Batch`, as names in requests."""

    batch: Batch
    principals: NDArray[np.int32]
    entities: NDArray[np.int32]
    requests: Sequence[Request]

    @staticmethod
    def of(matrix: Matrix, workload: Workload) -> Batches:
        """The batch of a matrix."""
        batch = Batch(matrix, OPERATION, "table", [user(u) for u in range(USERS)])
        find = matrix.snapshot.coded.tree.find
        asked = [(user(u), workload.entity(t)) for u, t in workload.queries]
        numbers = [batch.numbers[who] for who, _ in asked]
        ids = [find(what) for _, what in asked]
        return Batches(
            batch,
            np.array(numbers, dtype=np.int32),
            np.array([-1 if id is None else id for id in ids], dtype=np.int32),
            [Request(who, OPERATION, what, NOW) for who, what in asked],
        )

    def by_ids(self) -> list[bool]:
        """The verdicts, by numbers."""
        verdicts: list[bool] = self.batch.decide(self.principals, self.entities, NOW).tolist()
        return verdicts

    def by_names(self, matrix: Matrix) -> list[bool]:
        """The verdicts, by names."""
        return decide_many(matrix, self.requests)

    def ids_per_s(self, repeats: int) -> float:
        """Verdicts per second, by numbers."""
        with stretch():
            start = time.perf_counter()
            for _ in range(repeats):
                self.batch.decide(self.principals, self.entities, NOW)
            return repeats * len(self.requests) / (time.perf_counter() - start)

    def names_per_s(self, matrix: Matrix) -> float:
        """Verdicts per second, by names."""
        with stretch():
            start = time.perf_counter()
            decide_many(matrix, self.requests)
            return len(self.requests) / (time.perf_counter() - start)


@dataclass(frozen=True, slots=True)
class Opening:
    """A grant that allows a user to load a table that was denied before."""

    user: str
    table: str
    statement: Statement


def openings(workload: Workload, literal: Literal) -> Iterator[Opening]:
    """Grants of SELECT_TABLE to a role of a user who lacks nothing else, query by query."""
    levels = cycle(LEVELS)
    for number, (u, node) in enumerate(workload.queries):
        standing, table = literal.standing(u), node - workload.first_table
        holds, denied = standing.holds, standing.denied
        inside = holds[USE_CATALOG][table] and holds[USE_SCHEMA][table]
        closed = denied[SELECT_TABLE][table] or holds[MODIFY_TABLE][table]
        if not inside or closed or standing.loads[table]:
            continue
        level, at = next(levels), node
        while workload.entity(at).type != level:
            at = workload.parent(at) or 0
        statement = Statement(
            id=f"opening:{number}",
            effect=Effect.ALLOW,
            privileges=frozenset({"SELECT_TABLE"}),
            scope=On(workload.entity(at)),
            principals=frozenset({role(literal.roles(u)[number % len(literal.roles(u))])}),
        )
        yield Opening(user(u).name, workload.entity(node).name, statement)


@dataclass(slots=True)
class Changes:
    """Milliseconds until a user sees a grant that was added or removed."""

    matrix: Matrix
    added: list[float]
    removed: list[float]

    def alternate(self, opening: Opening) -> None:
        """Adds and removes one grant."""
        add, remove = StatementAdded(opening.statement), StatementRemoved(opening.statement.id)
        self.added.append(self._visible(add, opening, allowed=True))
        self.removed.append(self._visible(remove, opening, allowed=False))

    def _visible(
        self, change: StatementAdded | StatementRemoved, opening: Opening, *, allowed: bool
    ) -> float:
        revision = self.matrix.revision + 1
        with stretch():
            start = time.perf_counter()
            self.matrix = apply(self.matrix, [change], now=NOW, revision=revision)
            decision = self.matrix.check(opening.user, OPERATION, opening.table, NOW)
            taken = (time.perf_counter() - start) * 1e3
        if decision.allow is not allowed or decision.revision != revision:
            raise Void(f"a changed grant is not seen: {opening}")
        return taken


def rebuild(matrix: Matrix, opening: Opening) -> float:
    """Milliseconds to rebuild everything that depends on statements, with one more grant."""
    before = matrix.snapshot
    statements = {**before.table.statements, opening.statement.id: opening.statement}
    with stretch():
        start = time.perf_counter()
        index = table(statements, before.model, before.coded.memberships, NOW)
        later = Matrix(assemble(before.coded, index, before.revision + 1))
        decision = later.check(opening.user, OPERATION, opening.table, NOW)
        taken = (time.perf_counter() - start) * 1e3
    if not decision.allow:
        raise Void(f"a grant is not seen after a rebuild: {opening}")
    return taken


def while_swapping(
    matrix: Matrix, workload: Workload, changes: Sequence[Opening], seconds: float
) -> list[int]:
    """Nanoseconds of single checks while another thread swaps in a new matrix every 100 ms."""
    current = [matrix]
    stop = threading.Event()

    def swap() -> None:
        for revision, opening in enumerate(cycle(changes), start=1):
            if stop.wait(0.1):
                return
            current[0] = apply(
                matrix, [StatementAdded(opening.statement)], now=NOW, revision=revision
            )

    def check(who: str, operation: str, name: str, now: float) -> object:
        return current[0].check(who, operation, name, now)

    asked = questions(workload)
    taken: list[int] = []
    writer = threading.Thread(target=swap)
    writer.start()
    try:
        until = time.perf_counter() + seconds
        while time.perf_counter() < until:
            taken += latencies(check, asked)
    finally:
        stop.set()
        writer.join()
    return taken
