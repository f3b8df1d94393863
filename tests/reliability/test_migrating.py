"""Killed during a schema migration, a store has one schema and every row (F-10)."""

from __future__ import annotations

import random

import pytest

from tests.reliability.migrating import trials

SOME = 2
KILLS = 20


@pytest.mark.slow
def test_a_change_of_schema_that_is_killed_loses_nothing(url: str) -> None:
    seen = list(trials(url, 2_000, SOME, random.Random(1)))
    assert seen == [[]] * (SOME + 1)


@pytest.mark.slow
def test_without_the_transaction_half_a_schema_is_found(url: str) -> None:
    # Repeats until one of the kills falls between two steps.
    assert any(trials(url, 2_000, 10 * KILLS, random.Random(1), torn=True))


@pytest.mark.nightly
def test_a_hundred_thousand_rows_are_all_there(url: str) -> None:
    seen = list(trials(url, 100_000, KILLS, random.Random(1)))
    assert seen == [[]] * (KILLS + 1)
