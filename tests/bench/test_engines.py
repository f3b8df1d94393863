"""The engines of the benches agree with the truth, and wrong answers are detected."""

from __future__ import annotations

from dataclasses import replace
from itertools import islice

import pytest
from pyroaring import BitMap

from bench import cedar, ours, stages
from bench.baseline import Baseline
from bench.cedar import Cedar
from bench.literal import Literal, Void
from bench.stages import QUICK, Results, World
from lakewarden.testing.workload import ANSWERS_W, answers_digest, draw, user

LITTLE = replace(QUICK, users=5, changes=3, rebuilds=1, swapping_s=0.1)


@pytest.fixture(scope="module")
def world() -> World:
    return stages.build(draw(), ANSWERS_W, LITTLE, Results(), rivals=False)


class Liar(Baseline):
    """The hand-made engine, allowing everything."""

    def __init__(self) -> None: ...

    def check(self, user: str, table: str) -> bool:
        return True

    def visible(self, user: str) -> BitMap:
        return BitMap()


def test_the_literal_answers_have_the_published_digest(world: World) -> None:
    assert answers_digest(world.literal.answers()) == ANSWERS_W


def test_the_hand_made_engine_answers_as_published(world: World) -> None:
    asked = ((user(u).name, world.workload.entity(node).name) for u, node in world.workload.queries)
    assert answers_digest([world.baseline.check(*each) for each in asked]) == ANSWERS_W


@pytest.mark.parametrize("number", [0, 1, 2, 699])
def test_the_hand_made_engine_lists_what_the_truth_lists(world: World, number: int) -> None:
    truth = world.literal.standing(number).loads.nonzero()[0].tolist()
    assert list(world.baseline.visible(user(number).name)) == truth


def test_owners_at_the_top_see_all_that_is_below(world: World) -> None:
    top = world.workload.owner[0]
    assert world.literal.standing(top).loads.all()
    assert len(world.baseline.visible(user(top).name)) == 100_000


def test_the_hand_made_engine_sees_a_grant_after_a_rebuild(world: World) -> None:
    opening = next(ours.openings(world.workload, world.literal))
    (principal,) = opening.statement.principals
    number = int(principal.name.removeprefix("m:r"))
    baseline = Baseline(world.workload, {number: [(0, 2, 0)]})
    assert not world.baseline.check(opening.user, opening.table)
    assert baseline.check(opening.user, opening.table)


@pytest.mark.nightly
def test_every_stage_measures_and_finds_no_disagreement(world: World) -> None:
    results = Results()
    for stage in (stages.checks, stages.lists, stages.changes, stages.more_checks):
        stage(world, LITTLE, results)
    assert results.ours["answers_sha256"] == ANSWERS_W
    assert all(value is not None for value in results.ours.values())
    assert {"check_vs_baseline", "list_vs_baseline"} <= results.ratios.keys()


def test_a_grant_opens_exactly_what_was_closed(world: World) -> None:
    for opening in islice(ours.openings(world.workload, world.literal), 5):
        assert not world.matrix.check(opening.user, ours.OPERATION, opening.table, 0.0).allow


def test_a_wrong_answer_makes_the_figures_void(world: World) -> None:
    with pytest.raises(Void, match="the hand-made engine: the answers have the digest"):
        stages.checks(replace(world, baseline=Liar()), LITTLE, Results())


def test_a_wrong_list_makes_the_figures_void(world: World) -> None:
    with pytest.raises(Void, match="the hand-made engine lists wrong tables for u0000"):
        stages.lists(replace(world, baseline=Liar()), LITTLE, Results())


def test_a_list_of_ours_that_differs_makes_the_figures_void(world: World) -> None:
    emptied = Literal(replace(world.workload, owner={}))
    with pytest.raises(Void, match="lakewarden lists"):
        ours.Lists(world.matrix, world.workload, 5).agree(emptied)


@pytest.fixture(scope="module")
def cedar_engine(world: World) -> Cedar:
    if not cedar.is_installed():
        pytest.skip("cedarpy is not installed")
    return Cedar.load(world.workload)


@pytest.mark.nightly
def test_cedar_answers_as_published_one_by_one(world: World, cedar_engine: Cedar) -> None:
    loaded = cedar_engine
    world.agree("cedarpy", [loaded.check(*each).allowed for each in loaded.arguments])


@pytest.mark.nightly
def test_cedar_answers_as_published_in_a_batch(world: World, cedar_engine: Cedar) -> None:
    loaded = cedar_engine
    world.agree("cedarpy", [result.allowed for result in loaded.batch()])
    given, _ = loaded.list("u0000")
    assert [result.allowed for result in given] == world.literal.standing(0).loads.tolist()
    assert cedar.engine_ns(given) > 0
