"""A realm as of an earlier revision gives that revision's decisions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from lakewarden.kernel.errors import Conflict, LimitExceeded
from lakewarden.kernel.facts import rows_of
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.statement import Owners, Statement
from lakewarden.service import past_realm, realms
from lakewarden.service.past_realm import PastRealm
from lakewarden.service.replay import ScopeTables
from tests.agreement.conftest import a_share_of_the_examples
from tests.service.opened_services import (
    ADMIN,
    LAKE,
    change_at_random,
    furnish,
    opened,
    prune_feed,
)

NO_OWNERS: Final = Owners(frozenset())


def _rows(matrix: Matrix) -> ScopeTables:
    snapshot = matrix.snapshot
    statements = {id: _stored(statement) for id, statement in snapshot.table.statements.items()}
    return ScopeTables.of(rows_of(snapshot.coded, statements))


def _stored(statement: Statement) -> Statement:
    """As stored: owners without a type match nobody and are not written."""
    return replace(statement, owners=None) if statement.owners == NO_OWNERS else statement


@pytest.mark.by_day(1)
@pytest.mark.slow
@pytest.mark.parametrize("name", ["gravitino", "datahub", "cdap"])
@a_share_of_the_examples(40)
@example(seed=2852).via("a statement to owners of no type")
@given(seed=st.integers(0, 2**32 - 1))
def test_every_revision_has_the_rows_that_it_had_when_it_was_new(name: str, seed: int) -> None:
    with TemporaryDirectory() as folder, opened(Path(folder), name) as service:
        then: dict[int, Matrix] = {}
        for _ in change_at_random(service, seed, steps=3):
            then[service.state.revision] = service.state.realm(LAKE).matrix
        now = service.clock()
        with service.reading() as reading:
            past = PastRealm.read(reading, LAKE)
            for revision, matrix in then.items():
                realm = past.at(revision, now)
                assert realm is not None
                assert realm.matrix.revision == revision
                assert _rows(realm.matrix).difference(_rows(matrix)) == {}


def test_a_realm_does_not_exist_before_it_is_made_and_after_it_is_dropped(tmp_path: Path) -> None:
    with opened(tmp_path) as service:
        furnish(service)
        there = service.state.revision
        service.write(ADMIN, lambda transaction: realms.drop(transaction, LAKE))
        with service.reading() as reading:
            past = PastRealm.read(reading, LAKE)
        assert past.at(0, 0.0) is None
        assert past.at(there, 0.0) is not None
        assert past.at(service.state.revision, 0.0) is None


def test_a_feed_that_is_pruned_or_too_long_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with opened(tmp_path) as service:
        furnish(service)
        with service.reading() as reading:
            monkeypatch.setattr(past_realm, "MAX_ROWS", 3)
            with pytest.raises(LimitExceeded, match="more than 3 rows"):
                PastRealm.read(reading, LAKE)
        prune_feed(service)
        with service.reading() as reading, pytest.raises(Conflict, match="earlier revisions"):
            PastRealm.read(reading, LAKE)
