"""Random worlds: every answer of the compiled kernel equals the oracle's."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakewarden.testing.questions import ask
from lakewarden.testing.worlds import make
from tests.agreement import fuzz, harness
from tests.agreement.conftest import Agrees, a_share_of_the_examples
from tests.agreement.harness import FORMS, SYSTEMS, WAYS, Way

seeds = st.integers(0, 2**32 - 1)
every_system = pytest.mark.parametrize("name", SYSTEMS)
few = a_share_of_the_examples(32, by_day=2)


@every_system
@pytest.mark.parametrize("way", WAYS, ids=lambda way: way.__name__)
@few
@given(seed=seeds)
def test_an_answer_of_each_kind_is_the_oracle_s(
    name: str, way: Way, seed: int, agrees: Agrees
) -> None:
    world = make(harness.system(name), seed)
    agrees(name, seed, way(harness.compiled_world(world, ask(world, seed, 25))))


@pytest.mark.by_day(7)
@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("name", ["gravitino", "everything"])
@few
@given(seed=seeds)
def test_the_form_in_which_it_is_kept_changes_no_answer(
    name: str, form: str, seed: int, agrees: Agrees
) -> None:
    world = make(harness.system(name), seed, harness.SMALL)
    requests = ask(world, seed, 20)
    with harness.form(form):
        world_asked = harness.compiled_world(world, requests)
        agrees(name, seed, (found for way in WAYS for found in way(world_asked)))
        agrees(name, seed, harness.walked(world, requests, harness.drawn(world, seed, 2)))


@pytest.mark.by_day(4)
@every_system
@few
@given(seed=seeds)
def test_a_changed_world_answers_as_one_compiled_afresh(
    name: str, seed: int, agrees: Agrees
) -> None:
    world = make(harness.system(name), seed, harness.SMALL)
    requests = ask(world, seed, 20)
    agrees(name, seed, harness.walked(world, requests, harness.drawn(world, seed, 4)))


@pytest.mark.nightly
@every_system
@few
@given(seed=seeds)
def test_worlds_of_every_size_agree_in_every_way(name: str, seed: int, agrees: Agrees) -> None:
    agrees(name, seed, fuzz.every(name, seed))
