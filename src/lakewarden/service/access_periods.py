"""Who could do something in a stretch of time, and from when to when.

The question is asked again of each revision that changed the realm in that time, and where
statements begin or cease to be valid in between.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from lakewarden.kernel.errors import LimitExceeded
from lakewarden.service.past_realm import PastRealm
from lakewarden.service.ports import Reading
from lakewarden.service.state import RealmState, moved

MAX_STATES: Final = 1_000
"""How many states of a realm one question is asked of."""

UsersOf = Callable[[RealmState, float], Iterable[str]]
"""The users for whom a realm says yes at a moment, for which it is compiled."""


class Period(NamedTuple):
    """A user could from `since` (with `revision`) until before `until` (ended by `ended_by`).

    Moments are seconds since the epoch, cut to the time that was asked about. `ended_by` is None
    where the user still could at its end; it equals `revision` where only time ended it.
    """

    user: str
    since: float
    until: float
    revision: int
    ended_by: int | None


def access_periods(
    reading: Reading, realm: str, users_of: UsersOf, since: float, until: float
) -> Sequence[Period]:
    """The periods between two moments, by user and time; `until` itself is not asked about.

    Raises what `PastRealm.read` raises, and `LimitExceeded` where the realm had more than
    `MAX_STATES` states in that time.
    """
    past = PastRealm.read(reading, realm)
    begun: dict[str, tuple[float, int]] = {}
    ended: list[Period] = []
    before: int | None = None
    for count, (revision, moment, state) in enumerate(_states(past, reading, since, until)):
        if count >= MAX_STATES:
            raise LimitExceeded(
                f"the realm had more than {MAX_STATES} states in that time; ask about a shorter one"
            )
        users = set() if state is None else {*users_of(state, moment)}
        for user in begun.keys() - users:
            first, of = begun.pop(user)
            ended.append(Period(user, first, moment, of, of if revision == before else revision))
        for user in users - begun.keys():
            begun[user] = (moment, revision)
        before = revision
    ended += [Period(user, first, until, of, None) for user, (first, of) in begun.items()]
    return sorted(ended)


def _states(
    past: PastRealm, reading: Reading, since: float, until: float
) -> Iterator[tuple[int, float, RealmState | None]]:
    """Each state of the realm with its revision, and the moment from which on it was so."""
    made = [*past.times(reading)]
    before = [revision for revision, time in made if time <= since]
    points = [(before[-1] if before else 0, since)]
    points += [point for point in made if since < point[1] < until]
    ends = [moment for _, moment in points[1:]] + [until]
    for (revision, moment), end, state in zip(points, ends, past.states(points), strict=True):
        yield revision, moment, state
        if state is not None:
            for turn, later in _until(state, end):
                yield revision, turn, later


def _until(state: RealmState, end: float) -> Iterator[tuple[float, RealmState]]:
    """The same revision at each moment before `end` at which statements begin or cease to count."""
    turn = state.matrix.snapshot.table.end
    while turn < end:
        later = moved(state, turn)
        yield turn, later
        turn = later.matrix.snapshot.table.end
