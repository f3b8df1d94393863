"""A realm's size: counted exactly for all writes, and writes beyond the limit are refused."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest
import sqlalchemy as sa

from lakewarden.kernel.change import EntityAdded, EntityDropped, EntityRenamed, StatementRemoved
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import LimitExceeded
from lakewarden.service.effect import DocumentChanged, Effect, RealmChanged, ValueChanged
from lakewarden.store import SqlStore, StoreLimits, open_store, restore, schema, upgrade
from tests.store.lake import REALM, SCHEMA, TABLE, events, tables, with_realm, write

OTHER = "other"
TEXT = "üß€𝄞"
"""Characters of 2, 2, 3 and 4 bytes."""
BODY = {"a": TEXT}
BYTES = len(json.dumps(BODY, ensure_ascii=False, separators=(",", ":")).encode())


def document(number: int, text: str | None = TEXT) -> DocumentChanged:
    return DocumentChanged(named(number), None if text is None else {"a": text})


def value(number: int, time: int, text: str | None = TEXT) -> ValueChanged:
    body = None if text is None else {"a": text}
    return ValueChanged(named(number), "profile", time, "", body)


def named(number: int) -> Entity:
    return Entity("table", f"lk:c.s.t{number}")


def totals(store: SqlStore, scope: str = REALM) -> tuple[int, int]:
    with store.reading() as reading:
        return reading.document_totals(scope)


def counted(store: SqlStore) -> dict[int, list[int]]:
    """The contents of the tables, read completely."""
    found: dict[int, list[int]] = {}
    with store.engine.connect() as connection:
        for table in (schema.documents, schema.timeseries):
            for scope, body in connection.execute(sa.select(table.c.scope, table.c.body)):
                one = found.setdefault(scope, [0, 0])
                one[0], one[1] = one[0] + 1, one[1] + len(body.encode())
    return found


def check_exact(store: SqlStore) -> None:
    table = schema.document_totals
    with store.engine.connect() as connection:
        rows = connection.execute(sa.select(table)).all()
    assert {row.scope: [row.documents, row.bytes] for row in rows} == counted(store)


@pytest.fixture
def limited(url: str) -> Iterator[SqlStore]:
    """A realm with three tables, and room for four documents, or three and a half in bytes."""
    limits = StoreLimits(realm_documents=4, realm_bytes=3 * BYTES + BYTES // 2)
    with open_store(url, limits=limits) as store:
        with_realm(store, *tables(3))
        yield store


STEPS: list[list[Effect]] = [
    [document(0), document(1), value(0, 1), value(0, 2), value(1, 1)],
    [document(0, "shorter"), document(0, TEXT * 3), document(1, None), document(1, "x")],
    [value(0, 1, "x"), value(0, 2, None), value(0, 9, None), value(0, 1, TEXT)],
    [EntityRenamed(named(0), "lk:c.s.new")],
    [document(2), EntityDropped(named(2)), EntityAdded(named(2), SCHEMA), document(2, "again")],
    [DocumentChanged("statement", {"a": 1}), DocumentChanged("statement", {"b": TEXT})],
    [StatementRemoved("statement"), EntityDropped(named(1))],
    [document(3 + number) for number in range(450)],
    [value(3, time) for time in range(450)],
    [EntityDropped(named(3 + number)) for number in range(450)],
]


def test_whatever_is_written_is_counted(store: SqlStore) -> None:
    with_realm(store, *tables(460))
    write(store, EntityAdded(named(0)), document(0), scope=OTHER)
    for step in STEPS:
        write(store, *step)
        check_exact(store)
    assert totals(store, OTHER) == (1, BYTES)
    write(store, RealmChanged(REALM, None))
    check_exact(store)
    assert totals(store) == (0, 0)


def test_what_is_left_without_a_commit_counts_for_nothing(store: SqlStore) -> None:
    with_realm(store, *tables(2), document(0))
    with store.writing() as writing:
        writing.apply(REALM, [document(1), value(0, 1)])
    check_exact(store)
    assert totals(store) == (1, BYTES)


def test_a_realm_keeps_so_many_and_no_more(limited: SqlStore) -> None:
    write(limited, *(value(0, time, "") for time in range(4)))
    before = limited.revision()
    with pytest.raises(LimitExceeded, match=r"5 documents .* at most 4 .*`limits.realm_documents`"):
        write(limited, *tables(1, 7), value(1, 1, ""))
    assert limited.revision() == before
    check_exact(limited)
    write(limited, value(0, 0, None), value(1, 1, ""))
    write(limited, EntityAdded(named(0)), document(0), scope=OTHER)  # another has its own limit


def test_a_realm_keeps_so_many_bytes_and_no_more(limited: SqlStore) -> None:
    write(limited, document(0), document(1), value(0, 1))
    before = limited.revision()
    for more in (document(2), document(0, TEXT * 4)):
        with pytest.raises(LimitExceeded, match=r"realm `lake` would .*`limits.realm_bytes`"):
            write(limited, more)
    assert limited.revision() == before
    check_exact(limited)
    write(limited, document(2), document(0, None))  # the whole write counts


def test_what_makes_it_less_is_allowed_above_the_limit(url: str) -> None:
    with open_store(url) as store:
        with_realm(store, *tables(4), *(document(number) for number in range(4)))
    with open_store(url, limits=StoreLimits(realm_documents=1, realm_bytes=1)) as store:
        write(store, document(0, "x"))
        write(store, document(0, "y"))
        write(store, document(1, None))
        write(store, EntityDropped(named(2)))
        with pytest.raises(LimitExceeded):
            write(store, document(1, ""))
        check_exact(store)
        write(store, RealmChanged(REALM, None))


def test_two_writers_of_one_document_count_it_once(server_store: SqlStore) -> None:
    """A late write drops what another one replaced after it began without locking it out."""
    with_realm(server_store, document_of_table("x"))
    with server_store.writing(late=True) as late:
        assert late.revision == 1
        write(server_store, document_of_table(TEXT * 5))
        late.apply(REALM, [EntityDropped(TABLE)])
        late.commit(events([1]))
    check_exact(server_store)
    assert totals(server_store) == (0, 0)


def document_of_table(text: str) -> DocumentChanged:
    return DocumentChanged(TABLE, {"a": text})


def test_a_late_write_locks_before_it_replaces_a_document(store: SqlStore) -> None:
    with_realm(store, document_of_table("x"))
    with store.writing(late=True) as late:
        write(store, document_of_table(TEXT))
        late.apply(REALM, [document_of_table(TEXT * 2)])
        assert late.revision == 2
        late.commit(())
    check_exact(store)


def test_an_upgrade_counts_what_is_there(url: str) -> None:
    with open_store(url) as store:
        with_realm(store, *tables(3), document(0), document(1), value(1, 1), value(2, 2))
        write(store, EntityAdded(named(0)), value(0, 1), scope=OTHER)
        upgrade.downgrade(store.engine, "0008")
        upgrade.upgrade(store.engine)
        assert totals(store) == (4, 4 * BYTES)
        check_exact(store)


def test_a_backup_brings_the_counts_along(
    store: SqlStore, tmp_path_factory: pytest.TempPathFactory
) -> None:
    folder = tmp_path_factory.mktemp("backup")
    with_realm(store, *tables(1), document(0), value(0, 1))
    store.backup(folder / "saved")
    url = f"sqlite:///{folder}/restored"
    restore(folder / "saved", url)
    with open_store(url) as restored:
        check_exact(restored)
        assert totals(restored) == (2, 2 * BYTES)
