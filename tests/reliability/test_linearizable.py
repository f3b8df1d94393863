"""Grants, revocations and checks have one order, across all processes (F-04)."""

from __future__ import annotations

import pytest

from tests.reliability.estate import Stale
from tests.reliability.history import violations
from tests.reliability.linearizable import Plan, history, sites_on

PLAN = Plan(clients=8, keys=4, operations=100)
ONE_WRITES = Plan(clients=4, keys=8, operations=50, writing=1)
"""The other site sees a write only if it queries."""


@pytest.mark.parametrize("histories", [1, pytest.param(8, marks=pytest.mark.nightly)])
@pytest.mark.parametrize("processes", [1, 2])
def test_every_history_could_have_been_one_after_the_other(
    url: str, processes: int, histories: int
) -> None:
    with sites_on(url, processes) as sites:
        for number in range(histories):
            assert not violations(history(sites, number, PLAN, seed=number))


def test_without_asking_whether_the_state_is_new_the_checker_finds_it(url: str) -> None:
    with sites_on(url, 2, Stale) as sites:
        assert violations(history(sites, 0, ONE_WRITES, seed=1))
