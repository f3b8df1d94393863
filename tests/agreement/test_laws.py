"""Laws that hold for every world, tested on the compiled kernel alone."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakewarden.kernel import incremental_compile
from lakewarden.kernel import listing as listings
from lakewarden.kernel.batch import decide_many
from lakewarden.kernel.entity import NO_RESOURCE, Entity
from lakewarden.kernel.errors import StaleSnapshot, Unknown, WardenError
from lakewarden.kernel.explain import explain
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.principal import USER, Principal
from lakewarden.kernel.relations import Facts
from lakewarden.kernel.request import Reason, Request
from lakewarden.kernel.statement import Condition, Effect, Statement, Where
from lakewarden.kernel.who import who
from lakewarden.service.system import System
from lakewarden.testing.questions import ask
from lakewarden.testing.statement_generator import StatementGenerator
from lakewarden.testing.world_draft import NOW, WorldDraft
from lakewarden.testing.worlds import World, make
from tests.agreement import harness
from tests.agreement.conftest import a_share_of_the_examples
from tests.agreement.harness import SYSTEMS
from tests.oracle.oracle import Oracle

seeds = st.integers(0, 2**32 - 1)
every_system = pytest.mark.parametrize("name", SYSTEMS)
few = a_share_of_the_examples(8, by_day=3)


def drawn(name: str, seed: int) -> tuple[World, list[Request]]:
    world = make(harness.system(name), seed, harness.SMALL)
    return world, [r for r in ask(world, seed, 40) if r.target.type != "any"]


def allowed(system: System, facts: Facts, requests: Sequence[Request]) -> set[int]:
    matrix = harness.compiled(system, facts, NOW)
    return {
        number
        for number, request in enumerate(requests)
        if harness.outcome(lambda r=request: harness.decided(matrix, r)) == "allow"  # type: ignore[misc]
    }


def with_statements(facts: Facts, statements: Sequence[Statement]) -> Facts:
    return replace(facts, statements=tuple(statements))


@pytest.mark.by_day(4)
@every_system
@few
@given(seed=seeds)
def test_without_an_allow_only_a_deny_takes_anything_away(name: str, seed: int) -> None:
    world, requests = drawn(name, seed)
    before = allowed(world.system, world.facts, requests)
    for effect in Effect:
        kept = [s for s in world.facts.statements if s.effect is not effect]
        after = allowed(world.system, with_statements(world.facts, kept), requests)
        assert after <= before if effect is Effect.ALLOW else after >= before


@pytest.mark.by_day(4)
@every_system
@few
@given(seed=seeds)
def test_one_allow_less_adds_nothing_and_one_deny_less_removes_nothing(
    name: str, seed: int
) -> None:
    world, requests = drawn(name, seed)
    before = allowed(world.system, world.facts, requests)
    for left in world.facts.statements[:4]:
        kept = [s for s in world.facts.statements if s is not left]
        after = allowed(world.system, with_statements(world.facts, kept), requests)
        assert after <= before if left.effect is Effect.ALLOW else after >= before


@pytest.mark.by_day(4)
@every_system
@few
@given(seed=seeds)
def test_one_allow_more_removes_nothing_and_one_deny_more_adds_nothing(
    name: str, seed: int
) -> None:
    world, requests = drawn(name, seed)
    before = allowed(world.system, world.facts, requests)
    draft = WorldDraft.of(world.system, world.facts, random.Random(seed))
    for _ in range(3):
        more = StatementGenerator(draft).anything()
        statements = [*world.facts.statements, more]
        after = allowed(world.system, with_statements(world.facts, statements), requests)
        assert after >= before if more.effect is Effect.ALLOW else after <= before


@few
@given(seed=seeds)
def test_metadata_more_takes_a_privilege_away_only_by_not_equals(seed: int) -> None:
    world, _ = drawn("datahub", seed)
    requests = [
        Request(principal, privilege, row.entity, NOW)
        for principal in world.facts.principals[:4]
        for privilege in list(world.system.model.privileges)[:6]
        for row in world.facts.entities
    ]
    # A field that reads one kind of edge, or else another, also takes access away.
    fields = world.system.model.fields
    positive = [
        s
        for s in world.facts.statements
        if not isinstance(s.scope, Where)
        or all(
            c.condition is not Condition.NOT_EQUALS and len(fields[c.field].origin) == 1
            for c in s.scope.criteria
        )
    ]
    poor = replace(world.facts, statements=tuple(positive), relations=(), attributes=(), owners=())
    rich = with_statements(world.facts, positive)
    assert allowed(world.system, poor, requests) <= allowed(world.system, rich, requests)


@pytest.mark.by_day(4)
@every_system
@few
@given(seed=seeds)
def test_order_and_duplicates_of_rows_mean_nothing(name: str, seed: int) -> None:
    world, requests = drawn(name, seed)
    rng = random.Random(seed)

    def again(rows: Sequence[object]) -> tuple[object, ...]:
        twice = [*rows, *rng.sample(list(rows), len(rows) // 2)]
        rng.shuffle(twice)
        return tuple(twice)

    facts = world.facts
    shuffled = Facts(
        entities=again(facts.entities),  # type: ignore[arg-type]
        relations=again(facts.relations),  # type: ignore[arg-type]
        attributes=again(facts.attributes),  # type: ignore[arg-type]
        owners=again(facts.owners),  # type: ignore[arg-type]
        principals=again(facts.principals),  # type: ignore[arg-type]
        memberships=again(facts.memberships),  # type: ignore[arg-type]
        statements=tuple(rng.sample(facts.statements, len(facts.statements))),
    )
    one = harness.compiled(world.system, facts, NOW)
    other = harness.compiled(world.system, shuffled, NOW)
    for request in requests:
        ask_one, ask_other = (
            harness.outcome(lambda m=matrix, r=request: harness.decided(m, r))  # type: ignore[misc]
            for matrix in (one, other)
        )
        assert ask_one == ask_other
        if ask_one in ("allow", "deny"):
            pages = [list(harness.pages(matrix, request, None, 3)) for matrix in (one, other)]
            assert pages[0] == pages[1]


# --- times ---

Ask = Callable[[Matrix, Request], object]

ASKING: dict[str, Ask] = {
    "decide": lambda matrix, request: matrix.decide(request),
    "batch": lambda matrix, request: decide_many(matrix, [request]),
    "listing": listings.listing,
    "count": listings.count,
    "page": lambda matrix, request: listings.page(matrix, request, 5),
    "filtered": lambda matrix, request: listings.filtered(matrix, request, [request.target]),
    "who": who,
    "explain": explain,
}


@pytest.mark.parametrize("way", ASKING)
def test_a_moment_outside_the_interval_is_refused_in_every_way(way: str) -> None:
    refused = 0
    for seed in range(12):
        world, requests = drawn("everything", seed)
        matrix = harness.compiled(world.system, world.facts, NOW)
        start, end = matrix.snapshot.table.start, matrix.snapshot.table.end
        request = next(r for r in requests if r.operation == "any.get" or r.target.name)
        for now in (start - 0.5, end, end + 50):
            if abs(now) != float("inf"):
                refused += 1
                with pytest.raises(StaleSnapshot):
                    ASKING[way](matrix, replace(request, now=now))
    assert refused


@pytest.mark.parametrize("name", ["gravitino", "everything"])
def test_at_both_edges_of_the_interval_the_rows_agree(name: str) -> None:
    moments = 0
    for seed in range(10):
        world, requests = drawn(name, seed)
        table = harness.compiled(world.system, world.facts, NOW).snapshot.table
        for now in (table.start, table.end, table.end - 0.001):
            if abs(now) != float("inf"):
                moments += 1
                later = [replace(r, now=now) for r in requests]
                assert not list(harness.decide(harness.compiled_world(world, later, now=now)))
    assert moments


def test_a_snapshot_moves_to_the_next_interval_without_being_compiled_again() -> None:
    for seed in range(6):
        world, requests = drawn("everything", seed)
        before = harness.compiled_world(world, requests)
        list(harness.decide(before))
        end = before.matrix.snapshot.table.end
        if end < float("inf"):
            moved = incremental_compile.apply(before.matrix, [], now=end, revision=1)
            later = [replace(r, now=end) for r in requests]
            assert not list(harness.decide(harness.compiled_world(world, later, matrix=moved)))


# --- malformed requests ---


def strange(request: Request, rng: random.Random) -> Request:
    """The request with one invalid part."""
    elsewhere = rng.choice(
        [
            NO_RESOURCE,
            Entity("", "x"),
            Entity("nothing", ""),
            Entity("nothing", "x"),
            Entity(request.target.type, "\x00"),
            Entity(request.target.type, "." * 40),
            Entity("type", "platform"),
            Entity("any", "any"),
        ]
    )
    asker = rng.choice([Principal("", ""), Principal("implied", "all-users"), Principal(USER, "")])
    return rng.choice(
        [
            replace(request, operation="no such thing"),
            replace(request, operation=""),
            replace(request, operation=request.operation + " "),
            replace(request, operation=request.operation.upper()),
            replace(request, target=elsewhere),
            replace(request, targets=dict.fromkeys(("other", "parent", "type", "area"), elsewhere)),
            replace(request, lists=dict.fromkeys(("labels", "tags", "ancestors"), (elsewhere,))),
            replace(request, attributes={"resource.level": float("nan"), "no.such": True}),
            replace(request, subresources=(elsewhere,)),
            replace(request, principal=asker),
            replace(request, groups=(asker,)),
            replace(request, roles=frozenset({asker})),
        ]
    )


@every_system
@few
@given(seed=seeds)
def test_a_strange_question_is_never_allowed_where_the_oracle_does_not(
    name: str, seed: int
) -> None:
    world, requests = drawn(name, seed)
    oracle = Oracle(world.facts, world.system.model, world.system.spelling)
    matrix = harness.compiled(world.system, world.facts, NOW)
    rng = random.Random(seed)
    for request in requests:
        odd = strange(request, rng)
        try:
            decision = matrix.decide(odd)
        except WardenError:
            continue
        if decision.allow:
            assert oracle.check(odd), odd
        elif decision.reason is not Reason.ERROR:
            assert not oracle.check(odd), odd


def test_what_is_not_declared_is_refused_by_name() -> None:
    world, _ = drawn("gravitino", 1)
    matrix = harness.compiled(world.system, world.facts, NOW)
    asker = Principal(USER, "ana")
    for request, what in (
        (Request(asker, "table.fly", NO_RESOURCE, NOW), "operation or privilege"),
        (Request(asker, "table.load", Entity("schema", "lk:c.s"), NOW), "target type"),
        (Request(asker, "SELECT_TABLE", Entity("nothing", "x"), NOW), "type"),
    ):
        with pytest.raises(Unknown, match=f"unknown {what} "):
            matrix.decide(request)
