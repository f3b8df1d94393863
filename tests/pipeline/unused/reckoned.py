"""Worlds with accesses, evaluated block by block without Spark, and the resulting proposals."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, replace

from pyroaring import BitMap

from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.facts import ROOT, spelled_parent
from lakewarden.kernel.listing import listing
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.principal import USER, Principal
from lakewarden.kernel.relations import Facts
from lakewarden.kernel.request import Request
from lakewarden.kernel.snapshot import Snapshot, compile
from lakewarden.kernel.statement import On, Statement
from lakewarden.kernel.statement_file import principal_text
from lakewarden.pipeline.unused import policy
from lakewarden.pipeline.unused.finding import Finder, Findings, UsageTotals, sizes_of, together
from lakewarden.pipeline.unused.proposal import Proposer
from lakewarden.pipeline.unused.statement_paths import Access, Ways
from lakewarden.service.system import System
from lakewarden.testing.world_draft import NOW
from tests.agreement.conftest import is_day
from tests.pipeline.index import worlds

LAST = "2024-05-01"
NAMES = 20 if is_day() else 60
"""The number of operations and privileges to check per world, each for all users."""


def compiled(system: System, facts: Facts) -> Snapshot:
    return compile(facts, system.model, system.spelling, now=NOW)


Fact = tuple[Principal, str, Entity]
"""A user's permission on an entity."""


def acts(snapshot: Snapshot, rng: random.Random, count: int = NAMES) -> list[str]:
    """Some of the operations and privileges for checks."""
    names = [*snapshot.model.operations, *snapshot.model.privileges]
    return rng.sample(names, min(count, len(names)))


def allowed(snapshot: Snapshot, names: Sequence[str], more: Sequence[Entity] = ()) -> set[Fact]:
    """All permissions for plain requests, on stored entities and on some names."""
    matrix, coded = Matrix(snapshot), snapshot.coded
    tree = coded.tree
    unlisted = BitMap(range(len(tree))) - tree.stored
    others = {*(tree.entity(id) for id in unlisted), NO_RESOURCE, *more}
    found: set[Fact] = set()
    for user in (
        p for p in map(coded.memberships.principals.__getitem__, coded.memberships.stored)
    ):
        if user.kind != USER or coded.memberships.is_too_nested(user):
            continue
        for name in names:
            ids = listing(matrix, Request(user, name, NO_RESOURCE, NOW))
            found.update((user, name, tree.entity(id)) for id in ids)
            operation = matrix.operation(name)
            for entity in others:
                asked = Request(user, name, entity, NOW)
                if operation.rule_or_none(entity.type) and matrix.decide(asked).allow:
                    found.add((user, name, entity))
    return found


@dataclass(frozen=True)
class Reckoned:
    """The blocks' results for accesses, and the proposals."""

    said: UsageTotals
    denied: frozenset[int]
    findings: Findings
    proposed: tuple[Statement, ...]
    snapshot: Snapshot

    def without(self, facts: Facts, *, safe: bool = False) -> Facts:
        """The facts without unused memberships; `safe`: only removals that allow nothing new."""
        unused = {
            (member, of)
            for member, of, may_widen in self.findings.tables["unused_memberships"]
            if not (safe and may_widen)
        }
        texts = ((row, tuple(map(principal_text, row))) for row in facts.memberships)
        return replace(facts, memberships=[row for row, pair in texts if pair not in unused])


def reckon(
    system: System,
    facts: Facts,
    accesses: Sequence[Access],
    pieces: int = 5,
    share: float = 0.5,
) -> Reckoned:
    """Evaluates like the job does, in one process."""
    whole = compiled(system, facts)
    rows: list[dict[str, object]] = []
    for judged in worlds.compiled_blocks(whole, system):
        ways = Ways(judged, NOW, pieces)
        for access in accesses:
            if home(whole, access.entity) >> worlds.BITS == judged.number:
                ways.take(access)
        rows += ways.batch().to_pylist()
    sizes = sizes_of(whole.table, {n: len(found) for n, found in enumerate(whole.bitmaps)})
    said = together(rows, whole.table, pieces, sizes)
    coded = whole.coded
    named = {s.scope.entity for s in facts.statements if isinstance(s.scope, On)}
    proposer = Proposer(
        system.model,
        system.spelling,
        coded.memberships,
        frozenset(whole.table.statements),
        frozenset(said.anchors() | {entity for entity in named if coded.is_known(entity)}),
        pieces,
    )
    findings = Finder(whole.table, coded.memberships, proposer, sizes, share).find(said)
    changed = policy.read(policy.tables(findings.changes), system, "proposal")
    proposed = policy.applied(facts.statements, changed)
    after = compiled(system, replace(facts, statements=proposed))
    denied = frozenset(int(str(r["access"])) for r in rows if r["what"] == "denied")
    return Reckoned(said, denied, findings, proposed, after)


def home(snapshot: Snapshot, entity: Entity) -> int:
    """The id of the entity, or of the nearest ancestor in its name."""
    coded = snapshot.coded
    at: Entity | None = entity
    while at is not None and at != NO_RESOURCE:
        id = coded.tree.find(at)
        if id is not None:
            return id
        at = spelled_parent(coded.spelling, at)
    return ROOT


def some(snapshot: Snapshot, done: set[Fact], rng: random.Random, count: int) -> list[Access]:
    """A few accesses, some of them before the window."""
    ids = snapshot.coded.memberships.ids
    chosen = rng.sample(sorted(done), min(count, len(done)))
    return [
        Access(number, ids[who], act, entity, rng.choice((0, 1, 3)), LAST)
        for number, (who, act, entity) in enumerate(chosen)
    ]
