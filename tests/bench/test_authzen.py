"""The AuthZEN bench: it sends the requests that it describes, and a wrong answer voids it."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from bench import authzen
from bench.literal import Void
from lakewarden.http.authzen.discovery import EVALUATION, EVALUATIONS
from lakewarden.service.state import State
from lakewarden.testing.workload import Workload, draw

TABLES = 1
QUERIES = 40


@pytest.fixture(name="workload", scope="module")
def _workload() -> Workload:
    drawn = draw(TABLES)
    return replace(drawn, queries=drawn.queries[:QUERIES])


@pytest.fixture(name="world", scope="module")
def _world(workload: Workload) -> State:
    return authzen.state(workload)


@pytest.mark.slow
def test_bodies_are_answered_as_the_matrix_decides(workload: Workload, world: State) -> None:
    pairs = authzen.questions(workload)
    asker = authzen.Asker.over(world, "gate")
    matrix = world.realm("gravitino").matrix
    authzen.check(asker, matrix, authzen.mixed(pairs), pairs)
    who = pairs[0][0]
    tables = [what for _, what in pairs]
    authzen.check(asker, matrix, authzen.of_one(who, tables), [(who, what) for what in tables])
    answers = json.loads(asker.send(EVALUATIONS, authzen.mixed(pairs)))["evaluations"]
    singles = [json.loads(asker.send(EVALUATION, authzen.single(*pair))) for pair in pairs]
    assert answers == singles


@pytest.mark.slow
def test_a_wrong_answer_voids_the_figures(workload: Workload, world: State) -> None:
    pairs = authzen.questions(workload)
    asker = authzen.Asker.over(world, "gate")
    matrix = world.realm("gravitino").matrix
    decisions = [authzen._decided(matrix, *pair) for pair in pairs]
    other = pairs[decisions.index(not decisions[0])]
    with pytest.raises(Void):
        authzen.check(asker, matrix, authzen.mixed(pairs), [other, *pairs[1:]])


def test_bodies_hold_a_thousand_questions_each() -> None:
    pairs = [(f"u{number}", f"t{number}") for number in range(2_500)]
    found = authzen.bodies(pairs)
    assert {kind: [len(about) for _, about in sent] for kind, sent in found.items()} == {
        "mixed": [1_000, 1_000],
        "of_one": [1_000, 1_000],
    }
