"""Changes during a push to a target persist: names of catalogs, the end of a target."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest

from lakewarden.app.push_connection import connect_target
from lakewarden.kernel.errors import Busy, Conflict, Unknown
from lakewarden.service import push_outbox, push_target, push_target_writes, realms
from lakewarden.service.actor import SYSTEM, Actor
from lakewarden.service.control import Denied
from lakewarden.service.credential import Count
from lakewarden.service.push import Connect, Pushing
from lakewarden.service.push_delivery import BUSY_SECONDS, Delivery
from lakewarden.service.push_lock import (
    BUSY_TOO_LONG_SECONDS,
    HELD_SECONDS,
    RENEW_SECONDS,
    StoreLock,
)
from lakewarden.service.push_target import PushTarget
from lakewarden.service.push_target_check import declared
from lakewarden.service.push_watch import KINDS
from lakewarden.service.realm import DIRECTORY
from tests.administrators import make_administrator
from tests.pushdown.ranger.admin_server import PASSWORD, Ranger, serving
from tests.pushdown.ranger.worlds import ranger_of
from tests.systems.gravitino.http.wire import ADMIN, REALM, Wire
from tests.systems.gravitino.push.hooked import GRANT, LAKE, switch_on
from tests.systems.gravitino.push.test_ranger_style import of_hive

CATALOG = f"{LAKE}/catalogs/hv"
WHOLE, OWN, PLUGIN = "lk", "lk.hv", ""
BOSS = Actor("boss", directory=DIRECTORY)
Meanwhile = Callable[[], object]


@dataclass
class Followed:
    """A server, its Ranger, and a target in it; `told` are the deliveries to it."""

    wire: Wire
    ranger: Ranger
    now: float = 1_800_000_000.0
    told: list[tuple[str, int, str]] = field(default_factory=list)

    def stop_clock(self) -> None:
        """Freezes the clock."""
        self.wire.service.clock = lambda: self.now

    def administer(self) -> None:
        """See `stop_clock`, and `_administer`."""
        self.stop_clock()
        _administer(self.wire)

    def pushing(self, connect: Connect = connect_target) -> Pushing:
        service = self.wire.service
        write = partial(service.write, BOSS)
        return Pushing(service, BOSS, write, self.wire.services.sealing, connect)

    def add(self, catalog: str, *, follow: bool = True, name: str = "rg") -> None:
        address = self.ranger.address
        new = declared(name, REALM, catalog, address, follow=follow)
        assert self.pushing().add(new, address) is None

    def delivery(self, connect: Connect = connect_target) -> Delivery:
        return Delivery(
            self.wire.service,
            self.wire.services.sealing,
            connect,
            ("127.0.0.1",),
            lambda target, count, error: self.told.append((target.name, count, error)),
        )

    def deliver(self, connect: Connect = connect_target) -> int:
        self.now += 600.0
        return self.delivery(connect).deliver_due()

    def apply(self, connect: Connect = connect_target) -> None:
        """A manual push of all pending changes."""
        name = self.target.name
        plan: Any = self.pushing().plan(REALM, name)
        assert plan.is_pending
        self.pushing(connect).apply(REALM, name, plan.digest)

    def lock(self) -> StoreLock:
        """The target's lock, for a push that has read it."""
        target = self.target
        with self.wire.service.reading() as reading:
            return StoreLock(self.wire.service, target, push_target.push_mark(reading, target))

    def prune(self) -> None:
        """Deletes expired rows like a login does, for example the lock of a finished push."""
        self.wire.service.store.count_attempt([Count(("login", "bo"), 5, 60.0)], self.now)

    @property
    def targets(self) -> list[PushTarget]:
        with self.wire.service.reading() as reading:
            return list(push_target.targets(reading, (REALM,)))

    @property
    def target(self) -> PushTarget:
        (found,) = self.targets
        return found

    def users(self) -> set[str]:
        """The users in policies, except the one with all permissions."""
        items = [item for one in self.ranger.policies.values() for item in one["policyItems"]]
        members = [one["name"] for role in self.ranger.roles.values() for one in role["users"]]
        found = {*members, *(user for item in items for user in item.get("users", ()))}
        return found - {ADMIN, BOSS.user}

    def rename(self, path: str, name: str) -> None:
        self.wire.good("PUT", path, {"updates": [{"@type": "rename", "newName": name}]})


@pytest.fixture(params=[OWN])
def followed(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Followed]:
    """A target for a catalog, for a whole metalake, or by a plugin; `ana` may read a table."""
    type = "trino" if request.param == WHOLE else "hive"
    with serving(ranger_of(type)) as ranger, Wire(tmp_path) as wire:
        made = Followed(wire, ranger)
        if request.param == PLUGIN:
            made.administer()
            switch_on(wire, type)
            of_hive(wire, ranger)
            wire.good("PUT", f"{LAKE}/permissions/users/ana/grant", GRANT)
        else:
            wire.built(_with_trino if request.param == WHOLE else _with_hive)
            made.stop_clock()
            made.add(request.param)
        yield made


def _administer(wire: Wire) -> None:
    """Adds a user with all permissions."""
    wire.service.write(SYSTEM, realms.establish_control)
    make = partial(make_administrator, user=BOSS.user, directory=DIRECTORY)
    wire.service.write(SYSTEM, make)


def _with_hive(wire: Wire, type: str = "hive") -> None:
    _administer(wire)
    switch_on(wire, type)
    of_hive(wire, ranger_of(type), with_plugin=False)
    wire.good("PUT", f"{LAKE}/permissions/users/ana/grant", GRANT)


def _with_trino(wire: Wire) -> None:
    _with_hive(wire, "trino")


def afterwards(meanwhile: Meanwhile) -> Connect:
    """Runs a function after the push to the target, before that is recorded."""

    @contextmanager
    def connect(*about: Any) -> Iterator[Any]:
        with connect_target(*about) as session:
            apply = session.apply

            def applied(agreed: Any) -> int:
                count = apply(agreed)
                meanwhile()
                return count

            with patch.object(session, "apply", applied):
                yield session

    return connect


def before(meanwhile: Meanwhile) -> Connect:
    """Runs a function between reading the target and evaluating the realm."""

    @contextmanager
    def connect(*about: Any) -> Iterator[Any]:
        with connect_target(*about) as session:
            meanwhile()
            yield session

    return connect


def reading(meanwhile: Meanwhile) -> Connect:
    """Runs a function while Ranger is read."""

    def connect(target: PushTarget, url: str, store: str, reads: Any, lock: Any) -> Any:
        def changed_first(realm: str) -> Any:
            meanwhile()
            return reads(realm)

        return connect_target(target, url, store, changed_first, lock)

    return connect


def once(meanwhile: Meanwhile) -> Meanwhile:
    done: list[bool] = []

    def act() -> None:
        if not done:
            done.append(True)
            meanwhile()

    return act


def test_a_catalog_that_is_renamed_during_a_push_by_hand(followed: Followed) -> None:
    followed.apply(afterwards(lambda: followed.rename(CATALOG, "store")))
    assert followed.target.catalog == "store"
    assert followed.target.pushed
    assert followed.users() == {"ana"}
    assert followed.deliver() == 1
    assert followed.users() == {"ana"}
    assert not followed.target.journal


@pytest.mark.parametrize("followed", [PLUGIN], indirect=True)
def test_a_plug_in_that_goes_during_a_push_by_hand_is_gone(followed: Followed) -> None:
    update = {
        "@type": "setProperty",
        "property": "authorization.ranger.service.name",
        "value": "elsewhere",
    }
    push = afterwards(lambda: followed.wire.good("PUT", CATALOG, {"updates": [update]}))
    followed.apply(push)
    assert sorted(one.closing for one in followed.targets) == [False, True]
    followed.deliver()
    assert followed.users() == set()
    assert [one.closing for one in followed.targets] == [False]


def test_a_target_that_is_removed_during_a_push_by_hand(followed: Followed) -> None:
    def remove() -> None:
        followed.pushing().remove(REALM, "rg")

    with pytest.raises(Unknown, match="removed meanwhile"):
        followed.apply(afterwards(remove))
    assert followed.targets == []
    assert followed.deliver() == 0


def test_a_target_that_is_removed_before_a_push_begins(followed: Followed) -> None:
    followed.deliver()
    followed.wire.good("PUT", f"{LAKE}/permissions/users/ana/revoke", GRANT)
    changes = followed.ranger.changes
    plan: Any = followed.pushing().plan(REALM, "rg")

    def removing_target(pushing: Pushing) -> Any:
        removed = once(lambda: followed.pushing().remove(REALM, "rg"))

        def write(task: Any) -> Any:
            removed()
            return pushing.write(task)

        return Pushing(pushing.service, BOSS, write, pushing.sealing, pushing.connect)

    with pytest.raises(Unknown, match="removed meanwhile"):
        removing_target(followed.pushing()).apply(REALM, "rg", plan.digest)
    assert followed.targets == []
    assert followed.ranger.changes == changes


def test_one_that_is_added_by_the_name_of_another_is_not_what_was_told(followed: Followed) -> None:
    def replaced() -> None:
        followed.pushing().remove(REALM, "rg")
        followed.now += 1
        followed.add(OWN, follow=False)

    with pytest.raises(Unknown, match="removed meanwhile"):
        followed.apply(afterwards(replaced))
    assert not followed.target.pushed
    assert not followed.target.journal
    assert not followed.target.follow


def test_a_release_before_reads_the_document_of_a_target(followed: Followed) -> None:
    assert followed.target.added > 0
    with followed.wire.service.reading() as reads:
        ((_, document),) = reads.documents_of(REALM, "push-target")
    assert sorted(document) == [
        "catalog", "closing", "follow", "journal", "kind", "metalake", "name", "plugin", "pushed",
        "pushed_at", "realm", "revision", "style",
    ]  # fmt: skip


def test_a_delivery_tells_nothing_more_to_what_was_removed(followed: Followed) -> None:
    removed = once(lambda: followed.pushing().remove(REALM, "rg"))
    assert followed.deliver(reading(removed)) == 0
    assert followed.targets == []
    assert followed.users() == set()
    assert "removed meanwhile" in followed.told[-1][2]
    assert followed.deliver() == 0


@pytest.mark.parametrize("followed", [PLUGIN], indirect=True)
def test_a_failure_takes_nothing_from_an_address_that_was_changed(followed: Followed) -> None:
    update = {"property": "authorization.ranger.password", "value": PASSWORD}

    def changed() -> None:
        followed.ranger.status = 401
        updates = [{"@type": "setProperty", **update}]
        followed.wire.good("PUT", CATALOG, {"updates": updates})

    assert followed.deliver(before(changed)) == 0
    followed.ranger.status = 0
    assert followed.delivery().deliver_due() == 1  # at once, not after a pause
    assert followed.users() == {"ana"}


def test_a_lock_that_somebody_keeps_is_an_error_of_the_target(followed: Followed) -> None:
    """Any account of a database can take the lock of a target, also one that is to lose access."""

    def locked(*_: Any) -> Any:
        raise Busy("another push is under way")

    def states() -> list[tuple[str, int, str]]:
        followed.delivery(locked).deliver_due()
        with followed.wire.service.reading() as reading:
            (entry,) = push_outbox.pending(reading, followed.targets).values()
        assert entry.attempts == 0
        state = push_outbox.state_of(followed.target, entry)
        return [(state, int(entry.due - followed.now), entry.error)]

    assert states() == [("behind", 2, "")]
    followed.now += BUSY_TOO_LONG_SECONDS + 1
    assert states() == [("failing", 2, "another push is under way")]
    assert states() == [("failing", 2, "another push is under way")]
    assert followed.told == [("rg", 0, "another push is under way")]
    assert followed.deliver() == 1
    assert followed.users() == {"ana"}


def test_nobody_else_pushes_to_a_ranger_meanwhile(followed: Followed) -> None:
    """It has no locks, so the store has the target's lock."""
    plan: Any = followed.pushing().plan(REALM, "rg")
    refused: list[str] = []

    def others() -> None:
        assert followed.delivery().deliver_due() == 0
        for act in (pushing.plan, pushing.drift, pushing.reset):
            with pytest.raises(Busy, match="another push to the target `rg`") as why:
                act(REALM, "rg")
            refused.append(str(why.value))
        found: Any = pushing.account(REALM, "rg")
        assert not found.missing

    pushing = followed.pushing()
    followed.pushing(afterwards(others)).apply(REALM, "rg", plan.digest)
    assert len(refused) == 3
    assert followed.told == []
    assert followed.users() == {"ana"}
    followed.now += BUSY_SECONDS
    assert followed.delivery().deliver_due() == 1


def test_a_push_that_is_gone_keeps_others_out_for_a_while(followed: Followed) -> None:
    gone = followed.lock()
    gone.acquire()
    followed.now += HELD_SECONDS - 1.0
    assert followed.delivery().deliver_due() == 0
    followed.now += BUSY_SECONDS
    assert followed.delivery().deliver_due() == 1
    second = followed.lock()
    second.acquire()
    with pytest.raises(Busy):  # it was alive after all, and checks the lock before its next request
        gone.renew()
    gone.release()
    followed.now += RENEW_SECONDS
    second.renew()
    followed.now += HELD_SECONDS - 1.0
    with pytest.raises(Busy):
        followed.lock().require_free()
    second.release()
    followed.lock().require_free()


def test_a_lock_is_lost_by_another_push_also_by_one_that_is_over(followed: Followed) -> None:
    """The data that the first one read is outdated."""
    late, other, looking = (followed.lock() for _ in range(3))
    late.acquire()
    followed.now += 2 * HELD_SECONDS
    looking.require_free()
    late.renew()
    followed.now += 2 * HELD_SECONDS
    other.acquire()
    other.release()
    with pytest.raises(Busy):
        late.renew()
    late.release()
    other.acquire()


def standing_still(followed: Followed, meanwhile: Meanwhile) -> Connect:
    """A push stops before its first request that changes something; its lock expires."""

    @contextmanager
    def connect(*about: Any) -> Iterator[Any]:
        with connect_target(*about) as session:
            apply = session.apply

            def late(agreed: Any) -> int:
                followed.now += 2 * HELD_SECONDS
                meanwhile()
                followed.prune()
                return int(apply(agreed))

            with patch.object(session, "apply", late):
                yield session

    return connect


def test_a_push_that_stands_still_ends_once_another_one_came_and_went(followed: Followed) -> None:
    """Also if nothing remains of the other one's lock."""

    def other() -> None:
        followed.wire.good("PUT", f"{LAKE}/permissions/users/ana/revoke", GRANT)
        followed.apply()
        after.append(state())

    def state() -> object:
        return followed.ranger.changes, followed.target.pushed, followed.target.pushed_at

    followed.wire.good("PUT", f"{LAKE}/permissions/users/ana/revoke", GRANT)
    followed.apply()
    followed.wire.good("PUT", f"{LAKE}/permissions/users/ana/grant", GRANT)
    after: list[object] = []
    stands = standing_still(followed, other)
    with pytest.raises(Busy, match="ran meanwhile"):
        followed.apply(stands)
    assert after == [state()]
    assert followed.users() == set()
    followed.wire.good("PUT", f"{LAKE}/permissions/users/ana/grant", GRANT)
    followed.now += 600.0
    stands = standing_still(followed, other)
    assert followed.delivery(stands).deliver_due() == 0
    assert after[1:] == [state()]
    assert followed.users() == set()
    assert followed.deliver() == 1


def test_a_push_that_stands_still_alone_goes_on(followed: Followed) -> None:
    followed.apply(standing_still(followed, lambda: None))
    assert followed.users() == {"ana"}


@pytest.mark.parametrize("at", ["begun", "done"])
def test_what_another_push_told_is_not_overwritten_in_the_store(
    followed: Followed, at: str
) -> None:
    """A push that stops between its requests and their record."""
    pushing = followed.pushing()
    plan = pushing.plan(REALM, "rg")
    assert not isinstance(plan, Denied)
    writes: list[PushTarget] = []

    def other() -> None:
        followed.now += 2 * HELD_SECONDS
        followed.wire.good("PUT", f"{LAKE}/permissions/users/ana/revoke", GRANT)
        followed.apply()
        followed.prune()

    def write(task: Any) -> Any:
        if len(writes) == ["begun", "done"].index(at):
            other()
        writes.append(followed.target)
        return pushing.write(task)

    late = Pushing(pushing.service, BOSS, write, pushing.sealing, pushing.connect)
    with pytest.raises(Busy, match="ran meanwhile"):
        late.apply(REALM, "rg", plan.digest)
    assert followed.target == writes[-1]
    assert not followed.target.journal


def test_what_another_push_told_by_the_end_of_a_delivery_stays(followed: Followed) -> None:
    """A target releases its lock before its entry is deleted."""

    @contextmanager
    def connect(*about: Any) -> Iterator[Any]:
        with connect_target(*about) as session:
            yield session
        followed.now += 1.0
        followed.wire.good("PUT", f"{LAKE}/permissions/users/ana/revoke", GRANT)
        followed.apply()
        left.append(followed.target)

    left: list[PushTarget] = []
    assert followed.deliver(connect) == 1
    assert followed.targets == left
    assert followed.deliver() == 1
    assert followed.users() == set()


def test_a_clock_that_is_ahead_keeps_no_push_out(followed: Followed) -> None:
    """The clock of another machine that has pushed."""
    ahead, here = (followed.lock() for _ in range(2))
    followed.now += 5.0
    ahead.acquire()
    ahead.release()
    followed.now -= 5.0
    here.acquire()


def looking(meanwhile: Meanwhile) -> Connect:
    """Runs a function during a check of a target, after no running push was found."""

    @contextmanager
    def connect(*about: Any) -> Iterator[Any]:
        with connect_target(*about) as session:
            set_target = session.set_target

            def known(target: PushTarget) -> None:
                set_target(target)
                meanwhile()

            with patch.object(session, "set_target", known):
                yield session

    return connect


def test_a_look_beside_a_push_is_of_before_or_after_it(followed: Followed) -> None:
    pushed = once(followed.apply)
    found: Any = followed.pushing(looking(pushed)).drift(REALM, "rg")
    assert followed.users() == {"ana"}
    assert (found.differences, found.pending, found.unfinished) == ([], {}, False)
    times: list[int] = []

    def again_and_again() -> None:
        times.append(1)
        verb = "revoke" if len(times) % 2 else "grant"
        followed.wire.good("PUT", f"{LAKE}/permissions/users/ana/{verb}", GRANT)
        followed.now += 1.0
        followed.apply()

    with pytest.raises(Busy, match="do not stop"):
        followed.pushing(looking(again_and_again)).plan(REALM, "rg")
    assert len(times) == 3


def test_a_look_at_a_target_that_was_pushed_meanwhile_is_not_kept(followed: Followed) -> None:
    before_push = followed.target
    assert followed.deliver() == 1
    write = followed.pushing().write
    for target, kept in ((before_push, 0), (followed.target, 1)):
        write(
            partial(
                push_target_writes.note_drift, of=target, counts=dict.fromkeys(KINDS, 1), digest="d"
            )
        )
        assert len(followed.pushing().drift_notes((REALM,))) == kept


@pytest.mark.parametrize("followed", [WHOLE], indirect=True)
def test_a_metalake_that_is_renamed_keeps_its_target(followed: Followed) -> None:
    assert followed.deliver() == 1
    assert followed.users() == {"ana"}
    followed.rename("metalakes/lk", "sea")
    assert (followed.target.metalake, followed.target.catalog) == ("sea", "")
    assert followed.deliver() == 1
    assert followed.users() == {"ana"}


def test_a_catalog_of_a_metalake_that_is_renamed_keeps_its_target(followed: Followed) -> None:
    assert followed.deliver() == 1
    followed.rename("metalakes/lk", "sea")
    assert followed.target.place == "sea.hv"
    assert followed.deliver() == 1
    assert followed.users() == {"ana"}


def test_a_target_that_is_pushed_to_by_hand_follows_its_catalog(followed: Followed) -> None:
    followed.pushing().remove(REALM, "rg")
    followed.add(OWN, follow=False)
    followed.apply()
    followed.rename(CATALOG, "store")
    followed.rename("metalakes/lk", "sea")
    assert followed.target.place == "sea.store"
    assert followed.target.pushed
    assert followed.deliver() == 0


@pytest.mark.parametrize("followed", [PLUGIN], indirect=True)
@pytest.mark.parametrize("name", ["hv", "other"])
def test_the_plug_in_of_a_dropped_catalog_hears_nothing_of_another_by_its_name(
    followed: Followed, name: str
) -> None:
    assert followed.deliver() == 1
    wire = followed.wire
    wire.good("DELETE", f"{CATALOG}?force=true")
    body = {"name": name, "type": "relational", "provider": "hive"}
    wire.good("POST", f"{LAKE}/catalogs", body)
    if name != "hv":
        followed.rename(f"{LAKE}/catalogs/{name}", "hv")
    wire.good("POST", f"{CATALOG}/schemas", {"name": "raw"})
    table = {"name": "orders", "columns": [{"name": "a", "type": "integer"}]}
    wire.good("POST", f"{CATALOG}/schemas/raw/tables", table)
    wire.good("PUT", f"{LAKE}/owners/catalog/hv", {"name": "ana", "type": "user"})
    assert followed.deliver() == 1
    assert followed.users() == set()
    assert followed.targets == []


@pytest.mark.parametrize("followed", [PLUGIN], indirect=True)
def test_a_plug_in_ends_with_its_metalake(followed: Followed) -> None:
    assert followed.deliver() == 1
    followed.wire.good("DELETE", f"{LAKE}?force=true")
    assert followed.target.closing
    assert followed.deliver() == 1
    assert followed.users() == set()
    assert followed.targets == []


def test_a_tag_with_the_name_of_a_catalog_takes_no_target_along(followed: Followed) -> None:
    followed.wire.good("POST", f"{LAKE}/tags", {"name": "hv"})
    followed.rename(f"{LAKE}/tags/hv", "other")
    assert followed.target.place == OWN
    assert followed.deliver() == 1
    assert followed.users() == {"ana"}


@pytest.mark.parametrize("followed", [OWN, PLUGIN], indirect=True)
@pytest.mark.parametrize("when", [before, reading])
def test_a_catalog_that_is_renamed_during_a_delivery(
    followed: Followed, when: Callable[[Meanwhile], Connect]
) -> None:
    assert followed.deliver() == 1
    followed.wire.good("POST", f"{LAKE}/users", {"name": "bo"})
    renamed = once(lambda: followed.rename(CATALOG, "store"))
    assert followed.deliver(when(renamed)) == 1
    assert followed.users() == {"ana"}
    assert followed.deliver() == (when is reading)  # otherwise it was delivered under the new name
    assert followed.users() == {"ana"}
    assert followed.target.catalog == "store"


@pytest.mark.parametrize("followed", [OWN, PLUGIN], indirect=True)
def test_a_catalog_that_is_renamed_before_the_target_is_read(
    followed: Followed, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert followed.deliver() == 1
    followed.wire.good("POST", f"{LAKE}/users", {"name": "bo"})
    renamed = once(lambda: followed.rename(CATALOG, "store"))
    delivery = followed.delivery()
    followed.now += 600.0
    (due,) = delivery.due()
    catch_up = followed.wire.service.catch_up

    def late() -> Any:
        state = catch_up()
        renamed()
        return state

    monkeypatch.setattr(followed.wire.service, "catch_up", late)
    assert delivery.deliver(due)
    assert followed.users() == {"ana"}
    assert followed.target.catalog == "store"


def test_a_plan_of_a_catalog_that_has_another_name_by_now(followed: Followed) -> None:
    renamed = once(lambda: followed.rename(CATALOG, "store"))
    with pytest.raises(Conflict, match=r"`lk\.hv` was renamed to `lk\.store`"):
        followed.pushing(before(renamed)).plan(REALM, "rg")


def test_of_two_that_add_a_target_by_one_name_one_does(followed: Followed) -> None:
    pushing = followed.pushing()
    first = once(lambda: followed.add(OWN, name="two", follow=False))

    def write(task: Any) -> Any:
        first()
        return pushing.write(task)

    second = Pushing(pushing.service, BOSS, write, pushing.sealing, pushing.connect)
    other = followed.ranger.address.replace("/svc", "/elsewhere")
    with pytest.raises(Conflict, match="a target `two` already exists"):
        second.add(declared("two", REALM, OWN, other), other)
    with followed.wire.service.reading() as reads:
        found = push_target.target(reads, (REALM,), "two")
        assert pushing.sealing is not None
        assert push_target.url(reads, pushing.sealing, found) == followed.ranger.address
