"""Killed at any moment, a writer leaves whole acts, and all of those it was answered (F-01)."""

from __future__ import annotations

import random

import pytest

from tests.reliability.crash import trials

TRIALS = 20


@pytest.mark.slow
def test_what_was_answered_is_there_and_nothing_is_torn(url: str) -> None:
    # On a busy machine some writers are killed before their first act is answered.
    seen = list(trials(url, TRIALS, random.Random(1), longest=0.3))
    assert [trial.faults for trial in seen] == [[]] * TRIALS
    assert sum(trial.answered for trial in seen) > TRIALS // 2


@pytest.mark.slow
def test_without_the_transaction_torn_acts_are_found(url: str) -> None:
    seen = trials(url, TRIALS, random.Random(1), torn=True, longest=0.15)
    assert any(trial.faults for trial in seen)
