"""If a server fails while rows are read, nothing stays open."""

from __future__ import annotations

import gc

import pytest
import sqlalchemy as sa

from lakewarden.kernel.errors import Unavailable
from lakewarden.service.effect import SecretChanged
from lakewarden.store import SqlStore
from tests.store.lake import TABLE, with_realm

pytestmark = pytest.mark.postgres


def test_a_page_of_a_server_that_ends_is_unavailable_and_its_cursor_closed(
    server_store: SqlStore,
) -> None:
    with_realm(server_store, SecretChanged(TABLE, "password", "sealed"))
    with server_store.reading() as reading:
        secrets = reading.all_secrets()
        next(secrets)
        end_all_but_me(server_store)
        del secrets
        gc.collect()  # reports an open cursor here, which fails the test
        with pytest.raises(Unavailable):
            reading.realms()


def test_a_question_to_a_server_that_ended_is_unavailable_and_its_cursor_closed(
    server_store: SqlStore,
) -> None:
    with_realm(server_store, SecretChanged(TABLE, "password", "sealed"))
    with server_store.reading() as reading:
        end_all_but_me(server_store)
        with pytest.raises(Unavailable):
            list(reading.all_secrets())
    gc.collect()


def end_all_but_me(store: SqlStore) -> None:
    mine = sa.text(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
        " WHERE datname = current_database() AND pid <> pg_backend_pid()"
    )
    with store.engine.connect() as connection:
        connection.execute(mine)
