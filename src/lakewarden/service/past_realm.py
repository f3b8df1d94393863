"""A realm at earlier revisions, rebuilt from the change feed.

The feed is read from its beginning: if it is pruned or too long, earlier revisions are unknown.
"""

from __future__ import annotations

import math
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from typing import Final

from lakewarden.kernel.errors import BadInput, Conflict, LimitExceeded
from lakewarden.service.cancellation import checked
from lakewarden.service.effect import FeedRow
from lakewarden.service.history import audit_events_of
from lakewarden.service.ports import FeedTruncated, Reading
from lakewarden.service.realm import people_of
from lakewarden.service.replay import Replay, ScopeTables
from lakewarden.service.state import People, RealmState, State
from lakewarden.service.state_builder import compiled_realm

MAX_ROWS: Final = 200_000
"""A longer feed is not replayed for one query."""

_DECIDING: Final = frozenset(
    ("realm", "entity", "relation", "attribute", "owner", "principal", "membership", "statement")
)


@dataclass(frozen=True)
class PastRealm:
    """The feed rows that affect decisions in one realm: its own, and those about people."""

    name: str
    rows: Sequence[FeedRow]

    @staticmethod
    def read(reading: Reading, name: str) -> PastRealm:
        """Raises `Conflict` if the feed was pruned, `LimitExceeded` if it is too long."""
        try:
            feed = reading.feed(0, MAX_ROWS + 1)
        except FeedTruncated as error:
            raise Conflict(f"earlier revisions are not known any more: {error}") from error
        if len(feed) > MAX_ROWS:
            raise LimitExceeded(f"the change feed has more than {MAX_ROWS} rows to replay")
        return PastRealm(name, [row for row in feed if _concerns(name, row)])

    @cached_property
    def revisions(self) -> Sequence[int]:
        """The revisions that changed something, oldest first."""
        return sorted({row.revision for row in self.rows})

    def revision_at(self, reading: Reading, moment: float) -> int:
        """The newest revision at a time (seconds since the epoch); 0 if there was none."""
        realm_at = takewhile(lambda made: made[1] <= moment, self.times(reading))
        return max((revision for revision, _ in realm_at), default=0)

    def times(self, reading: Reading) -> Iterator[tuple[int, float]]:
        """The revisions and their times (seconds since the epoch), oldest first.

        A revision without an audit record gets the time of the one before it. Times never decrease.
        """
        acts = audit_events_of(reading, self.revisions)
        time = -math.inf
        for revision in self.revisions:
            if revision in acts:
                time = max(time, acts[revision]["time"])
            yield revision, time

    def at(self, revision: int, now: float) -> RealmState | None:
        """The realm at that revision, compiled for the time `now`; None if it did not exist."""
        return next(self.states([(revision, now)]))

    def states(self, points: Iterable[tuple[int, float]]) -> Iterator[RealmState | None]:
        """Like `at`, for several revisions and times; the revisions must ascend."""
        replay, taken = Replay(), 0
        for revision, now in points:
            end = bisect_right(self.rows, revision, key=lambda row: row.revision)
            for row in checked(self.rows[taken:end]):
                replay.apply(row)
            taken = end
            yield self._compiled(replay, revision, now)

    def _compiled(self, replay: Replay, revision: int, now: float) -> RealmState | None:
        realm = replay.realms.get(self.name)
        if realm is None:
            return None
        own, shared = (
            replay.scopes.get(scope, ScopeTables())
            for scope in (self.name, people_of(realm.directory))
        )
        people = People(frozenset(shared.principals), frozenset(shared.memberships))
        state = State(revision=revision, people={realm.directory: people})
        return compiled_realm(state, realm, lambda *_: own.facts(), now, revision)


def realm_at(reading: Reading, realm: RealmState, at: int | float, now: float) -> RealmState:
    """The realm at a revision, or at a time (a float), as by `PastRealm.at`.

    Raises `BadInput` if it did not exist then, and the errors of `PastRealm.read`.
    """
    past = PastRealm.read(reading, realm.realm.name)
    revision = past.revision_at(reading, at) if isinstance(at, float) else at
    if not 0 <= revision <= reading.revision:
        raise BadInput(f"expected a revision from 0 to {reading.revision}")
    past_state = past.at(revision, now)
    if past_state is None:
        raise BadInput(f"the realm `{past.name}` did not exist at revision {revision}")
    return past_state


def _concerns(name: str, row: FeedRow) -> bool:
    return row.kind in _DECIDING and (row.scope == name or row.scope.startswith("@"))
