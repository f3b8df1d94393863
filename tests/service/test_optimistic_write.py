"""A write is prepared without the lock, as it would be under it, and committed if it fits."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from itertools import product
from pathlib import Path

import pytest

from lakewarden.kernel.change import EntityAdded, EntityDropped, EntityRenamed
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import Conflict
from lakewarden.service.actor import SYSTEM
from lakewarden.service.cancellation import Cancellation, Cancelled, working
from lakewarden.service.credential import Credential
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.effect import DocumentChanged, Effect, RealmChanged, ValueChanged
from lakewarden.service.optimistic_write import NeedsLock, OptimisticWrite
from lakewarden.service.ports import Reading
from lakewarden.service.realm import Realm
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.store import SqlStore, open_store
from tests.http.lock_spy import LockSpy, spied

REALM = "hub"
TABLE = Entity("dataset", "urn:li:dataset:(urn:li:dataPlatform:hive,t,PROD)")
OTHER = Entity("dataset", "urn:li:dataset:(urn:li:dataPlatform:hive,u,PROD)")
USER = Entity("corpuser", "urn:li:corpuser:ana")
PROFILE = "datasetProfile"


@pytest.fixture
def store(tmp_path: Path) -> Iterator[SqlStore]:
    with open_store(f"sqlite:///{tmp_path / 'lakewarden.db'}") as opened:
        yield opened


@pytest.fixture
def service(store: SqlStore) -> DecisionService:
    found = DecisionService(store)
    found.open()
    found.write(SYSTEM, lambda d: d.change(REALM, RealmChanged(REALM, Realm(REALM, "datahub"))))
    found.write(SYSTEM, lambda d: d.change(REALM, EntityAdded(TABLE), EntityAdded(USER)))
    return found


def document(body: str, about: Entity = TABLE) -> DocumentChanged:
    return DocumentChanged(about, {"body": body})


def note(service: DecisionService, body: str, about: Entity = TABLE) -> None:
    service.write(SYSTEM, lambda transaction: transaction.change(REALM, document(body, about)))


def noted(reading: Reading, about: Entity = TABLE) -> object:
    return reading.documents(REALM, [about]).get(about, {}).get("body")


def kept(service: DecisionService) -> object:
    with service.reading() as reading:
        return noted(reading)


# actions under the lock


def test_a_task_runs_before_the_lock_is_taken(service: DecisionService) -> None:
    with spied(service) as spy:

        def task(transaction: WriteTransaction) -> None:
            assert spy.locked == 0
            transaction.change(REALM, document("x"))

        service.write(SYSTEM, task)
    assert (spy.locked, spy.tasks, spy.changes) == (1, 0, 1)
    assert kept(service) == "x"


def test_what_raises_or_leaves_nothing_takes_no_lock(service: DecisionService) -> None:
    def refused(transaction: WriteTransaction) -> None:
        transaction.change(REALM, document("x"))
        raise Conflict("no")

    with spied(service) as spy:
        with pytest.raises(Conflict):
            service.write(SYSTEM, refused)
        assert (
            service.write(SYSTEM, lambda transaction: transaction.state.revision)
            == service.state.revision
        )
    assert spy.locked == 0


def disturbed(service: DecisionService, times: int, *, large: bool) -> tuple[int, LockSpy]:
    """Writes while others commit so many times, each during a run; the runs outside the lock."""
    other = DecisionService(service.store)
    other.open()
    runs = 0

    def task(transaction: WriteTransaction) -> None:
        nonlocal runs
        there = noted(transaction.store)
        if not spy.tasks:
            runs += 1
            if runs <= times:
                note(other, f"other {runs}")
        transaction.change(REALM, document(f"{there}, mine"))

    with spied(service) as spy:
        service.write(SYSTEM, task, large=large)
    return runs, spy


def test_what_others_committed_meanwhile_is_not_lost(service: DecisionService) -> None:
    runs, spy = disturbed(service, 1, large=False)
    assert kept(service) == "other 1, mine"
    assert (runs, spy.tasks) == (1, 1), "a small write is done again under the lock"


def test_what_is_large_is_worked_out_again_outside(service: DecisionService) -> None:
    runs, spy = disturbed(service, 2, large=True)
    assert kept(service) == "other 2, mine"
    assert (runs, spy.tasks, spy.changes) == (3, 0, 1)


def test_no_write_waits_for_ever(service: DecisionService) -> None:
    runs, spy = disturbed(service, 9, large=True)
    assert kept(service) == "other 3, mine"
    assert (runs, spy.tasks) == (3, 1)


def test_a_write_stops_when_its_caller_is_gone(service: DecisionService) -> None:
    cancellation, done = Cancellation(), []
    before = service.state.revision

    def task(transaction: WriteTransaction) -> None:
        for number in range(10):
            transaction.change(REALM, document(str(number)))
            done.append(number)
            if number == 2:
                cancellation.cancel()

    with spied(service) as spy, working(cancellation), pytest.raises(Cancelled):
        service.write(SYSTEM, task)
    assert done == [0, 1, 2]
    assert spy.locked == 0
    assert service.catch_up().revision == before


def test_nothing_is_committed_for_a_caller_who_left_while_the_lock_was_awaited(
    service: DecisionService,
) -> None:
    cancellation = Cancellation()

    def task(transaction: WriteTransaction) -> None:
        transaction.change(REALM, document("x"))
        cancellation.cancel()

    with working(cancellation), pytest.raises(Cancelled):
        service.write(SYSTEM, task)
    assert kept(service) is None


def test_what_a_credential_decides_is_done_under_the_lock(service: DecisionService) -> None:
    """A credential changes without a new revision: it must not be used twice."""

    def use(transaction: WriteTransaction) -> str:
        found = transaction.store.credential(REALM, USER, "link")
        if found is None:
            return "gone"
        transaction.store.drop_credentials(REALM, USER, "link")
        transaction.change(REALM, document("used"))
        return found.value

    def give(transaction: WriteTransaction) -> None:
        transaction.store.put_credential(REALM, Credential(USER, "link", "word", None))

    with spied(service) as spy:
        service.write(SYSTEM, give)
        assert service.write(SYSTEM, use) == "word"
        assert spy.tasks == 2
        assert service.write(SYSTEM, use) == "gone"
        assert spy.tasks == 2


# a task's reads of its own writes


def agree(
    service: DecisionService,
    effects: Sequence[Effect],
    reads: Iterable[Callable[[Reading], object]],
) -> None:
    """After the effects, reads of the prepared write equal those of a transaction."""
    asked = list(reads)
    with service.store.reading() as reading:
        prepared = OptimisticWrite(reading)
        prepared.apply(REALM, effects)
        found = [read(prepared) for read in asked]
    with service.store.writing() as writing:
        writing.apply(REALM, effects)
        assert found == [read(writing) for read in asked], effects


def test_documents_are_read_as_they_were_changed(service: DecisionService) -> None:
    service.write(SYSTEM, lambda transaction: transaction.change(REALM, EntityAdded(OTHER)))
    note(service, "there")
    note(service, "too", OTHER)
    changed: list[list[Effect]] = [
        [document("new")],
        [document("new"), DocumentChanged(TABLE, None)],
        [EntityDropped(TABLE)],
        [EntityDropped(TABLE), EntityAdded(TABLE), document("new")],
        [DocumentChanged("id", {"of": ("a", "statement")})],
    ]
    for effects in changed:
        agree(service, effects, [lambda of: of.documents(REALM, [TABLE, OTHER, "id"])])


def value(time: int, mark: str, body: str | None) -> ValueChanged:
    return ValueChanged(TABLE, PROFILE, time, mark, None if body is None else {"b": body})


def test_values_are_read_as_they_were_changed(service: DecisionService) -> None:
    stored = [value(time, mark, "old") for time in (10, 20, 30) for mark in "ab"]
    service.write(SYSTEM, lambda transaction: transaction.change(REALM, *stored))
    changed: list[list[ValueChanged]] = [
        [],
        [value(5, "a", "new")],
        [value(20, "a", "new"), value(40, "a", "new")],
        [value(30, "b", None), value(20, "aa", "new"), value(20, "a", None)],
        [value(time, "c", "new") for time in (1, 15, 25, 30, 99)],
        [value(time, mark, None) for time in (10, 20, 30) for mark in "ab"],
    ]
    windows = [(-1, 100), (20, 20), (11, 29)]
    pages = [
        partial(_page, first=first, last=last, limit=limit, skip=skip)
        for (first, last), limit, skip in product(windows, (2, 100), range(9))
    ]
    for effects in changed:
        agree(service, effects, pages)


def _page(of: Reading, *, first: int, last: int, limit: int, skip: int) -> object:
    return of.values(REALM, TABLE, PROFILE, first, last, limit, skip)


def test_what_only_the_store_could_tell_gives_up(service: DecisionService) -> None:
    reads: list[Callable[[Reading], object]] = [
        lambda of: of.secrets(REALM, TABLE),
        lambda of: list(of.documents_of(REALM, "dataset")),
        lambda of: of.ids(REALM, [TABLE]),
    ]
    opaque: list[Callable[[Reading], object]] = [
        lambda of: of.documents(REALM, [TABLE]),
        lambda of: of.values(REALM, TABLE, PROFILE, 0, 1, 1),
    ]
    for effect, tried in (
        (document("x"), reads),
        (EntityRenamed(TABLE, OTHER.name), [*reads, *opaque]),
    ):
        for read in tried:
            with service.store.reading() as reading:
                prepared = OptimisticWrite(reading)
                read(prepared)
                prepared.apply(REALM, [effect])
                with pytest.raises(NeedsLock):
                    read(prepared)
                assert prepared.is_bound
