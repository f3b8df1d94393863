"""Deep and circular data in the store: the kernel answers like the oracle (R-17)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

import pytest

from lakewarden.kernel.batch import decide_many
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.hierarchy import MAX_LEVELS
from lakewarden.kernel.listing import count, filtered, listing, named
from lakewarden.kernel.principal import ALL_USERS, ANY_GROUP, GROUP, USER, Principal
from lakewarden.kernel.relations import EntityRow, Facts, MembershipRow, OwnerRow, RelationRow
from lakewarden.kernel.request import Request
from lakewarden.kernel.statement import Anything, Effect, On, Statement, Where
from lakewarden.kernel.who import who
from lakewarden.service.system import System
from lakewarden.testing.world_draft import NOW
from lakewarden.testing.worlds import World
from tests.agreement import harness

SYSTEM = harness.system("everything")
OPEN = harness.system("everything_open")
ANA, BOB = Principal(USER, "ana"), Principal(USER, "bob")
CHAIN = [Entity("box", f"{n:02}") for n in range(MAX_LEVELS + 4)]
"""Boxes in boxes; those from the 66th on are too deep."""
LOOP = [Entity("box", name) for name in ("x", "y", "z")]


def allow(to: Principal, scope: Anything | On | Where) -> Statement:
    return Statement(f"{to.name}", Effect.ALLOW, frozenset({"READ", "RUN"}), scope, frozenset({to}))


FACTS = Facts(
    entities=[
        *(EntityRow(inner, outer) for outer, inner in pairwise([None, *CHAIN]) if inner),
        *(EntityRow(inner, outer) for outer, inner in pairwise([*LOOP, LOOP[0]])),
        EntityRow(Entity("box", "below"), LOOP[1]),
    ],
    principals=[ANA, BOB],
    owners=[OwnerRow(CHAIN[0], BOB), OwnerRow(CHAIN[-1], BOB), OwnerRow(LOOP[0], BOB)],
    statements=[allow(ANA, On(CHAIN[0])), allow(BOB, Where(())), allow(ALL_USERS, On(LOOP[2]))],
)


def requests(facts: Facts) -> list[Request]:
    acts = ["READ", "RUN", *(n for n, o in SYSTEM.model.operations.items() if "box" in o.rules)]
    aims = [*CHAIN[:2], *CHAIN[-6:], *LOOP, Entity("box", "below")]
    users = [p for p in facts.principals if p.kind == USER]
    return [Request(user, act, on, NOW) for user in users for act in acts for on in aims]


@pytest.mark.by_day(14)
@pytest.mark.parametrize("of", [SYSTEM, OPEN], ids=["closed", "open"])
@pytest.mark.parametrize("way", harness.WAYS, ids=lambda way: way.__name__)
@pytest.mark.parametrize("form", ["as shipped", "bitmaps", "arrays", "one by one"])
def test_entities_too_deep_and_in_a_circle_are_answered_alike(
    of: System, way: harness.Way, form: str
) -> None:
    with harness.form(form):
        world = harness.compiled_world(World(of, FACTS, ()), requests(FACTS)[::3])
        assert [str(wrong) for wrong in way(world)] == []


def test_an_entity_at_the_limit_is_allowed_and_one_below_it_is_denied() -> None:
    world = harness.compiled_world(World(SYSTEM, FACTS, ()), ())
    for user in (ANA, BOB):
        asked = [Request(user, "READ", entity, NOW) for entity in CHAIN]
        allowed = [world.matrix.decide(request).allow for request in asked]
        assert allowed == [True] * (MAX_LEVELS + 1) + [False] * 3


def groups(count: int) -> list[Principal]:
    return [Principal(GROUP, f"g{n:02}") for n in range(count)]


def nested(first: Sequence[Principal], count: int) -> Facts:
    """`count` nested groups, with the first principals in the first one; the last may read."""
    chain = groups(count)
    rows = [MembershipRow(p, chain[0]) for p in first]
    rows += [MembershipRow(*pair) for pair in pairwise(chain)]
    return replace(
        FACTS,
        memberships=rows,
        statements=[allow(chain[-1], Anything()), allow(ALL_USERS, On(CHAIN[3]))],
    )


@pytest.mark.by_day(4)
@pytest.mark.parametrize(
    ("first", "asker", "sent", "most"),
    [
        ([ANA], ANA, (), MAX_LEVELS),
        ([], BOB, (groups(1)[0],), MAX_LEVELS + 1),
        ([ALL_USERS], ANA, (), MAX_LEVELS),
        ([ANY_GROUP], ANA, (Principal(GROUP, "new"),), MAX_LEVELS),
    ],
    ids=["a member", "a group sent along", "everybody", "who has a group"],
)
@pytest.mark.parametrize("more", [0, 1], ids=["at the limit", "one more"])
def test_too_many_memberships_in_a_row_deny_everything(
    first: list[Principal], asker: Principal, sent: tuple[Principal, ...], most: int, more: int
) -> None:
    facts = nested(first, most + more)
    world = harness.compiled_world(World(SYSTEM, facts, ()), ())
    plain = Request(asker, "READ", CHAIN[3], NOW)
    asked = replace(plain, groups=sent)
    good = more == 0
    assert world.oracle.check(asked) is good
    assert world.matrix.decide(asked).allow is good
    assert decide_many(world.matrix, [asked]) == [good]
    assert named(world.matrix, listing(world.matrix, asked)) == world.oracle.listing(asked)
    assert (count(world.matrix, asked) > 0) is good
    assert bool(world.oracle.listing(asked)) is good
    assert filtered(world.matrix, asked, CHAIN[3:4]) == ([0] if good else [])
    assert who(world.matrix, plain) == world.oracle.who(plain)


def test_a_relation_to_what_lies_too_deep_counts_for_nothing() -> None:
    kind, declared = next(
        (k, r) for k, r in SYSTEM.model.relations.items() if {"box", "any"} & set(r.targets)
    )
    source = Entity("box", "source") if {"box", "any"} & set(declared.sources) else LOOP[0]
    facts = replace(
        FACTS,
        entities=[*FACTS.entities, EntityRow(source)],
        relations=[RelationRow(kind, source, CHAIN[-1]), RelationRow(kind, source, CHAIN[0])],
    )
    asked = [replace(r, target=source) for r in requests(facts)]
    world = harness.compiled_world(World(SYSTEM, facts, ()), asked)
    assert [str(wrong) for way in harness.WAYS for wrong in way(world)] == []
