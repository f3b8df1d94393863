"""Fifty clients write and read concurrently on two planes: all are served, nothing is lost."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from tests.reliability import whole
from tests.reliability.estate import add_tables, build, check, plane_of, put, table
from tests.service.test_state import same

WRITERS = 25
READERS = 25


@pytest.mark.parametrize("writes", [1, pytest.param(4, marks=pytest.mark.nightly)])
def test_fifty_writers_and_readers_at_once(url: str, writes: int) -> None:
    together = Barrier(WRITERS + READERS)
    with plane_of(url) as one, plane_of(url) as other:
        build(one)
        services = (one, other)

        def write(number: int) -> None:
            together.wait()
            for each in range(writes):
                key = table(f"{number}_{each}")
                add_tables(services[number % 2], key)
                put(services[number % 2], key, allowed=True)
                assert check(services[(number + 1) % 2], key)  # the other one sees it

        def read(number: int) -> None:
            together.wait()
            allowed: set[str] = set()
            for each in range(writes * 10):
                key = table(f"{(number + each) % WRITERS}_{each % writes}")
                answer = check(services[number % 2], key)
                assert answer or key.name not in allowed  # once allowed, never denied again
                allowed |= {key.name} if answer else set()

        with ThreadPoolExecutor(WRITERS + READERS) as pool:
            writing = [pool.submit(write, number) for number in range(WRITERS)]
            reading = [pool.submit(read, number) for number in range(READERS)]
            for each in (*writing, *reading):
                each.result()
        assert one.catch_up().revision == 1 + WRITERS * writes * 2
        assert same(one.state, other.catch_up())
        assert whole.faults(one.store) == []  # type: ignore[arg-type]
