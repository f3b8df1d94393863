"""A realm as it was at earlier revisions, rebuilt from the change feed.

The feed is read from its beginning: once it is pruned, or too long, earlier revisions are unknown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile
from typing import Final

from lakewarden.kernel.errors import Conflict, LimitExceeded
from lakewarden.service.cancellation import checked
from lakewarden.service.effect import FeedRow
from lakewarden.service.ports import FeedGone, Reading
from lakewarden.service.realm import people_of
from lakewarden.service.replay import Replay, ScopeTables
from lakewarden.service.state import People, RealmState, State, compiled_realm

MAX_ROWS: Final = 200_000
"""A longer feed than this is not replayed for one question."""

_DECIDING: Final = frozenset(
    ("realm", "entity", "relation", "attribute", "owner", "principal", "membership", "statement")
)


@dataclass(frozen=True)
class PastRealm:
    """The rows of the feed that decide in one realm: its own, and those about people."""

    name: str
    rows: Sequence[FeedRow]

    @staticmethod
    def read(reading: Reading, name: str) -> PastRealm:
        """Raises `Conflict` where the feed was pruned, `LimitExceeded` where it is too long."""
        try:
            feed = reading.feed(0, MAX_ROWS + 1)
        except FeedGone as error:
            raise Conflict(f"earlier revisions are not known any more: {error}") from error
        if len(feed) > MAX_ROWS:
            raise LimitExceeded(f"the change feed has more than {MAX_ROWS} rows to replay")
        return PastRealm(name, [row for row in feed if _concerns(name, row)])

    @cached_property
    def revisions(self) -> Sequence[int]:
        """The revisions that changed something, oldest first."""
        return sorted({row.revision for row in self.rows})

    def at(self, revision: int, now: float) -> RealmState | None:
        """The realm as it was then, compiled for the moment `now`; None where it did not exist."""
        replay = Replay()
        for row in checked(takewhile(lambda row: row.revision <= revision, self.rows)):
            replay.take(row)
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


def _concerns(name: str, row: FeedRow) -> bool:
    return row.kind in _DECIDING and (row.scope == name or row.scope.startswith("@"))
