"""What a change feed adds up to is what is stored; and a difference is found."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lakewarden.kernel.change import StatementRemoved
from lakewarden.kernel.relations import Facts
from lakewarden.service import realms
from lakewarden.service.ports import FeedGone
from lakewarden.service.replay import Disagreement, ScopeTables, compare
from tests.agreement.conftest import a_share_of_the_examples
from tests.service.opened_services import (
    ADMIN,
    LAKE,
    change_at_random,
    furnish,
    opened,
    prune_feed,
)

seeds = st.integers(0, 2**32 - 1)
few = a_share_of_the_examples(20)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["gravitino", "datahub", "cdap"])
@few
@given(seed=seeds)
def test_the_feed_of_any_changes_adds_up(name: str, seed: int) -> None:
    with TemporaryDirectory() as folder, opened(Path(folder), name) as service:
        for _ in change_at_random(service, seed, steps=4):
            pass
        with service.reading() as reading:
            assert compare(reading) == []


def test_a_realm_that_was_dropped_leaves_nothing_to_compare(tmp_path: Path) -> None:
    with opened(tmp_path) as service:
        furnish(service)
        service.write(ADMIN, lambda transaction: realms.drop(transaction, LAKE))
        with service.reading() as reading:
            assert compare(reading) == []


def test_rows_that_only_one_side_has_are_counted_by_table(tmp_path: Path) -> None:
    with opened(tmp_path) as service:
        furnish(service)
        with service.store.writing() as writing:
            writing.apply(LAKE, [StatementRemoved("nope")])
            writing.commit(())
        with service.reading() as reading:
            assert compare(reading) == []
            facts = reading.facts(LAKE, service.state.realm(LAKE).system)
        rows, empty = ScopeTables.of(facts), ScopeTables.of(Facts())
        assert rows.difference(rows) == {}
        assert rows.difference(empty) == {"entities": 7, "principals": 3, "memberships": 3}


def test_a_feed_that_was_pruned_is_not_compared(tmp_path: Path) -> None:
    with opened(tmp_path) as service:
        furnish(service)
        prune_feed(service)
        with service.reading() as reading, pytest.raises(FeedGone):
            compare(reading)
    assert Disagreement("lake", {"entities": 1}).scope == "lake"
