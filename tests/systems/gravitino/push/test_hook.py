"""Changes through the dialect reach the catalog's database: later, but certainly."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from lakewarden.service import push_delivery, push_outbox
from lakewarden.service.push_outbox import LEASE_SECONDS, MOST_SECONDS
from lakewarden.service.push_target import PushMark
from tests.pushdown.relay import AWAY, HANGING, OPEN, columns
from tests.systems.gravitino.push.hooked import (
    CATALOG,
    LAKE,
    PASSWORD,
    Hooked,
    hooked,
    switch,
    switch_on,
)


@pytest.fixture
def hook(tmp_path: Path, postgres_url: str) -> Iterator[Hooked]:
    with hooked(tmp_path, postgres_url) as made:
        made.furnish()
        yield made


def test_each_kind_of_change_arrives(hook: Hooked) -> None:
    delivery = hook.delivery()
    hook.grant()
    assert not hook.may()
    assert delivery.deliver_due() == 1
    assert hook.may()
    assert "readers" in hook.roles()
    hook.grant("revoke")
    delivery.deliver_due()
    assert not hook.may()
    owner = {"name": "ana", "type": "user"}
    hook.wire.good("PUT", f"{LAKE}/owners/catalog/pg", owner)
    delivery.deliver_due()
    assert hook.may("INSERT")
    hook.wire.good("PUT", f"{LAKE}/owners/catalog/pg", {"name": "admin", "type": "user"})
    hook.grant()
    delivery.deliver_due()
    assert (hook.may(), hook.may("INSERT")) == (True, False)
    denied = {"privileges": [{"name": "select_table", "condition": "deny"}]}
    hook.wire.good("POST", f"{LAKE}/roles", {"name": "no", "securableObjects": []})
    path = f"{LAKE}/permissions/roles/no/table/pg.raw.orders/grant"
    hook.wire.good("PUT", path, denied)
    hook.wire.good("PUT", f"{LAKE}/permissions/users/ana/grant", {"roleNames": ["no"]})
    delivery.deliver_due()
    assert not hook.may()
    hook.wire.good("DELETE", f"{LAKE}/roles/no")
    delivery.deliver_due()
    assert hook.may()
    hook.wire.good("DELETE", f"{CATALOG}/schemas/raw/tables/orders")
    delivery.deliver_due()
    assert not hook.may()
    assert not delivery.due()


def test_many_changes_are_one_push(hook: Hooked) -> None:
    for number in range(5):
        table = {"name": f"t{number}", "columns": columns("a")}
        hook.wire.good("POST", f"{CATALOG}/schemas/raw/tables", table)
    hook.grant()
    hook.delivery().deliver_due()
    assert len(hook.told) == 1
    assert hook.told[0][1] > 0
    assert hook.may()


def test_a_write_does_not_read_what_was_pushed(hook: Hooked) -> None:
    hook.grant()
    hook.delivery().deliver_due()
    ((target, _),) = hook.targets()
    assert "readers" in target.pushed
    with hook.wire.service.reading() as reading:
        (followed,) = push_outbox.followed(reading, hook.wire.service.state)
    assert not followed.target.pushed


def test_a_write_returns_while_the_target_hangs(hook: Hooked) -> None:
    hook.relay.mode = HANGING
    delivering = threading.Thread(target=hook.delivery().deliver_due)
    delivering.start()
    hook.relay.wait_for_client(1)
    hook.grant()
    assert delivering.is_alive()
    ((_, entry),) = hook.targets()
    assert entry is not None
    hook.relay.mode = OPEN
    hook.relay.let_go()
    delivering.join()
    assert not hook.may()
    hook.now += 5
    assert hook.delivery().deliver_due() == 1
    assert hook.may()


def test_a_target_that_is_away_is_tried_again_after_pauses(hook: Hooked) -> None:
    hook.relay.mode = AWAY
    hook.grant()
    begun = hook.now
    for attempt in range(12):
        assert hook.delivery().deliver_due() == 0
        ((_, entry),) = hook.targets()
        assert entry is not None
        assert (entry.attempts, entry.since) == (attempt + 1, begun)
        assert entry.due == hook.now + min(2.0**attempt, MOST_SECONDS)
        assert "the target `g" in entry.error
        assert PASSWORD not in entry.error
        assert not hook.delivery().due()
        hook.now = entry.due
    assert len(hook.told) == 1  # the same error is reported once
    hook.relay.mode = OPEN
    assert hook.delivery().deliver_due() == 1
    ((target, entry),) = hook.targets()
    assert entry is None
    assert target.pushed_at == hook.now
    assert hook.may()


def test_a_target_was_told_as_of_the_question(
    hook: Hooked, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Access that expires while a slow target is served is detected afterwards, and delivered.
    record, asked = push_delivery._record, hook.now

    def slow(*arguments: Any) -> PushMark:
        hook.now += 60
        return record(*arguments)

    monkeypatch.setattr(push_delivery, "_record", slow)
    hook.grant()
    assert hook.delivery().deliver_due() == 1
    ((target, _),) = hook.targets()
    assert target.pushed_at == asked


def test_one_of_several_processes_delivers(hook: Hooked) -> None:
    hook.grant()
    first, second = hook.delivery(), hook.delivery()
    (target,) = first.due()
    assert first._claimed(target) is not None
    assert not second.due()
    assert second._claimed(target) is None
    hook.now += LEASE_SECONDS  # the first one was killed
    assert second.deliver_due() == 1
    assert hook.may()


def test_a_long_delivery_keeps_its_entry(hook: Hooked) -> None:
    delivery, other = hook.delivery(), hook.delivery()
    connect, dues = delivery.connect, []

    @contextmanager
    def slow(*about: Any) -> Iterator[Any]:
        with connect(*about) as session:
            for _ in range(3):
                hook.now += LEASE_SECONDS * 0.6
                delivery.renew()
                dues.append(other.due())
            yield session

    hook.grant()
    delivery = type(delivery)(delivery.service, delivery.sealing, slow, delivery.hosts)
    assert delivery.deliver_due() == 1
    assert dues == [[], [], []]
    assert hook.may()
    assert not delivery.due()
    delivery.renew()


def test_what_changes_during_a_delivery_is_delivered_after_it(hook: Hooked) -> None:
    delivery = hook.delivery()
    connect = delivery.connect

    @contextmanager
    def changing(*about: Any) -> Iterator[Any]:
        with connect(*about) as session:
            yield session
            hook.grant()

    slow = type(delivery)(delivery.service, delivery.sealing, changing, delivery.hosts)
    assert slow.deliver_due() == 1
    assert not hook.may()
    assert delivery.deliver_due() == 1
    assert hook.may()
    assert not delivery.due()


def test_a_delivery_that_dies_leaves_its_entry_and_nothing_in_the_target(hook: Hooked) -> None:
    delivery = hook.delivery()
    connect = delivery.connect

    @contextmanager
    def dying(*about: Any) -> Iterator[Any]:
        with connect(*about) as session:
            yield session
            raise KeyboardInterrupt

    hook.grant()
    dead = type(delivery)(delivery.service, delivery.sealing, dying, delivery.hosts)
    with pytest.raises(KeyboardInterrupt):
        dead.deliver_due()
    assert not hook.may()
    hook.now += LEASE_SECONDS
    assert delivery.deliver_due() == 1
    assert hook.may()


def test_a_renamed_catalog_keeps_its_target(hook: Hooked) -> None:
    hook.grant()
    hook.delivery().deliver_due()
    for updates in (
        [{"@type": "rename", "newName": "store"}],
        [{"@type": "updateComment", "newComment": "x"}, {"@type": "rename", "newName": "pg"}],
    ):
        old = "pg" if updates[0]["@type"] == "rename" else "store"
        hook.wire.good("PUT", f"{LAKE}/catalogs/{old}", {"updates": updates})
        hook.delivery().deliver_due()
        ((target, _),) = hook.targets()
        assert target.catalog == updates[-1]["newName"]
        assert hook.may()


def test_what_was_pushed_goes_with_the_catalog(hook: Hooked) -> None:
    hook.grant()
    hook.delivery().deliver_due()
    hook.wire.good("DELETE", f"{CATALOG}?force=true")
    assert hook.delivery().deliver_due() == 1
    assert not hook.may()
    assert not hook.roles()
    assert not hook.targets()


def test_a_catalog_that_is_made_again_is_told_anew(hook: Hooked) -> None:
    hook.grant()
    hook.delivery().deliver_due()
    hook.wire.good("DELETE", f"{CATALOG}?force=true")
    hook.wire.good("DELETE", f"{LAKE}/roles/readers")
    hook.furnish()
    hook.grant()
    while hook.delivery().deliver_due():
        pass
    assert hook.may()
    assert "readers" in hook.roles()
    ((target, entry),) = hook.targets()
    assert (target.catalog, entry) == ("pg", None)


def test_another_password_is_taken_and_another_database_is_a_new_target(hook: Hooked) -> None:
    hook.grant()
    hook.delivery().deliver_due()
    ((before, _),) = hook.targets()
    password = {"property": "authorization.jdbc.password", "value": "another one"}
    url = {"property": "authorization.jdbc.url", "value": "jdbc:postgresql://127.0.0.1:1/x"}
    for update, count in ((password, 1), (url, 2)):
        hook.wire.good("PUT", CATALOG, {"updates": [{"@type": "setProperty", **update}]})
        assert [one.name for one, _ in hook.targets()].count(before.name) == 1
        assert len(hook.targets()) == count
        hook.delivery().deliver_due()
    assert not hook.may()
    ((after, entry),) = hook.targets()
    assert after.name != before.name
    assert entry is not None
    assert "127.0.0.1" in entry.error or "connection" in entry.error


def test_a_host_that_is_not_listed_is_not_contacted(hook: Hooked) -> None:
    delivery = hook.delivery()
    closed = type(delivery)(delivery.service, delivery.sealing, delivery.connect, ())
    hook.grant()
    assert closed.deliver_due() == 0
    ((_, entry),) = hook.targets()
    assert entry is not None
    assert "push.hosts" in entry.error
    assert hook.relay.accepted == 0


def test_a_realm_without_the_setting_says_so_with_the_target(
    tmp_path: Path, postgres_url: str
) -> None:
    with hooked(tmp_path, postgres_url, on=False) as made:
        made.furnish()
        made.grant()
        assert made.delivery().deliver_due() == 0
        ((_, entry),) = made.targets()
        assert entry is not None
        assert entry.error == "set `postgresql` to `on` for the realm `gravitino`"
        switch_on(made.wire)
        assert made.delivery().deliver_due() == 1
        assert made.may()


def test_what_changes_while_the_setting_is_off_arrives_when_it_is_on_again(hook: Hooked) -> None:
    """Meanwhile the target keeps its state, and is reported as behind."""
    hook.grant()
    assert hook.delivery().deliver_due() == 1
    assert hook.may()
    switch(hook.wire, "off")
    hook.grant("revoke")
    ((target, entry),) = hook.targets()
    assert push_outbox.state_of(target, entry) == "failing"
    assert entry is not None
    assert entry.error == "set `postgresql` to `on` for the realm `gravitino`"
    assert hook.delivery().deliver_due() == 0
    switch_on(hook.wire)
    assert hook.delivery().deliver_due() == 1
    assert not hook.may()
    assert hook.targets()[0][1] is None
