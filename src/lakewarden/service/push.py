"""Pushes permissions to targets: the use cases that the CLI, the API and a watch share.

Connections to targets and plans for them depend on the kind of target; the push-down provides them
through a port. Rights are checked before a target is contacted, and a denied change is audited.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Final, Protocol, TypeVar

from lakewarden.kernel.errors import BadInput, Busy, Conflict, WardenError
from lakewarden.service import (
    cancellation,
    control,
    push_outbox,
    push_target,
    push_target_check,
    push_target_writes,
)
from lakewarden.service.actor import SYSTEM, Actor
from lakewarden.service.aligned_reading import reading_of
from lakewarden.service.control import Denied
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.ports import Reading, ServerAccount
from lakewarden.service.push_lock import StoreLock
from lakewarden.service.push_outbox import Pending
from lakewarden.service.push_target import DriftNote, PushMark, PushTarget
from lakewarden.service.residue import Residues
from lakewarden.service.sealed_properties import Sealing
from lakewarden.service.state import RealmState
from lakewarden.service.steps import step
from lakewarden.service.write_transaction import WriteTransaction

T = TypeVar("T")

_READ_ATTEMPTS: Final = 3
"""How often a look is retried if the target was pushed to meanwhile."""

PLAN = "push.plan"
DRIFT = "push.drift"
APPLY = "push.apply"


class PushPlan(Protocol):
    """The current and the desired content of a target, and the steps between them."""

    @property
    def target(self) -> PushTarget: ...

    @property
    def residues(self) -> Residues: ...

    @property
    def revision(self) -> int: ...

    @property
    def is_pending(self) -> bool:
        """Whether there is anything to do."""
        ...

    @property
    def digest(self) -> str:
        """Identifies this plan."""
        ...

    def target_during_push(self) -> PushTarget | None:
        """The target during the push, with the journal; None if a push keeps nothing halfway."""
        ...

    def resumes(self, digest: str) -> bool:
        """Whether this is the rest of the plan with that digest, whose push was begun."""
        ...

    def target_after_push(self) -> PushTarget:
        """The target after the push."""
        ...

    def table(self) -> dict[str, Any]:
        """The plan as JSON values."""
        ...


class PushDrift(Protocol):
    """What others changed since the last push, and what users of the realm hold in addition."""

    @property
    def differences(self) -> Sequence[Any]: ...

    @property
    def foreign(self) -> Sequence[Any]: ...

    @property
    def pending(self) -> Mapping[str, int]: ...

    @property
    def residue(self) -> int: ...

    @property
    def unfinished(self) -> bool:
        """Whether a push was begun and is not known to have finished."""
        ...

    def table(self) -> dict[str, Any]:
        """The drift as JSON values."""
        ...


P = TypeVar("P", bound=PushPlan)


class PushAdoption(Protocol):
    """Grants by others, as statements of the realm."""

    def policy(self) -> dict[str, object]:
        """The contents of a policy file."""
        ...

    def table(self) -> dict[str, Any]:
        """The proposed and the omitted statements, as JSON values."""
        ...


class TargetSession(Protocol[P]):
    """A connected target: changes are kept unless the block raises.

    A caller that pushes must `lock` it first, and only then read the stored target and pass it to
    `set_target`: the stored target includes what another push just pushed.
    """

    def lock(self) -> None:
        """Keeps other pushes out until the end; raises `Busy` if there is one."""
        ...

    def require_free(self) -> None:
        """Raises `Busy` while a push is in progress; keeps no push out."""
        ...

    def begin_snapshot(self) -> None:
        """Makes all following reads consistent, if the target supports that."""
        ...

    def set_target(self, target: PushTarget) -> None:
        """Passes the stored target, with what was pushed to it."""
        ...

    def plan(self, realm: RealmState, now: float) -> P:
        """What a push would do now, for the given realm state or a newer one."""
        ...

    def adoption_plan(self, made: P) -> P:
        """The plan, extended to revoke the grants by others that it replaces."""
        ...

    def adoption(self, realm: RealmState, now: float) -> PushAdoption: ...

    def reset_plan(self) -> P: ...

    def apply(self, agreed: P) -> int:
        """Carries out the plan; returns the number of statements."""
        ...

    def drift(self, realm: RealmState, now: float) -> PushDrift: ...

    def missing_rights(self, realm: RealmState, /) -> list[str]:
        """The rights that the pushing account lacks for the contents of the realm."""
        ...

    def warnings(self) -> list[str]:
        """The rights that the pushing account has beyond those."""
        ...

    def acts_as(self, account: ServerAccount) -> bool:
        """Whether the pushing account is that one, or may act as it."""
        ...

    def plugin_versions(self) -> list[str]:
        """What has arrived where, for a target that forwards what is pushed to it."""
        ...


Reads = Callable[[str], AbstractContextManager[tuple[RealmState, Reading]]]
"""The current realm with a name, and the store at the same moment."""

Connect = Callable[
    [PushTarget, str, str, Reads, StoreLock], AbstractContextManager[TargetSession[Any]]
]
"""Connects to a target at its address, for the store with an id. Raises `Unavailable`.

The lock is for targets without their own.
"""

Write = Callable[[Callable[[WriteTransaction], Any]], Any]
"""Runs a task as one write of the actor."""


@dataclass(frozen=True, slots=True)
class AccountReport:
    """Rights that a target's account lacks for a push, rights beyond, and what arrived where."""

    missing: Sequence[str]
    warnings: Sequence[str]
    arrived: Sequence[str]


class _RightRevoked(Exception):
    """The right to push was revoked during the push: the target keeps nothing."""

    def __init__(self, denied: Denied) -> None:
        super().__init__()
        self.denied = denied


@dataclass(frozen=True, slots=True)
class Pushing:
    """The actor of pushes, and the means; the server's own actor is `SYSTEM`.

    Without `sealing` there is no key, so addresses cannot be stored or read.
    """

    service: DecisionService
    actor: Actor
    write: Write
    sealing: Sealing | None
    connect: Connect

    def targets(self, realms: Sequence[str] | None = None) -> list[PushTarget]:
        """The targets of these realms that the actor may see; of all realms by default."""
        asked = self.service.state.realms if realms is None else realms
        seen = [realm for realm in asked if self._denied("push_target.list", realm) is None]
        with self.service.reading() as reading:
            return list(push_target.targets(reading, seen))

    def drift_notes(self, realms: Iterable[str]) -> Mapping[str, DriftNote]:
        """The findings of a watch in the targets of realms that the actor may see."""
        with self.service.reading() as reading:
            return push_target.drift_notes(reading, realms)

    def target(self, name: str, realm: str | None = None) -> PushTarget:
        """The target with that name, in a realm if one is given; raises `Unknown`."""
        realms = self.service.state.realms if realm is None else (realm,)
        with self.service.reading() as reading:
            return push_target.target(reading, realms, name)

    def listed(self, realm: str) -> list[PushTarget] | Denied:
        """The targets of a realm. Raises `Unknown` if there is no such realm."""
        denied = self._denied("push_target.list", realm)
        if denied is not None:
            return denied
        self.service.state.realm(realm)
        return self.targets((realm,))

    def add(
        self, new: PushTarget, address: str, hosts: Collection[str] | None = None
    ) -> Denied | None:
        """Stores a target; if hosts are given, it must be on one of them.

        Raises `BadInput` for an invalid target, and `Conflict` for a name in use.
        """

        def work() -> Denied | None:
            if hosts is not None:
                push_target_check.check_address(address, hosts)
            sealing = self._sealing()

            def write(transaction: WriteTransaction) -> Denied | None:
                denied = push_target_writes.add(transaction, new, address, sealing)
                if denied is None and new.follow:
                    entry = Pending(transaction.store.revision + 1, transaction.now)
                    transaction.change(new.realm, push_outbox.put(new, entry))
                return denied

            return self._write(write)

        return self._on("push_target.put", new.realm, work)

    def remove(self, realm: str, name: str) -> Denied | None:
        """Removes a target; what was pushed to it stays there. Raises `Unknown`."""

        def work() -> Denied | None:
            old = self.target(name, realm)
            return self._write(lambda transaction: push_target_writes.remove(transaction, old))

        return self._on("push_target.remove", realm, work)

    def sign(self, realm: str, name: str, secret: str) -> Denied | None:
        """Signs events of a target with a secret from now on; "": not signed.

        Raises `Unknown`.
        """

        def work() -> Denied | None:
            old, sealing = self.target(name, realm), self._sealing()
            return self._write(
                lambda transaction: push_target_writes.put_webhook_secret(
                    transaction, old, secret, sealing
                )
            )

        return self._on("push_target.put", realm, work)

    def plan(self, realm: str, name: str, *, adopts: bool = False) -> PushPlan | Denied:
        """What a push would do now; `adopts`: and revoke grants by others that it replaces."""

        def work() -> PushPlan:
            return self._read_target(
                realm, name, lambda session, target: self._planned(session, target, adopts)
            )

        return self._on(PLAN, realm, work)

    def _planned(self, session: TargetSession[Any], target: PushTarget, adopts: bool) -> PushPlan:
        made: PushPlan = session.plan(self._realm(target), self.service.clock())
        return session.adoption_plan(made) if adopts else made

    def apply(
        self, realm: str, name: str, digest: str, *, adopts: bool = False
    ) -> tuple[PushPlan, int] | Denied:
        """Carries out the plan with that digest; returns it, and the number of statements.

        The plan is made again under the lock of the target. A push that was begun and not finished
        continues with the same plan. Raises `Conflict` if the realm or the target has changed
        since: then nothing is changed.
        """

        def work() -> tuple[PushPlan, int]:
            asked = self.service.clock()
            with self._locked(realm, name) as (session, target, lock):
                made = self._planned(session, target, adopts)
                if made.digest != digest and not made.resumes(digest):
                    raise Conflict("the realm or the target changed since the plan; plan again")
                self._begin(made, lock)
                count = session.apply(made)
                done = replace(made.target_after_push(), pushed_at=asked)
                self._record(done, lock, statements=count, residue=made.residues.count)
                return made, count

        return self._on(APPLY, realm, work)

    def reset(self, realm: str, name: str) -> int | Denied:
        """Revokes everything that we pushed; returns the number of statements."""

        def work() -> int:
            asked = self.service.clock()
            with self._locked(realm, name) as (session, _, lock):
                made = session.reset_plan()
                self._begin(made, lock)
                count = session.apply(made)
                self._record(
                    replace(made.target_after_push(), pushed_at=asked), lock, statements=count
                )
                return count

        return self._on(APPLY, realm, work)

    def drift(self, realm: str, name: str) -> PushDrift | Denied:
        """What others changed in a target since the last push, and hold in addition."""

        def found(session: TargetSession[Any], target: PushTarget) -> PushDrift:
            return session.drift(self._realm(target), self.service.clock())

        return self._on(DRIFT, realm, lambda: self._read_target(realm, name, found))

    def adoption(self, realm: str, name: str) -> PushAdoption | Denied:
        """The grants by others as statements of the realm; nothing is changed."""

        def proposed(session: TargetSession[Any], target: PushTarget) -> PushAdoption:
            return session.adoption(self._realm(target), self.service.clock())

        return self._on(DRIFT, realm, lambda: self._read_target(realm, name, proposed))

    def account(self, realm: str, name: str) -> AccountReport | Denied:
        """The rights that a target's account lacks for a push, and those that it has beyond.

        Works also during a push, even one that never finishes.
        """

        def work() -> AccountReport:
            target, mark = self._stored(realm, name)
            with self._connected(target, StoreLock(self.service, target, mark)) as session:
                session.begin_snapshot()
                session.set_target(target)
                now = self._realm(target)
                missing = session.missing_rights(now)
                warnings = [
                    *self._store_account_warnings(session),
                    *([] if missing else session.warnings()),
                ]
                arrived = [] if missing else session.plugin_versions()
            return AccountReport(missing, warnings, arrived)

        return self._on(PLAN, realm, work)

    def _store_account_warnings(self, session: TargetSession[Any]) -> Iterator[str]:
        """Reports that the account may change what lakewarden itself stores, if so."""
        own = self.service.store.account()
        if own is not None and session.acts_as(own):
            what = f"the account may act as `{own.name}`, the account of lakewarden's own store"
            yield f"{what}: give the target its own account"

    # --- the rights, the store and the target ---

    def _on(self, operation: str, realm: str, work: Callable[[], T]) -> T | Denied:
        """The work's result, or the denial. A denied change is audited, a denied read is not."""
        denied = self._denied(operation, realm)
        if denied is None:
            try:
                return work()
            except _RightRevoked as refused:
                return refused.denied
        if operation not in (PLAN, DRIFT):
            self._write(
                lambda transaction: control.authorize_in_realm(transaction, operation, realm)
            )
        return denied

    def _denied(self, operation: str, realm: str) -> Denied | None:
        if self.actor is SYSTEM:
            return None
        state, now = self.service.state, self.service.clock()
        return control.denied_in(state, self.actor, operation, realm, now)

    def _read_target(
        self, realm: str, name: str, work: Callable[[TargetSession[Any], PushTarget], T]
    ) -> T:
        """The result of a look at a target, which keeps no push out.

        It is of a moment without a push. INVARIANT: the stored target is read first, then whether
        it is locked, then the target itself: a concurrent push either holds the lock at that time,
        or has left another mark in the store at the end. Raises `Busy` while the target is pushed
        to.
        """
        for _ in range(_READ_ATTEMPTS):
            target, mark = self._stored(realm, name)
            try:
                with self._connected(target, StoreLock(self.service, target, mark)) as session:
                    session.require_free()
                    session.begin_snapshot()
                    session.set_target(target)
                    found = work(session, target)
            except WardenError:
                # A concurrent push may have removed something that the look referred to.
                if self._stored(realm, name)[1] == mark:
                    raise
            else:
                if self._stored(realm, name)[1] == mark:
                    return found
        raise Busy(f"pushes to the target `{name}` do not stop; try again later")

    def _stored(self, realm: str, name: str) -> tuple[PushTarget, PushMark]:
        """The stored target, and the mark of the last push to it; raises `Unknown`."""
        with self.service.reading() as reading:
            target = push_target.target(reading, (realm,), name)
            return target, push_target.push_mark(reading, target)

    @contextmanager
    def _locked(
        self, realm: str, name: str
    ) -> Iterator[tuple[TargetSession[Any], PushTarget, StoreLock]]:
        """A target that is locked until the end, as stored after locking."""
        before, mark = self._stored(realm, name)
        lock = StoreLock(self.service, before, mark)
        with self._connected(before, lock) as session:
            session.lock()
            with self.service.reading() as reading:
                target = push_target.with_pushed_roles(reading, before)
                lock.mark = push_target.push_mark(reading, target)
            session.set_target(target)
            yield session, target, lock

    @contextmanager
    def _connected(self, target: PushTarget, lock: StoreLock) -> Iterator[TargetSession[Any]]:
        sealing = self._sealing()
        with self.service.reading() as reading:
            address = push_target.url(reading, sealing, target)
            store = push_target.store_id(reading)
        store = store or self._write(push_target.name_store)
        reads = partial(reading_of, self.service)
        with (
            step("call a target", calls=target.kind),
            self.connect(target, address, store, reads, lock) as session,
        ):
            yield session

    def _realm(self, of: PushTarget) -> RealmState:
        """The current realm.

        Raises `Conflict` if the catalog was renamed meanwhile: the old name has no content.
        """
        with reading_of(self.service, of.realm) as (realm, reading):
            current = push_target.current(reading, of)
        if current.place != of.place:
            raise Conflict(f"`{of.place}` was renamed to `{current.place}`; try again")
        return realm

    def _begin(self, made: PushPlan, lock: StoreLock) -> None:
        begun, mark = made.target_during_push(), lock.mark
        if begun is not None:
            denied = self._write(
                lambda work: push_target_writes.begin(work, begun, mark, phase="begun")
            )
            if denied is not None:
                raise _RightRevoked(denied)
            lock.mark = mark.with_journal(begun)

    def _record(self, target: PushTarget, lock: StoreLock, **details: object) -> None:
        """Records what is pushed, before the target commits it: else the target keeps nothing."""
        cancellation.check()
        denied = self._write(
            lambda work: push_target_writes.record(work, target, lock.mark, **details)
        )
        if denied is not None:
            raise _RightRevoked(denied)

    def _write(self, task: Callable[[WriteTransaction], T]) -> T:
        answer: T = self.write(task)
        return answer

    def _sealing(self) -> Sealing:
        if self.sealing is None:
            raise BadInput("there is no key for secrets, such as addresses; set `secret_keys`")
        return self.sealing
