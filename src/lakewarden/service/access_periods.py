"""Who could do something in a period of time, and from when to when.

The question is evaluated at each revision that changed the realm in that period, and at each time
in between at which the validity of a statement begins or ends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple

from lakewarden.kernel.errors import LimitExceeded
from lakewarden.service.past_realm import PastRealm
from lakewarden.service.ports import Reading
from lakewarden.service.state import RealmState, at_time

MAX_STATES: Final = 1_000
"""The most states of a realm that one question evaluates."""

UsersOf = Callable[[RealmState, float], Iterable[str]]
"""The users whom a realm allows at a time; the realm is compiled for that time."""


class Period(NamedTuple):
    """A user was allowed from `since` (revision `revision`) until before `until` (by `ended_by`).

    Times are seconds since the epoch, cut to the requested period. `ended_by` is None if the user
    was still allowed at its end; it equals `revision` if only time ended it.
    """

    user: str
    since: float
    until: float
    revision: int
    ended_by: int | None


def access_periods(
    reading: Reading, realm: str, users_of: UsersOf, since: float, until: float
) -> Sequence[Period]:
    """The periods between two times, by user and time; `until` itself is excluded.

    Raises the errors of `PastRealm.read`, and `LimitExceeded` if the realm had more than
    `MAX_STATES` states in that period.
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
    """Each state of the realm with its revision, and the time at which it began."""
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
    """The same revision at each time before `end` at which a statement begins or ends."""
    turn = state.matrix.snapshot.table.end
    while turn < end:
        later = at_time(state, turn)
        yield turn, later
        turn = later.matrix.snapshot.table.end
