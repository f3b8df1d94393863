"""With a proposal applied, all past accesses stay allowed, and nothing new is allowed."""

from __future__ import annotations

import random

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.matrix import Matrix
from lakewarden.service.system import System
from lakewarden.testing.worlds import make
from tests.agreement import harness
from tests.agreement.conftest import a_share_of_the_examples
from tests.pipeline.index import worlds
from tests.pipeline.unused.reckoned import acts, allowed, compiled, reckon, some

seeds = st.integers(0, 2**32 - 1)
few = a_share_of_the_examples(40)
SHIPPED = [name for name in harness.SYSTEMS if not name.startswith("everything")]


@pytest.mark.by_day(2)
@pytest.mark.parametrize("name", SHIPPED)
@few
@given(seed=seeds)
def test_what_was_done_is_allowed_still_and_nothing_new_is(name: str, seed: int) -> None:
    check(harness.system(name), seed)


@pytest.mark.by_day(1)
@pytest.mark.parametrize("name", ["everything", "everything_open"])
@few
@example(seed=2)  # a DENY to members of any group
@example(seed=1625)  # a scope that depends on memberships
@example(seed=368)  # in any group through the members of a container
@given(seed=seeds)
def test_every_form_of_rules_allows_what_was_done_and_nothing_new(name: str, seed: int) -> None:
    check(harness.system(name), seed)


def check(system: System, seed: int) -> None:
    world = make(system, seed)
    try:
        facts = worlds.kept(system, world.facts)
    except BadInput:  # a principal whom no file can name
        return
    whole, rng = compiled(system, facts), random.Random(seed)
    if not worlds.is_plain(whole.coded):
        return
    names = acts(whole, rng)
    named = [r.target for r in world.aims if whole.coded.tree.find(r.target) is None]
    before = allowed(whole, names, named)
    done = some(whole, before, rng, 12)
    made = reckon(system, facts, done, pieces=rng.choice((1, 3, 5)))
    after = allowed(made.snapshot, names, named)
    recent = {
        (whole.coded.memberships.principals[one.principal], one.operation, one.entity)
        for one in done
        if one.n
    }
    assert not made.denied
    assert recent - after == set(), "was done, and is not allowed any more"
    assert after - before == set(), "is allowed, and was not before"
    matrix, later = Matrix(whole), Matrix(made.snapshot)
    for aim in world.aims:  # including a request's own facts
        assert matrix.decide(aim).allow or not later.decide(aim).allow
    for safe in (True, False):
        left = compiled(system, made.without(facts, safe=safe))
        without = allowed(left, names, named)
        assert recent - without == set(), "needed a membership that was not used"
        assert not safe or without - before == set(), "was denied by a membership"
