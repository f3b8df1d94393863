"""Threads are shared between callers: nobody gets them all, and the queue is limited."""

import asyncio
import threading
from collections.abc import Callable, Coroutine, Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from lakewarden.app.fair_queue import FairQueue, TooManyWaiting

PATIENCE = 60


class Held:
    """Jobs that run until they are released, and those that ran so far."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self._gates: dict[str, threading.Event] = {}

    def work(self, name: str) -> Callable[[], str]:
        gate = self._gates[name] = threading.Event()

        def run() -> str:
            self.begun.append(name)
            assert gate.wait(PATIENCE)
            return name

        return run

    def let_go(self, *names: str) -> None:
        for name in names:
            self._gates[name].set()

    async def until(self, count: int) -> list[str]:
        while len(self.begun) < count:
            await asyncio.sleep(0.001)
        return list(self.begun)


@pytest.fixture
def held() -> Iterator[Held]:
    made = Held()
    yield made
    made.let_go(*made._gates)


def _run(test: Callable[[FairQueue[str]], Coroutine[object, object, None]]) -> None:
    async def run() -> None:
        with ThreadPoolExecutor(4) as executor:
            queue: FairQueue[str] = FairQueue(
                executor, threads=4, share=2, waiting=6, caller_waiting=4
            )
            await asyncio.wait_for(test(queue), PATIENCE)

    asyncio.run(run())


def test_a_caller_has_its_share_and_no_more_and_others_do_not_wait_for_it(held: Held) -> None:
    async def test(queue: FairQueue[str]) -> None:
        many = [queue.submit("eve", held.work(f"eve{at}")) for at in range(6)]
        ana = queue.submit("ana", held.work("ana"))
        assert sorted(await held.until(3)) == ["ana", "eve0", "eve1"]
        assert queue.waiting == 4
        held.let_go("ana")
        assert await ana == "ana"
        assert len(held.begun) == 3  # a thread is free, but not for eve
        held.let_go(*(f"eve{at}" for at in range(6)))
        assert await asyncio.gather(*many) == [f"eve{at}" for at in range(6)]
        assert queue.waiting == 0

    _run(test)


def test_callers_that_wait_take_turns(held: Held) -> None:
    async def test(queue: FairQueue[str]) -> None:
        work = [queue.submit(name[0], held.work(name)) for name in ("a1", "a2", "b1", "b2")]
        await held.until(4)
        work += [queue.submit(name[0], held.work(name)) for name in ("a3", "a4", "a5", "c1")]
        for done in ("a1", "b1", "a2"):
            held.let_go(done)
            await held.until(len(held.begun) + 1)
        assert held.begun[4:] == ["a3", "c1", "a4"]
        held.let_go("b2", "a3", "a4", "a5", "c1")
        await asyncio.gather(*work)

    _run(test)


def test_what_waits_is_bounded_for_each_caller_and_for_all(held: Held) -> None:
    async def test(queue: FairQueue[str]) -> None:
        work = [queue.submit("eve", held.work(f"eve{at}")) for at in range(6)]
        with pytest.raises(TooManyWaiting):
            _ = queue.submit("eve", held.work("one too many"))
        work += [queue.submit("bob", held.work(f"bob{at}")) for at in range(4)]
        assert queue.waiting == 6
        with pytest.raises(TooManyWaiting):
            _ = queue.submit("cyd", held.work("nobody else"))
        held.let_go(*held._gates)
        await asyncio.gather(*work)
        assert "one too many" not in held.begun

    _run(test)


def test_what_is_given_up_before_its_turn_is_not_done(held: Held) -> None:
    async def test(queue: FairQueue[str]) -> None:
        work = [queue.submit("eve", held.work(f"eve{at}")) for at in range(4)]
        await held.until(2)
        work[2].cancel()
        await asyncio.sleep(0)
        assert queue.waiting == 1
        held.let_go("eve0", "eve1", "eve3")
        assert await work[3] == "eve3"
        assert "eve2" not in held.begun

    _run(test)


def test_what_nobody_waits_for_any_more_has_its_thread_until_it_ends(held: Held) -> None:
    async def test(queue: FairQueue[str]) -> None:
        work = [queue.submit("eve", held.work(f"eve{at}")) for at in range(3)]
        await held.until(2)
        work[0].cancel()
        work[1].cancel()
        await asyncio.sleep(0.01)
        assert held.begun == ["eve0", "eve1"]
        held.let_go("eve0", "eve2")
        assert await work[2] == "eve2"
        held.let_go("eve1")

    _run(test)


def test_an_error_is_its_caller_s(held: Held) -> None:
    async def test(queue: FairQueue[str]) -> None:
        def fail() -> str:
            raise ValueError("mine")

        failing = queue.submit("eve", fail)
        with pytest.raises(ValueError, match="mine"):
            await failing
        assert await queue.submit("eve", lambda: "next") == "next"

    _run(test)
