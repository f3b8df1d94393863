"""Delivers pending changes to followed targets: one push for all changes of a target.

The delivering process holds the entry, so only one of several processes delivers, and renews the
lease until the delivery ends. The entry is removed when the target has stored the push: if the
process dies before, the entry remains, and the next push finds nothing to do. A failure is recorded
in the entry, which is retried after a pause that doubles.
"""

from __future__ import annotations

import secrets
from collections.abc import Callable, Collection, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from functools import partial
from operator import itemgetter
from typing import Any, TypeVar

from lakewarden.engines.mapping import of_model
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import Busy, StaleSnapshot, Unavailable, WardenError
from lakewarden.service import push_outbox, push_target, push_target_check, push_target_writes
from lakewarden.service.actor import SYSTEM
from lakewarden.service.aligned_reading import aligned_reading, reading_of
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.push import Connect, PushPlan, TargetSession
from lakewarden.service.push_lock import BUSY_TOO_LONG_SECONDS, StoreLock
from lakewarden.service.push_outbox import LEASE_SECONDS, Followed, Pending
from lakewarden.service.push_target import PushMark, PushTarget
from lakewarden.service.sealed_properties import Sealing
from lakewarden.service.state import RealmState, State
from lakewarden.service.write_transaction import WriteTransaction

T = TypeVar("T")

RENEW_SECONDS = LEASE_SECONDS / 3
"""A lease is renewed this long after it was taken or renewed."""

BUSY_SECONDS = 2.0
"""The pause if another push to the target is in progress."""

DeliveryListener = Callable[[PushTarget, int, str], None]
"""Called for each delivery, with the number of statements, or with the error."""


def _ignore(*_: object) -> None:
    pass


@dataclass(frozen=True, slots=True)
class _Lease:
    """A target with a delivery in progress, and the time until which its entry is held."""

    target: PushTarget
    until: float


@dataclass(frozen=True, slots=True)
class Delivery:
    """Delivers for one process. A target that a catalog declares must be on one of the `hosts`."""

    service: DecisionService
    sealing: Sealing | None
    connect: Connect
    hosts: Collection[str]
    on_result: DeliveryListener = _ignore
    holder: str = field(default_factory=lambda: secrets.token_hex(8))
    _leases: dict[tuple[str, str], _Lease] = field(default_factory=dict)
    """The deliveries in progress in this process, by realm and name."""

    def due(self) -> list[PushTarget]:
        """The targets that may be delivered to now, those behind longest first."""
        return [one.target for one in self.behind()]

    def behind(self) -> list[Followed]:
        """The same, each with its pending entry."""
        state, now = self.service.catch_up(), self.service.clock()
        with self.service.reading() as reading:
            found = push_outbox.followed(reading, state)
        waiting = [
            (one.pending.since if one.pending else now, one.target.name, one)
            for one in found
            if (one.pending.is_due(now) if one.pending else _has_ended(state, one.target))
        ]
        return [one for *_, one in sorted(waiting, key=itemgetter(0, 1))]

    def deliver_due(self) -> int:
        """Delivers to all due targets, one after the other; returns the number of successes."""
        return sum(self.deliver(target) for target in self.due())

    def deliver(self, target: PushTarget) -> bool:
        """Brings a target up to date; False if that failed or another process does it."""
        entry = self._claimed(target)
        if entry is None:
            return False
        key = target.realm, target.name
        self._leases[key] = _Lease(target, entry.until)
        try:
            count = self._push(target)
        except (Busy, StaleSnapshot) as error:
            self._wait(target, entry, str(error))
            return False
        except WardenError as error:
            self._failed(target, entry, str(error))
            return False
        except Exception as error:
            self._failed(target, entry, f"unexpected: {type(error).__name__}")
            raise
        finally:
            self._leases.pop(key, None)
        self.on_result(target, count, "")
        return True

    def renew(self) -> None:
        """Renews the leases of deliveries in progress that are due for renewal."""
        for key, lease in list(self._leases.items()):
            if lease.until - self.service.clock() <= LEASE_SECONDS - RENEW_SECONDS:
                until = self._write(partial(self._extended, lease.target))
                if until is None:
                    self._leases.pop(key, None)
                else:
                    self._leases[key] = replace(lease, until=until)

    def _extended(self, target: PushTarget, work: WriteTransaction) -> float | None:
        """The new end of the lease; None if another process holds the entry, or nobody."""
        for current in push_target.stored(work.store, target):
            entry = push_outbox.pending(work.store, [current]).get(current.name)
            if entry is not None and entry.holder == self.holder:
                held = replace(entry, until=work.now + LEASE_SECONDS)
                work.change(target.realm, push_outbox.put(current, held))
                return held.until
        return None

    # --- the target ---

    def _push(self, target: PushTarget) -> int:
        with self.service.reading() as reading:
            lock = StoreLock(self.service, target, push_target.push_mark(reading, target))
        with self._connected(target, lock) as session:
            session.lock()
            # Read after locking: an older state would undo what another push did meanwhile. All at
            # one moment: under another name of its catalog a target would have no content.
            asked, state = self.service.clock(), self.service.catch_up()
            with aligned_reading(self.service, state) as (state, reading):
                realm, target = (
                    state.realm(target.realm),
                    push_target.with_pushed_roles(reading, target),
                )
                lock.mark = push_target.push_mark(reading, target)
            session.set_target(target)
            over = target.closing or (bool(target.plugin) and not _has_catalog(realm, target))
            made: PushPlan = (
                session.reset_plan() if over else session.plan(realm, self.service.clock())
            )
            count = 0
            if made.is_pending:
                lock.mark = self._write(lambda work: _begin(work, made, lock.mark))
                count = session.apply(made)
                lock.mark = self._write(lambda work: _record(work, made, lock.mark, count))
        is_other = not made.is_pending and made.target_after_push().pushed != target.pushed
        # Access that begins or ends by time after this moment is pushed again.
        delivered = replace(
            made.target_after_push(), revision=state.revision, pushed_at=asked, journal={}
        )
        self._write(
            lambda work: _complete(work, delivered, lock.mark, over=over, is_other=is_other)
        )
        return count

    def _connected(
        self, target: PushTarget, lock: StoreLock
    ) -> AbstractContextManager[TargetSession[Any]]:
        address, store = self._address(target), self._store()
        reads = partial(reading_of, self.service)
        return self.connect(target, address, store, reads, lock)

    def _address(self, target: PushTarget) -> str:
        if self.sealing is None:
            raise Unavailable("there is no key for secrets, such as addresses; set `secret_keys`")
        with self.service.reading() as reading:
            address = push_target.url(reading, self.sealing, target)
        if target.plugin:
            push_target_check.check_address(address, self.hosts)
        return address

    def _store(self) -> str:
        """The id of the store, which the marks in targets contain."""
        with self.service.reading() as reading:
            store = push_target.store_id(reading)
        return store or self._write(push_target.name_store)

    # --- the entry ---

    def _claimed(self, target: PushTarget) -> Pending | None:
        """The entry, held from now on; None if it is gone, held or not yet due."""

        def claim(work: WriteTransaction) -> Pending | None:
            for current in push_target.stored(work.store, target):
                entry = push_outbox.pending(work.store, [current]).get(current.name)
                entry = entry or Pending(0, work.now)
                if entry.is_due(work.now):
                    held = replace(entry, holder=self.holder, until=work.now + LEASE_SECONDS)
                    work.change(target.realm, push_outbox.put(target, held))
                    return held
            return None

        return self._write(claim)

    def _failed(self, target: PushTarget, entry: Pending, error: str) -> None:
        self._release(target, push_outbox.failed(entry, error, self.service.clock()))
        if error != entry.error:
            self.on_result(target, 0, error)

    def _wait(self, target: PushTarget, entry: Pending, why: str) -> None:
        """Leaves a target to another push; this becomes an error if it takes too long."""
        now = self.service.clock()
        error = why if now - entry.since > BUSY_TOO_LONG_SECONDS else entry.error
        due = now + BUSY_SECONDS
        self._release(target, replace(entry, due=due, error=error, holder="", until=0.0))
        if error != entry.error:
            self.on_result(target, 0, error)

    def _release(self, target: PushTarget, entry: Pending) -> None:
        def write(work: WriteTransaction) -> None:
            for current in push_target.stored(work.store, target):
                newest = push_outbox.pending(work.store, [current]).get(current.name)
                if newest is None or newest.holder != self.holder:
                    return  # delivered by another process, or recreated
                revision = max(entry.revision, newest.revision)
                work.change(
                    target.realm, push_outbox.put(target, replace(entry, revision=revision))
                )

        self._write(write)

    def _write(self, job: Callable[[WriteTransaction], T]) -> T:
        return self.service.write(SYSTEM, job)


def _begin(work: WriteTransaction, made: PushPlan, mark: PushMark) -> PushMark:
    """Records that a push has begun, if the target keeps each statement; returns the new mark."""
    begun = made.target_during_push()
    if begun is None:
        return mark
    push_target.require_mark(work.store, begun, mark)
    current = push_target.changed(work.store, begun, journal=begun.journal)
    work.change(begun.realm, push_target.put(current))
    return mark.with_journal(begun)


def _record(work: WriteTransaction, made: PushPlan, mark: PushMark, count: int) -> PushMark:
    """Records what is pushed, before the target commits it; returns the new mark."""
    done = made.target_after_push()
    push_target.require_mark(work.store, done, mark)
    current = push_target.changed(work.store, done, pushed=done.pushed, journal={})
    work.change(done.realm, *push_target.record_push(work, current))
    counts = {"statements": count, "residue": made.residues.count}
    push_target_writes.audit(work, done, "push.apply", "followed", **counts)
    return mark.recorded(work.store.revision + 1)


def _complete(
    work: WriteTransaction, done: PushTarget, mark: PushMark, *, over: bool, is_other: bool
) -> None:
    """Removes the entry of a delivered target, unless there is more to deliver.

    There is more also if another push came meanwhile: a lock in the target ends with the
    connection. `is_other`: its content differs from what was recorded.
    """
    current = next(push_target.stored(work.store, done), None)
    if current is None:
        return
    entry = push_outbox.pending(work.store, [done]).get(done.name)
    is_newest = push_target.push_mark(work.store, current) == mark
    if is_newest and over:
        _remove_target(work, current)
        return
    if is_newest:
        after = replace(
            current,
            pushed=done.pushed, revision=done.revision, pushed_at=done.pushed_at, journal={},
        )  # fmt: skip
        changes = push_target.record_push(work, after) if is_other else (push_target.put(after),)
        work.change(done.realm, *changes)
    if entry is not None and (entry.revision > done.revision or not is_newest):
        left = replace(entry, since=work.now, attempts=0, due=0.0, error="", holder="", until=0.0)
        work.change(done.realm, push_outbox.put(current, left))
    else:
        work.change(done.realm, push_outbox.put(current, None))


def _remove_target(work: WriteTransaction, old: PushTarget) -> None:
    """Removes a target; other targets of the realm may now use names that it had."""
    work.change(old.realm, *push_target.dropped(old))
    others = list(_other_followed(work, old))
    entries = push_outbox.pending(work.store, others)
    for one in others:
        if one.name not in entries:
            work.change(old.realm, push_outbox.put(one, Pending(0, work.now)))


def _other_followed(work: WriteTransaction, old: PushTarget) -> Iterator[PushTarget]:
    for one in push_target.briefly(work.store, old.realm):
        if one.follow and one.name != old.name:
            yield one


def _has_catalog(realm: RealmState, target: PushTarget) -> bool:
    mapping = of_model(realm.realm.model).get(target.kind)
    name = f"{target.metalake}:{target.catalog}"
    if mapping is not None:
        parts = {"metalake": target.metalake, "catalog": target.catalog}
        name = mapping.names["catalog"].format_map(parts)
    return realm.matrix.snapshot.coded.is_known(Entity("catalog", name))


def _has_ended(state: State, target: PushTarget) -> bool:
    """Whether access began or ended by time since the last push to the target."""
    start = state.realm(target.realm).matrix.snapshot.table.start
    return 0.0 < target.pushed_at < start
