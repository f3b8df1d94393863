"""The decision service of one process: the newest state, and the only way to write.

Rule for every read: the state is proven to be the newest, or brought up to date before anything is
decided. Rule for every write: it is prepared on the newest state without blocking anyone. It is
committed under the store's lock if nothing was committed meanwhile; otherwise it is prepared again.
When it returns, this process has seen it. A refused write never takes the lock.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Final, Generic, NamedTuple, Protocol, TypeVar

from lakewarden.kernel.errors import BadInput, Conflict, LimitExceeded, Unknown, WardenError
from lakewarden.service import push_outbox
from lakewarden.service.actor import Actor
from lakewarden.service.audit import Head
from lakewarden.service.audit_reading import contains
from lakewarden.service.cancellation import shielded
from lakewarden.service.effect import decode
from lakewarden.service.optimistic_write import NeedsLock, OptimisticWrite
from lakewarden.service.ports import Clock, FeedTruncated, Reading, Store
from lakewarden.service.state import State
from lakewarden.service.state_builder import NO_STARTS, Scoped, Start, after_effects, load
from lakewarden.service.steps import step
from lakewarden.service.write_transaction import WriteTransaction

T = TypeVar("T")

MANY = 50_000
"""A process that is behind by more effects reloads everything, which is faster."""

_TRIES: Final = 3
"""How often a large write is prepared before it runs under the lock."""


class SharedRevision(Protocol):
    """The newest revision, visible to all processes of a host without a query to the store."""

    @property
    def cells(self) -> Sequence[int]:
        """The first cell is the revision. The sequence stays the same object."""
        ...

    def raise_to(self, revision: int) -> None:
        """Raises it to at least this revision."""
        ...


class StaleRevision(WardenError):
    """The requested revision is unknown: it is newer than everything stored."""


class _PreparedWrite(NamedTuple, Generic[T]):
    """A prepared write: its transaction, its effects on the store, and the result of its job."""

    transaction: WriteTransaction
    store: OptimisticWrite
    result: T


class DecisionService:
    """One process's view of a store. Every method but `state` and `current` may block.

    With a `shared_revision`, which all processes that write to the store must share, a read needs
    no query to prove that it is up to date.
    """

    def __init__(
        self,
        store: Store,
        *,
        clock: Clock = time.time,
        shared_revision: SharedRevision | None = None,
    ) -> None:
        self.store = store
        self.clock = clock
        self._shared_revision = shared_revision
        # COST: every request reads this; reading a cell needs no call.
        self._shared_cells = None if shared_revision is None else shared_revision.cells
        self._state = State()
        self._origin = 0
        self._audit_head = Head()
        self._advancing = threading.Lock()
        self._writing = threading.Lock()

    @property
    def state(self) -> State:
        """The newest state that this process knows."""
        return self._state

    def open(self, starts: Mapping[str, Start] = NO_STARTS) -> None:
        """Loads everything in the store, some realms by `starts`. Raises `Unavailable`."""
        with self._advancing, self.store.reading() as reading:
            self._origin = self.store.origin
            self._adopt(load(reading, self.clock(), starts), reading.audit_head)

    def current(self, now: float) -> State | None:
        """The state, if it is proven to be the newest and compiled for `now`; without I/O."""
        state = self._state
        if (
            self._shared_cells is not None
            and self._shared_cells[0] == state.revision
            and state.covers(now)
        ):
            return state
        return None

    def catch_up(self, at_least: int = 0) -> State:
        """The newest state, for the present time.

        Raises `StaleRevision` if it is older than `at_least`, and `Unavailable`.
        """
        newest = 0 if self._shared_cells is None else self._shared_cells[0]
        if self._shared_cells is None or newest < at_least:
            # A writer raises the shared revision after its commit; readers of the store may be
            # ahead of it.
            newest = self.store.revision()
        state = self._state
        if newest != state.revision or self._may_differ() or not state.covers(self.clock()):
            # Catching up serves all requests, so cancelling this one must not stop it.
            with self._advancing, shielded():
                if newest != self._state.revision or self._may_differ():
                    with self.store.reading() as reading:
                        self._adopt(self._with_newer_writes(reading), reading.audit_head)
                self._state = self._state.at(self.clock())
                state = self._state
        if state.revision < at_least:
            raise StaleRevision(
                f"revision `{at_least}` is unknown; the newest is `{state.revision}`"
            )
        return state

    def _may_differ(self) -> bool:
        """Whether the store may have other data than the known ones, even at their revision."""
        return self.store.origin != self._origin or self.store.audit_head != self._audit_head

    def _is_other(self, reading: Reading) -> bool:
        """Whether the store was replaced, or lost writes: equal revisions prove nothing then.

        The snapshot is not older than the state.
        """
        if self.store.origin != self._origin:
            return True
        known = self._audit_head
        return known.seq > 0 and known != reading.audit_head and not contains(reading, known)

    def _with_newer_writes(self, reading: Reading) -> State:
        with step("catch up"):
            return self._after(reading)

    def _after(self, reading: Reading) -> State:
        state = self._state
        if self._is_other(reading) or reading.revision < state.revision:
            self._origin = self.store.origin
            return load(reading, self.clock())
        if reading.revision == state.revision:
            return state
        try:
            rows = reading.feed(state.revision, MANY + 1)
        except FeedTruncated:
            return load(reading, self.clock())
        if len(rows) > MANY:
            return load(reading, self.clock())
        declared = {row.scope for row in rows if row.kind == "realm"}
        effects: list[Scoped] = []
        for row in rows:
            realm = state.realms.get(row.scope)
            # A statement of a realm whose model differs from the one known here.
            if row.kind == "statement" and (realm is None or row.scope in declared):
                return load(reading, self.clock())
            effects.append((row.scope, decode(row, None if realm is None else realm.system)))
        try:
            return after_effects(state, effects, reading.facts, self.clock(), reading.revision)
        except (BadInput, Conflict, LimitExceeded, Unknown):
            # It is stored, so it must be loaded: failing here would block all further requests.
            return load(reading, self.clock())

    def write(
        self,
        actor: Actor,
        job: Callable[[WriteTransaction], T],
        *,
        late: bool = False,
        large: bool = False,
    ) -> T:
        """Runs the job, commits under the store's lock, and returns the job's result.

        A job that raises changes nothing and takes no lock. It may run more than once, so its only
        effects must be those on its transaction. A `large` job is prepared again outside the lock
        if others committed meanwhile. A job stops when its request is cancelled; a commit that has
        begun is finished. With `late`, for long imports, the lock is taken only at the end, the job
        does not see its own changes on its transaction, and it is not stopped.
        """
        if late:
            with shielded():
                return self._written(actor, job, late=True)
        for _ in range(_TRIES if large else 1):
            prepared = self._prepared(actor, job)
            if prepared is None:
                break
            if self._committed(prepared):
                return prepared.result
        with self._writing:
            return self._written(actor, job, late=False)

    def _prepared(
        self, actor: Actor, job: Callable[[WriteTransaction], T]
    ) -> _PreparedWrite[T] | None:
        """Runs the job on the newest state; returns None if it must run under the lock."""
        for _ in range(_TRIES):
            with self.store.reading() as reading:
                state = self._newest(reading)
                if state.revision == reading.revision:
                    return self._attempt(actor, job, state, reading)
        return None

    def _attempt(
        self,
        actor: Actor,
        job: Callable[[WriteTransaction], T],
        state: State,
        reading: Reading,
    ) -> _PreparedWrite[T] | None:
        store = OptimisticWrite(reading)
        transaction = WriteTransaction(actor, state, store, self.clock())
        try:
            followed = push_outbox.followed(store, state)
            result = job(transaction)
            transaction.raise_failure()
            push_outbox.enqueue_changes(transaction, followed)
        except NeedsLock:
            return None
        return None if store.is_bound else _PreparedWrite(transaction, store, result)

    def _committed(self, prepared: _PreparedWrite[T]) -> bool:
        """Commits a prepared write; False: others committed meanwhile, and nothing was written."""
        transaction, store, _ = prepared
        if not store.changes and not transaction.events:
            return True
        with self._writing, shielded():
            with self.store.writing() as writing:
                is_old = store.revision != writing.revision
                if store.changes and (is_old or self._is_other(writing)):
                    return False
                store.replay(writing)
                revision = writing.commit(transaction.events)
            if store.changes:
                self._advance(transaction.state, revision, writing.audit_head)
        self._raise(revision)
        return True

    def _written(self, actor: Actor, job: Callable[[WriteTransaction], T], *, late: bool) -> T:
        # The reads of a late-locking write are not a consistent snapshot, so it yields no state.
        state = self.catch_up() if late else None
        with self.store.writing(late=late) as writing:
            if state is None:
                state = self._newest(writing, locked=True)
            transaction = WriteTransaction(actor, state, writing, self.clock(), late=late)
            followed = push_outbox.followed(writing, state)
            result = job(transaction)
            transaction.raise_failure()
            push_outbox.enqueue_changes(transaction, followed)
            with shielded():
                revision = writing.commit(transaction.events)
        if late:
            self._raise(revision)
            self.catch_up()
            return result
        self._advance(transaction.state, revision, writing.audit_head)
        self._raise(revision)
        return result

    def _advance(self, state: State, revision: int, audit_head: Head) -> None:
        """Adopts the committed state at its revision, unless a later one is already adopted."""
        with self._advancing:
            if self._state.revision < revision:
                self._adopt(state, audit_head)

    def _newest(self, reading: Reading, *, locked: bool = False) -> State:
        """The newest state for the present: that of `reading`, or a newer one if not `locked`."""
        with self._advancing:
            revision = self._state.revision
            is_newer = reading.revision > revision
            differs = reading.revision != revision or reading.audit_head != self._audit_head
            if is_newer or (locked and differs) or self.store.origin != self._origin:
                self._adopt(self._with_newer_writes(reading), reading.audit_head)
            self._state = self._state.at(self.clock())
            return self._state

    def _adopt(self, state: State, audit_head: Head) -> None:
        """Makes this state, of a store with this end of its trail, current; only in `_advancing`.

        The shared revision is raised first: what one process has shown, no other process may miss
        afterwards, even if the writer was slow to raise it or died before.
        """
        self._raise(state.revision)
        self._state, self._audit_head = state, audit_head

    def _raise(self, revision: int) -> None:
        if self._shared_revision is not None:
            self._shared_revision.raise_to(revision)

    def reading(self) -> AbstractContextManager[Reading]:
        """A consistent snapshot of the store."""
        return self.store.reading()
