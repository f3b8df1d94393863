"""The end of the audit trail is anchored elsewhere, which reveals removed rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event

import pytest

from lakewarden.app import audit_anchor
from lakewarden.app.audit_anchor import Anchoring, Send, to_file, to_url
from lakewarden.app.build import Application
from lakewarden.config.settings import Audit, load
from lakewarden.kernel.errors import BadInput, Unavailable
from lakewarden.service.audit import AuditEvent
from lakewarden.service.audit_check import Anchor, examine, read_anchors
from lakewarden.service.audit_seal import Seals
from lakewarden.store import SqlStore, open_store
from lakewarden.store.secrets import new_key
from tests.app.json_receiver import receiver

EVENT = AuditEvent(1.0, "ana", "table.load", "table:lk:c.s.t", "allow", "allowed")
SEALS = Seals([new_key()])


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqlStore]:
    with open_store(f"sqlite:///{tmp_path}/store") as one:
        one.seals = SEALS
        yield one


def act(store: SqlStore) -> None:
    with store.writing() as writing:
        writing.commit([EVENT])


def looking(store: SqlStore, *sends: Send) -> tuple[Anchoring, list[str]]:
    """An anchoring, and the list of its failures."""
    failed: list[str] = []
    return Anchoring(store, lambda: 7.0, sends, lambda error: failed.append(str(error))), failed


def anchors(file: Path) -> list[Anchor]:
    return read_anchors(file.read_text("utf-8").splitlines(), str(file))


def test_the_end_is_appended_once_for_all_that_moved_it(store: SqlStore, tmp_path: Path) -> None:
    file = tmp_path / "anchors"
    one, failed = looking(store, to_file(file))
    one.send_missing()
    assert not file.exists()
    for _ in range(2):
        act(store)
        act(store)
        one.send_missing()
        one.send_missing()
    assert [anchor.seq for anchor in anchors(file)] == [2, 4]
    assert file.stat().st_mode & 0o077 == 0
    assert failed == []
    with store.reading() as reading:
        assert examine(reading.audit(), reading.audit_head, SEALS, anchors(file)).doubts == ()
    with store.engine.begin() as connection:
        connection.exec_driver_sql("delete from audit where seq = 4")
        connection.exec_driver_sql(
            "update counter set audit_seq = 3,"
            " audit_digest = (select digest from audit where seq = 3)"
        )
    with store.reading() as reading:
        assert examine(reading.audit(), reading.audit_head, SEALS).fault is None
        fault = examine(reading.audit(), reading.audit_head, SEALS, anchors(file)).fault
    assert fault is not None
    assert fault.seq == 4


def test_what_was_not_taken_is_sent_again_and_holds_nothing_else_up(
    store: SqlStore, tmp_path: Path
) -> None:
    folder = tmp_path / "later"
    with receiver() as (url, taken):
        one, failed = looking(store, to_file(folder / "anchors"), to_url(url))
        act(store)
        one.send_missing()
        assert [one.body["seq"] for one in taken] == [1]
        assert len(failed) == 1
        folder.mkdir()
        one.send_missing()
        assert [one.body["seq"] for one in taken] == [1]
    assert [anchor.seq for anchor in anchors(folder / "anchors")] == [1]


@pytest.mark.parametrize("status", [302, 500])
def test_an_address_that_answers_otherwise_did_not_take_it(store: SqlStore, status: int) -> None:
    with receiver(status) as (url, taken):
        with pytest.raises(Unavailable):
            to_url(url)(Anchor(1.0, 1, "d"))
        assert len(taken) == 1, "a redirection is not followed"
    with pytest.raises(Unavailable):
        to_url(url)(Anchor(1.0, 1, "d"))


def test_every_write_is_anchored_where_that_is_asked_for(tmp_path: Path) -> None:
    """Waits for events, not for time: a write wakes the thread, which sends the anchor."""
    file = tmp_path / "anchors"
    given = {
        "database": f"sqlite:///{tmp_path}/store",
        "audit": {"anchor_file": file, "anchor_seconds": 0, "anchor_log": True},
    }
    application = Application(load(options=given, environment={}))
    application.open()
    store = application.parts.service.store
    assert isinstance(store, SqlStore)
    act(store)
    application.close()
    with open_store(f"sqlite:///{tmp_path}/store") as again, again.reading() as reading:
        head = reading.audit_head
    assert (anchors(file)[-1].seq, anchors(file)[-1].digest) == head


def test_a_write_wakes_it(store: SqlStore) -> None:
    sent, seen = Event(), []

    def send(anchor: Anchor) -> None:
        seen.append(anchor.seq)
        sent.set()

    one, _ = looking(store, send)
    store.committed = one.wake
    one.start(0)
    act(store)
    assert sent.wait(60)
    one.stop()
    assert seen == [1]


def test_the_anchor_continues_after_any_failure(store: SqlStore) -> None:
    failed, sent = Event(), Event()

    def send(_: Anchor) -> None:
        if not failed.is_set():
            raise RuntimeError("no reason")
        sent.set()

    one = Anchoring(store, lambda: 7.0, [send], lambda _: failed.set())
    store.committed = one.wake
    one.start(0)
    act(store)
    assert failed.wait(60)
    one.wake()
    assert sent.wait(60)
    one.stop()


def test_the_settings_say_where() -> None:
    logged: list[object] = []
    log: Callable[..., None] = logged.append
    assert audit_anchor.sends(Audit(), log) == []
    everything = Audit(anchor_file=Path("a"), anchor_url="http://localhost/a", anchor_log=True)
    sends = audit_anchor.sends(everything, log)
    assert len(sends) == 3
    sends[2](Anchor(1.0, 1, "d"))
    assert logged == [{"time": 1.0, "seq": 1, "digest": "d", "seal": ""}]
    with pytest.raises(BadInput, match="anchor_url"):
        load(options={"audit": {"anchor_url": "http://other.test/a"}}, environment={})
