"""The store and the state, at the same revision.

Documents, such as those with file locations, are not part of the state. A result from both must be
of the same moment, or it may allow what neither moment allows.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from lakewarden.kernel.errors import Unavailable
from lakewarden.service.decision_service import DecisionService
from lakewarden.service.ports import Reading
from lakewarden.service.state import RealmState, State

_TRIES: Final = 3


@contextmanager
def aligned_reading(service: DecisionService, state: State) -> Iterator[tuple[State, Reading]]:
    """The store at the revision of the state, or both at a newer one.

    Raises `Unavailable` if the store keeps changing meanwhile.
    """
    for _ in range(_TRIES):
        with service.reading() as reading:
            if reading.revision == state.revision:
                yield state, reading
                return
        state = service.catch_up()
    raise Unavailable("the store changed while it was read; try again")


@contextmanager
def reading_of(service: DecisionService, realm: str) -> Iterator[tuple[RealmState, Reading]]:
    """The current realm, and the store at the same moment.

    Raises `Unknown` if there is no such realm, and the errors of `aligned_reading`.
    """
    with aligned_reading(service, service.catch_up()) as (state, reading):
        yield state.realm(realm), reading
