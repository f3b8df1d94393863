"""Row filters and column masks of random worlds: the kernel and the definition agree."""

from __future__ import annotations

import random
from collections.abc import Iterator
from dataclasses import replace
from functools import cache

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakewarden.kernel import incremental_compile
from lakewarden.kernel import snapshot as snapshots
from lakewarden.kernel.change import StatementAdded, StatementRemoved
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import LimitExceeded, WardenError
from lakewarden.kernel.incremental_compile import apply
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.obligations import obligations
from lakewarden.kernel.principal import ROLE, USER
from lakewarden.kernel.relations import Facts
from lakewarden.kernel.request import Request
from lakewarden.kernel.statement import OBLIGING, Effect, On, Statement
from lakewarden.service.system import System
from lakewarden.testing.changes import after, change
from lakewarden.testing.statement_generator import StatementGenerator
from lakewarden.testing.world_draft import NOW, WorldDraft
from lakewarden.testing.worlds import World, make
from tests.agreement import harness
from tests.agreement.conftest import a_share_of_the_examples
from tests.oracle.oracle import Oracle

seeds = st.integers(0, 2**32 - 1)
few = a_share_of_the_examples(8, by_day=4)
every_system = pytest.mark.parametrize("name", ["gravitino", "datahub", "everything"])
WITH_ROWS = {"table", "view", "dataset", "thing"}
COLUMNS = {"column", "schemaField", "part"}
EFFECTS = sorted(OBLIGING, key=lambda effect: effect.value)


@pytest.fixture(params=[16_384, 0], ids=["classes", "bitmaps"])
def forms(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Both forms of the matrix."""
    monkeypatch.setattr(snapshots, "CLASS_LIMIT", request.param)
    monkeypatch.setattr(incremental_compile, "CLASS_LIMIT", request.param)


@cache
def system(name: str) -> System:
    """The system, in which tables and similar types have rows, and columns have values."""
    of = harness.system(name)
    types = {
        type: replace(declared, filtered=type in WITH_ROWS, masked=type in COLUMNS)
        for type, declared in of.model.types.items()
    }
    return replace(of, model=replace(of.model, types=types))


def drawn(name: str, seed: int) -> tuple[World, Facts, WorldDraft]:
    """A world, its facts with a dozen obligations, and a draft to draw more over them."""
    world = make(system(name), seed, harness.SMALL)
    draft = WorldDraft.of(world.system, world.facts, random.Random(seed))
    made = tuple(more(draft, 12))
    return world, replace(world.facts, statements=(*world.facts.statements, *made)), draft


def more(draft: WorldDraft, count: int) -> Iterator[Statement]:
    generator = StatementGenerator(draft)
    for number in range(count):
        made = generator.obligation(EFFECTS[number % 2])
        if made is not None:
            yield replace(made, id=f"obligation-{number}")


def questions(system: System, facts: Facts, draft: WorldDraft) -> list[tuple[Request, Effect]]:
    """Requests of some people, with all or some roles, on all entities with rows or columns."""
    types = {t.name for t in system.model.types.values() if t.filtered or t.masked}
    entities = [row.entity for row in facts.entities if row.entity.type in types]
    entities += [e for type in sorted(types) for e in _unstored(draft, type)]
    alike = sorted(_alike(system, facts))
    people = [p for p in facts.principals if p.kind == USER]
    roles = [p for p in facts.principals if p.kind == ROLE]
    return [
        (Request(user, "", entity, NOW, roles=active), effect)
        for user in draft.some(people, 4)
        for entity in (*draft.some(entities, 6), *draft.some(alike, 3))
        for active in (None, frozenset(draft.some(roles, 2, least=0)))
        for effect in EFFECTS
    ]


def _alike(system: System, facts: Facts) -> set[Entity]:
    """Entities with rows and the same name as another one with rows that a statement names."""
    rows = {t.name for t in system.model.types.values() if t.filtered}
    scopes = [s.scope for s in facts.statements if s.obliges]
    limited = {scope.entity for scope in scopes if isinstance(scope, On)}
    named = {e for e in limited if e.type in rows}
    return {Entity(type, e.name) for e in named for type in rows - {e.type}}


def _unstored(draft: WorldDraft, type: str) -> Iterator[Entity]:
    found = draft.unstored(type)
    if found is not None:
        yield found


def bound(matrix: Matrix, request: Request, effect: Effect) -> frozenset[str] | None:
    try:
        return frozenset(one.id for one in obligations(matrix, request, effect))
    except LimitExceeded:
        return None


@pytest.mark.usefixtures("forms")
@every_system
@few
@given(seed=seeds)
def test_the_kernel_binds_whom_the_oracle_binds(name: str, seed: int) -> None:
    world, facts, draft = drawn(name, seed)
    matrix = harness.compiled(world.system, facts, NOW)
    oracle = Oracle(facts, world.system.model, world.system.spelling)
    asked = questions(world.system, facts, draft)
    for request, effect in asked:
        found = bound(matrix, request, effect)
        assert found in (None, oracle.obligations(request, effect)), (request, effect)


@pytest.mark.by_day(2)
@pytest.mark.usefixtures("forms")
@every_system
@few
@given(seed=seeds)
def test_a_changed_world_binds_as_one_compiled_afresh(name: str, seed: int) -> None:
    world, facts, draft = drawn(name, seed)
    matrix, rng = harness.compiled(world.system, facts, NOW), random.Random(seed)
    asked = questions(world.system, facts, draft)
    for question in asked:  # cache entries must not survive a change
        bound(matrix, *question)
    for number in range(6):
        made, _ = change(world.system, facts, rng.randrange(2**32))
        removed = [s.id for s in facts.statements if s.obliges]
        if number % 3 == 1 and removed:
            made = StatementRemoved(rng.choice(removed))
        fresh = next(more(draft, 4), None)
        if number % 3 == 2 and fresh is not None:
            made = StatementAdded(replace(fresh, id=f"new-{number}"))
        try:
            matrix = apply(matrix, [made], now=NOW, revision=number)
        except WardenError:
            continue
        facts = after(world.system, facts, made)
        afresh = harness.compiled(world.system, facts, NOW)
        for question in asked:
            assert bound(matrix, *question) == bound(afresh, *question)


@every_system
@few
@given(seed=seeds)
def test_one_more_statement_never_leaves_less_to_keep_to(name: str, seed: int) -> None:
    world, facts, draft = drawn(name, seed)
    asked = questions(world.system, facts, draft)
    rng = random.Random(seed)
    kept = [s for s in facts.statements if not s.obliges or rng.random() < 0.7]
    fewer = replace(facts, statements=kept)
    less, all_of = (harness.compiled(world.system, rows, NOW) for rows in (fewer, facts))
    for question in asked:
        with_fewer, with_all = (bound(matrix, *question) for matrix in (less, all_of))
        assert with_all is None or with_fewer is None or with_fewer <= with_all


@every_system
@few
@given(seed=seeds)
def test_a_role_that_is_put_aside_frees_of_nothing(name: str, seed: int) -> None:
    world, facts, draft = drawn(name, seed)
    matrix = harness.compiled(world.system, facts, NOW)
    for request, effect in questions(world.system, facts, draft):
        plain = bound(matrix, replace(request, roles=None), effect)
        narrowed = bound(matrix, request, effect)
        assert plain is None or narrowed is None or plain <= narrowed
