import asyncio
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from prometheus_client import REGISTRY

from lakewarden.app.freshness import Consistency, Freshness, read_consistency
from lakewarden.kernel.change import PrincipalChanged
from lakewarden.kernel.errors import BadInput, Unavailable
from lakewarden.kernel.principal import Principal
from lakewarden.service.actor import SYSTEM
from lakewarden.service.decision_service import DecisionService, StaleRevision
from lakewarden.store import open_store
from lakewarden.store.compatibility import IncompatibleSchema
from lakewarden.store.store import SqlStore


class Cut(SqlStore):
    """A store whose connection can be cut, and whose responses can be delayed."""

    def __init__(self, store: SqlStore) -> None:
        super().__init__(store.engine)
        self.is_cut = False
        self.is_outgrown = False
        self.questions = 0
        self.answers = 0
        self.may_answer = threading.Event()
        self.may_answer.set()

    def revision(self) -> int:
        self.questions += 1
        if self.is_cut:
            raise Unavailable("the store does not answer")
        if self.is_outgrown:
            raise IncompatibleSchema("the store requires a newer release")
        found = super().revision()
        self.answers += 1
        assert self.may_answer.wait(10)
        return found


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Cut]:
    with open_store(f"sqlite:///{tmp_path}/store") as made:
        yield Cut(made)


@pytest.fixture
def executor() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(1) as made:
        yield made


def _service(store: Cut) -> DecisionService:
    service = DecisionService(store)
    service.open()
    return service


def _write(store: SqlStore, name: str) -> int:
    """A write by another process."""
    service = DecisionService(store)
    service.open()
    person = PrincipalChanged(Principal("user", name), True)
    service.write(SYSTEM, lambda transaction: transaction.change("@main", person))
    return service.state.revision


def test_what_somebody_else_wrote_before_is_seen(store: Cut, executor: ThreadPoolExecutor) -> None:
    freshness = Freshness(_service(store), executor)
    for name in ("a", "b", "c"):
        written = _write(store, name)
        assert asyncio.run(freshness.state()).state.revision == written


def test_requests_that_wait_together_cost_one_question(
    store: Cut, executor: ThreadPoolExecutor
) -> None:
    freshness = Freshness(_service(store), executor)

    async def together() -> None:
        await asyncio.gather(*(freshness.state() for _ in range(100)))

    before, counted = store.questions, _counted()
    asyncio.run(together())
    assert store.questions - before == 1
    assert _counted() - counted == 1


def _counted() -> float:
    return REGISTRY.get_sample_value("lakewarden_freshness_questions_total") or 0.0


def test_a_request_that_comes_during_a_question_waits_for_the_next(
    store: Cut, executor: ThreadPoolExecutor
) -> None:
    freshness = Freshness(_service(store), executor)

    async def run() -> tuple[int, int, int]:
        store.may_answer.clear()
        early = asyncio.create_task(freshness.state())
        while store.answers == 0:
            await asyncio.sleep(0.001)
        # The query already has its result, which cannot include a write from now on.
        written = await asyncio.to_thread(_write_held, store)
        late = asyncio.create_task(freshness.state())
        await asyncio.sleep(0.01)
        store.may_answer.set()
        return written, (await early).state.revision, (await late).state.revision

    written, early, late = asyncio.run(run())
    assert early < written
    assert late == written


def _write_held(store: Cut) -> int:
    other = SqlStore(store.engine)
    return _write(other, "late")


def test_who_accepts_an_age_is_answered_without_a_question_while_the_proof_is_young(
    store: Cut, executor: ThreadPoolExecutor
) -> None:
    at = [100.0]
    freshness = Freshness(_service(store), executor, clock=lambda: at[0])
    freshness.opened()
    before = store.questions
    _write(store, "a")
    at[0] += 0.9
    assert asyncio.run(freshness.state(Consistency(age=1.0))).state.revision == 0
    assert store.questions == before
    at[0] += 0.2
    assert asyncio.run(freshness.state(Consistency(age=1.0))).state.revision == 1


def test_who_accepts_an_age_and_names_a_revision_gets_that_revision(
    store: Cut, executor: ThreadPoolExecutor
) -> None:
    freshness = Freshness(_service(store), executor)
    freshness.opened()
    written = _write(store, "a")
    found = asyncio.run(freshness.state(Consistency(at_least=written, age=60.0)))
    assert found.state.revision == written


def test_a_revision_that_never_comes_is_refused_after_the_wait(
    store: Cut, executor: ThreadPoolExecutor
) -> None:
    freshness = Freshness(_service(store), executor, wait_seconds=0.1)
    with pytest.raises(StaleRevision):
        asyncio.run(freshness.state(Consistency(at_least=1)))


def test_a_revision_that_comes_within_the_wait_is_waited_for(
    store: Cut, executor: ThreadPoolExecutor
) -> None:
    freshness = Freshness(_service(store), executor, wait_seconds=10.0)

    async def run() -> int:
        waiting = asyncio.create_task(freshness.state(Consistency(at_least=1)))
        await asyncio.sleep(0.05)
        await asyncio.to_thread(_write, store, "a")
        return (await waiting).state.revision

    assert asyncio.run(run()) == 1


def test_while_the_store_is_away_the_last_state_answers_for_a_while_and_says_so(
    store: Cut, executor: ThreadPoolExecutor
) -> None:
    at = [100.0]
    freshness = Freshness(_service(store), executor, stale_seconds=5.0, clock=lambda: at[0])
    freshness.opened()
    assert asyncio.run(freshness.state()).stale is None
    store.is_cut = True
    at[0] += 5.0
    assert asyncio.run(freshness.state()).stale == 5.0
    at[0] += 0.1
    with pytest.raises(Unavailable):
        asyncio.run(freshness.state())
    store.is_cut = False
    assert asyncio.run(freshness.state()).stale is None


def test_a_release_that_is_shut_out_answers_nothing_from_before(
    store: Cut, executor: ThreadPoolExecutor
) -> None:
    freshness = Freshness(_service(store), executor, stale_seconds=600.0)
    freshness.opened()
    store.is_outgrown = True
    with pytest.raises(IncompatibleSchema):
        asyncio.run(freshness.state())


def test_while_the_store_is_away_a_newer_revision_is_not_made_up(
    store: Cut, executor: ThreadPoolExecutor
) -> None:
    freshness = Freshness(_service(store), executor)
    freshness.opened()
    store.is_cut = True
    with pytest.raises(Unavailable):
        asyncio.run(freshness.state(Consistency(at_least=1)))


def test_a_store_that_does_not_answer_in_time_is_away(
    store: Cut, executor: ThreadPoolExecutor
) -> None:
    freshness = Freshness(_service(store), executor, wait_seconds=0.05, patience_seconds=0.2)

    async def run() -> float | None:
        store.may_answer.clear()
        try:
            freshness.opened()
            stale = (await freshness.state()).stale
            freshness._proven = -float("inf")
            with pytest.raises(Unavailable):
                await freshness.state()
            return stale
        finally:
            store.may_answer.set()

    assert asyncio.run(run()) is not None


def test_one_that_gives_up_does_not_take_the_answer_from_the_others(
    store: Cut, executor: ThreadPoolExecutor
) -> None:
    freshness = Freshness(_service(store), executor)

    async def run() -> int:
        store.may_answer.clear()
        first, second = (asyncio.create_task(freshness.state()) for _ in range(2))
        await asyncio.sleep(0.01)
        first.cancel()
        await asyncio.sleep(0.01)
        store.may_answer.set()
        return (await second).state.revision

    assert asyncio.run(run()) == 0


@pytest.mark.parametrize("text", ["", "x", "-1", "+1", "1.0", "٣", "9" * 19, " 1"])
def test_a_revision_is_a_plain_number(text: str) -> None:
    with pytest.raises(BadInput, match="lakewarden-at-least"):
        read_consistency(text, None)


@pytest.mark.parametrize("text", ["", "x", "-1", "nan", "inf", "1e3", "1.0.0", ".", "3601"])
def test_an_age_is_fresh_or_a_plain_number_of_seconds(text: str) -> None:
    with pytest.raises(BadInput, match="lakewarden-consistency"):
        read_consistency(None, text)


def test_what_is_asked_for_is_read() -> None:
    assert read_consistency(None, None) == Consistency()
    assert read_consistency("12", "fresh") == Consistency(12)
    assert read_consistency(None, "2.5") == Consistency(0, 2.5)
