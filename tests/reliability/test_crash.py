"""A writer killed at any time leaves complete acts, including all confirmed ones (F-01)."""

from __future__ import annotations

import random

import pytest

from tests.reliability.crash import trials

MANY = 200


@pytest.mark.slow
@pytest.mark.parametrize("kills", [4, pytest.param(20, marks=pytest.mark.nightly)])
def test_what_was_answered_is_there_and_nothing_is_torn(url: str, kills: int) -> None:
    seen = list(trials(url, kills, random.Random(1)))
    assert [trial.faults for trial in seen] == [[]] * kills
    assert sum(trial.answered for trial in seen) >= kills


@pytest.mark.slow
def test_without_the_transaction_torn_acts_are_found(url: str) -> None:
    # About every second kill falls between the two writes of an act: repeats until one does.
    seen = trials(url, MANY, random.Random(1), torn=True)
    assert any(trial.faults for trial in seen)
