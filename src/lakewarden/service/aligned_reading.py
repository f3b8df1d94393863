"""The store and the state that decides, of one revision.

Documents, such as those that say where files lie, are no part of the state. What is made of both
has to be made of the same moment, or it may allow what neither moment does.
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
    """The store at the revision of the state, or of a newer one.

    Raises `Unavailable` where the store changes again and again meanwhile.
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
    """A realm as it is now, and the store of the same moment.

    Raises `Unknown` for no such realm, and as `aligned_reading` does.
    """
    with aligned_reading(service, service.catch_up()) as (state, reading):
        yield state.realm(realm), reading
