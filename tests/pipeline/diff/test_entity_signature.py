"""Signatures and profiles of two sides that number their entities independently."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pyroaring import BitMap

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import WardenError
from lakewarden.kernel.relations import Facts
from lakewarden.kernel.snapshot import Snapshot
from lakewarden.pipeline.diff.entity_signature import Signed
from lakewarden.pipeline.diff.part import Comparison
from lakewarden.pipeline.diff.profile import NOTHING, Profile, Profiler, domain
from lakewarden.pipeline.diff.rule_evaluator import RuleEvaluator
from lakewarden.pipeline.diff.user_numbering import Everyone, everyone
from lakewarden.service.system import System
from lakewarden.testing.changes import change
from lakewarden.testing.worlds import make
from tests.agreement import harness
from tests.agreement.harness import SYSTEMS
from tests.pipeline.diff.brute import Fact, allowed, split
from tests.pipeline.diff.test_changes import compiled, few, people_of, stated_by, with_all

every_system = pytest.mark.parametrize("name", SYSTEMS)
seeds = st.integers(0, 2**32 - 1)


class Side:
    """One side: the signature and the profile of each entity of interest."""

    def __init__(self, snapshot: Snapshot, users: Everyone, side: str) -> None:
        people = people_of(snapshot, users)
        self.signed = Signed(snapshot, people.numbering, side)
        profiler = Profiler(RuleEvaluator(snapshot, people), self.signed)
        tree = snapshot.coded.tree
        self.ids = {tree.entity(id): id for id in domain(snapshot)}
        self._profiles = dict(profiler.profiles(domain(snapshot)))

    def sign(self, entity: Entity) -> str:
        id = self.ids.get(entity)
        return "" if id is None else self.signed.marks[self.signed.numbers[id]]

    def profile(self, entity: Entity) -> Profile:
        id = self.ids.get(entity)
        return NOTHING if id is None else Profile.read(self._profiles[id].text())


def found(before: Snapshot, after: Snapshot) -> tuple[Everyone, set[tuple[bool, Fact]]]:
    """The differences of entities with different signatures."""
    users = everyone(before.coded.memberships, after.coded.memberships)
    old, new = with_all(before, users), with_all(after, users)
    comparison = Comparison(before.model, stated_by(old, users), stated_by(new, users))
    one, other = Side(old, users, "before"), Side(new, users, "after")
    told = set()
    for entity in one.ids.keys() | other.ids.keys():
        if one.sign(entity) == other.sign(entity):
            continue
        had, has = one.profile(entity), other.profile(entity)
        for part in comparison.parts(entity.type, had, has):
            for user in BitMap.deserialize(part.users):
                told.add((part.gained, Fact(users[user], part.question, entity)))
    return users, told


def check(before: Snapshot, after: Snapshot) -> None:
    users, told = found(before, after)
    assert told == split(allowed(before, users), allowed(after, users))


@pytest.mark.by_day(2, turns=True)
@every_system
@few
@given(seed=seeds)
def test_changes_of_every_kind_differ_as_the_decisions_do(name: str, seed: int) -> None:
    system = harness.system(name)
    facts = make(system, seed, harness.SMALL).facts
    before = compiled(system, facts)
    for step in range(4):
        _, facts = change(system, facts, seed + step)
    after = compiled(system, facts)
    check(before, after)
    check(after, before)


@pytest.mark.by_day(2, turns=True)
@every_system
@few
@given(seed=seeds)
def test_worlds_of_their_own_differ_as_the_decisions_do(name: str, seed: int) -> None:
    system = harness.system(name)
    try:
        before, after = (
            compiled(system, make(system, at, harness.SMALL).facts) for at in (seed, seed + 1)
        )
    except WardenError:
        return
    check(before, after)


@every_system
@few
@given(seed=seeds)
def test_the_same_rows_in_another_order_have_the_same_signatures(name: str, seed: int) -> None:
    system = harness.system(name)
    facts = make(system, seed, harness.SMALL).facts
    before, after = compiled(system, facts), compiled(system, reversed_(system, facts))
    users = everyone(before.coded.memberships)
    one, other = (Side(with_all(s, users), users, "side") for s in (before, after))
    assert one.ids.keys() == other.ids.keys()
    assert all(one.sign(entity) == other.sign(entity) for entity in one.ids)


def reversed_(system: System, facts: Facts) -> Facts:
    """The same, with statements under other ids."""
    renamed = [replace(s, id=f"z{s.id}", title="") for s in reversed(facts.statements)]
    return replace(
        facts,
        statements=renamed,
        owners=list(reversed(facts.owners)),
        relations=list(reversed(facts.relations)),
        memberships=list(reversed(facts.memberships)),
    )
