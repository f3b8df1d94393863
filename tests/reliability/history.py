"""Decides whether a history of a register is linearizable.

A history is what clients observed: each operation with the times of its request and its response.
It is linearizable if every operation can be assigned a time between the two at which it took
place, such that every read returns the last written value. The search is that of Wing and Gong
(1993) with the memory of Lowe (2017): a state that has failed once is not tried again.

A write without a response (its client died, or got an error that the store is down) may have taken
place at any time after its request, or not at all.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple


class Operation(NamedTuple):
    """One operation on one key. `end` is infinite if there was no response."""

    key: str
    client: int
    start: float
    end: float
    is_write: bool
    value: bool


class Violation(NamedTuple):
    """No order explains the history of `key`; `last` is the operation that no order reached."""

    key: str
    last: Operation
    explained: int
    of: int

    def __str__(self) -> str:
        did = "wrote" if self.last.is_write else "read"
        return (
            f"{self.key}: client {self.last.client} {did} {self.last.value}, which no order"
            f" explains ({self.explained} of {self.of} operations could be explained)"
        )


def violations(history: Iterable[Operation], *, initial: bool = False) -> list[Violation]:
    """The violations, for each key separately: registers are independent."""
    found = (_violation(key, of, initial) for key, of in sorted(_by_key(history).items()))
    return [violation for violation in found if violation is not None]


def _by_key(history: Iterable[Operation]) -> Mapping[str, list[Operation]]:
    by_key: dict[str, list[Operation]] = {}
    for operation in history:
        if operation.is_write or operation.end < math.inf:  # a read without response is void
            by_key.setdefault(operation.key, []).append(operation)
    return by_key


def _violation(key: str, given: Sequence[Operation], initial: bool) -> Violation | None:
    operations = sorted(given, key=lambda operation: operation.start)
    answered = sum(1 << i for i, each in enumerate(operations) if each.end < math.inf)
    todo = [_with_reads(operations, 0, 0, initial)]
    seen = {(todo[0][0], initial)}
    best = (0, 0)
    while todo:
        done, low, _ = todo.pop()
        if done & answered == answered:
            return None
        best = max(best, (low, done))
        for index in _next(operations, done, low):
            operation = operations[index]
            if not operation.is_write:
                continue  # it read another value than the current one
            state = _with_reads(operations, done | 1 << index, low, operation.value)
            if (state[0], state[2]) not in seen:
                seen.add((state[0], state[2]))
                todo.append(state)
    low, done = best
    return Violation(key, operations[_first_to_end(operations, done)], done.bit_count(), len(given))


def _with_reads(
    operations: Sequence[Operation], done: int, low: int, value: bool
) -> tuple[int, int, bool]:
    """Adds all reads of the value that can come next: they change nothing, so none is too early."""
    while True:
        while low < len(operations) and done >> low & 1:
            low += 1
        reads = [
            index
            for index in _next(operations, done, low)
            if not operations[index].is_write and operations[index].value == value
        ]
        if not reads:
            return done, low, value
        for index in reads:
            done |= 1 << index


def _next(operations: Sequence[Operation], done: int, low: int) -> list[int]:
    """The operations that may come next: requested before any other remaining one was answered."""
    found, first_end = [], math.inf
    for index in range(low, len(operations)):
        if operations[index].start > first_end:
            break
        if not done >> index & 1:
            found.append(index)
            first_end = min(first_end, operations[index].end)
    return found


def _first_to_end(operations: Sequence[Operation], done: int) -> int:
    left = [index for index in range(len(operations)) if not done >> index & 1]
    return min(left, key=lambda index: operations[index].end)
