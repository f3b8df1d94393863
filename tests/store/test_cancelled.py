"""A cancelled read ends its database query."""

from __future__ import annotations

import threading

import pytest

from lakewarden.service.cancellation import Cancellation, Cancelled, working
from lakewarden.store import SqlStore
from lakewarden.store.engine import translated_errors

ENDLESS = {
    "sqlite": "with recursive n(x) as (select 1 union all select x + 1 from n) select max(x)"
    " from n",
    "postgresql": "select pg_sleep(600)",
}


def test_a_statement_that_is_given_up_ends_and_the_store_goes_on(store: SqlStore) -> None:
    cancellation = Cancellation()
    over = threading.Event()

    def give_up() -> None:
        while not over.wait(0.05):  # it may not have begun yet
            cancellation.cancel()
            cancellation.interrupt()

    giving_up = threading.Thread(target=give_up)

    def read() -> None:
        with store.reading() as reading, translated_errors():
            giving_up.start()
            reading._connection.exec_driver_sql(ENDLESS[store.engine.dialect.name]).all()

    with working(cancellation), pytest.raises(Cancelled):
        read()
    over.set()
    giving_up.join()
    assert store.revision() == 0
    with store.reading() as reading:
        assert list(reading.realms()) == []


def test_what_was_given_up_before_reads_nothing(store: SqlStore) -> None:
    cancellation = Cancellation()
    cancellation.cancel()
    with working(cancellation), pytest.raises(Cancelled), store.reading():
        pytest.fail("it reads")
