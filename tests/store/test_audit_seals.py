"""Seals of the audit trail in a store: written with rows, transferred, and distinguishable."""

from __future__ import annotations

import json
from collections.abc import Sequence
from hashlib import sha256
from pathlib import Path

from lakewarden.service.audit import START
from lakewarden.service.audit_check import Report, examine
from lakewarden.service.audit_seal import UNSEALED, Seals
from lakewarden.store import SqlStore, open_store, upgrade
from lakewarden.store.backup import restore
from lakewarden.store.secrets import new_key
from tests.store.lake import events
from tests.store.test_upgrade import STEPS

KEYS = [new_key(), new_key()]
OURS = Seals(KEYS[:1])


def act(store: SqlStore, numbers: Sequence[int], seals: Seals = OURS) -> None:
    """One write of as many events."""
    store.seals = seals
    with store.writing() as writing:
        writing.commit(events(numbers))


def report(store: SqlStore, seals: Seals = OURS) -> Report:
    with store.reading() as reading:
        return examine(reading.audit(), reading.audit_head, seals)


def operations(store: SqlStore) -> list[str]:
    with store.reading() as reading:
        return [json.loads(row.body)["operation"] for row in reading.audit()]


def test_a_row_written_anew_is_found_though_all_digests_agree(store: SqlStore) -> None:
    act(store, range(4))
    assert report(store).fault is None
    with store.engine.begin() as connection:
        connection.exec_driver_sql("update audit set body = replace(body, 'o', '0') where seq = 2")
    with store.reading() as reading:
        before, anew = START, []
        for row in reading.audit():
            before = sha256(f"{before}\n{row.seq}\n{row.revision}\n{row.body}".encode()).hexdigest()
            anew.append((before, row.seq))
    with store.engine.begin() as connection:
        for digest, seq in anew:
            connection.exec_driver_sql(f"update audit set digest = '{digest}' where seq = {seq}")
        connection.exec_driver_sql(f"update counter set audit_digest = '{anew[-1][0]}'")
    assert report(store, UNSEALED).fault is None
    fault = report(store).fault
    assert fault is not None
    assert fault.seq == 2


def test_who_seals_first_or_with_another_key_says_so_in_the_trail(store: SqlStore) -> None:
    act(store, range(2), UNSEALED)
    act(store, range(2))
    act(store, range(1))
    plain = operations(store)
    assert plain.count("audit.seal") == 1
    assert plain.index("audit.seal") == 2
    act(store, range(1), Seals([KEYS[1], KEYS[0]]))
    assert operations(store)[len(plain)] == "audit.seal"
    assert report(store, Seals(KEYS)).fault is None
    act(store, ())
    assert operations(store).count("audit.seal") == 2


def test_rows_of_an_older_schema_are_vouched_for_from_the_upgrade_on(url: str) -> None:
    with open_store(url) as store:
        act(store, range(3), UNSEALED)
        upgrade.downgrade(store.engine, STEPS[5])
        upgrade.upgrade(store.engine)
        assert report(store).fault is None
        act(store, range(1))
        with store.reading() as reading:
            marker = json.loads(next(iter(reading.audit(3, 1))).body)
        assert marker["operation"] == "audit.seal"
        assert marker["details"]["rows"] == 3
        assert "rows 1 to 3" in report(store).doubts[0]


def test_a_backup_brings_the_seals_along(store: SqlStore, tmp_path: Path) -> None:
    act(store, range(3))
    store.backup(tmp_path / "backup")
    restore(tmp_path / "backup", f"sqlite:///{tmp_path}/other")
    with open_store(f"sqlite:///{tmp_path}/other") as other:
        assert report(other).fault is None
        assert report(other, Seals([KEYS[1]])).fault is not None
        act(other, range(1), Seals([KEYS[1]]))
        assert report(other, Seals([KEYS[1]])).fault is None
        assert report(other, Seals(KEYS)).doubts == report(store).doubts
