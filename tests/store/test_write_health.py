"""Writes that fail with an error that the next one would have, too."""

from __future__ import annotations

import pytest

from lakewarden.kernel.errors import Unavailable
from lakewarden.service.write_health import Unwritable
from lakewarden.store import SqlStore
from lakewarden.store.engine import translated_errors

FAULTS = {
    "sqlite": ["pragma query_only = on", "update counter set revision = revision"],
    "postgresql": ["do $$ begin raise exception 'no space left' using errcode = '53100'; end $$"],
}
READ_ONLY = {
    "sqlite": FAULTS["sqlite"],
    "postgresql": ["set transaction read only", "update counter set revision = revision"],
}


@pytest.mark.parametrize("faults", [FAULTS, READ_ONLY], ids=["full", "read only"])
def test_a_store_that_cannot_be_written_says_so_until_it_can(
    store: SqlStore, faults: dict[str, list[str]]
) -> None:
    assert store.write_health.fault == ""

    def write() -> None:
        with store.writing(late=True) as writing, translated_errors():
            for sql in faults[store.engine.dialect.name]:
                writing._connection.exec_driver_sql(sql)

    with pytest.raises(Unwritable, match="the store cannot be written: "):
        write()
    assert store.write_health.fault.startswith("the store cannot be written: ")
    with store.reading() as reading:
        assert list(reading.realms()) == []
    store.engine.dispose()  # the error belonged to the connection
    store.try_to_write()
    assert store.write_health.fault == ""
    with store.reading() as reading:
        assert list(reading.usage("", "")) == []


def test_what_fails_otherwise_is_no_fault_of_writes(store: SqlStore) -> None:
    def write() -> None:
        with store.writing() as writing, translated_errors():
            writing._connection.exec_driver_sql("select * from nowhere")

    with pytest.raises(Unavailable):
        write()
    assert store.write_health.fault == ""
