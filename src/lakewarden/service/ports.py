"""The interfaces that the use cases require: the store, the newest revision, the clock."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import NamedTuple, Protocol

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.relations import Facts
from lakewarden.service.audit import AuditEvent, AuditRow, Head
from lakewarden.service.credential import Count, Credential
from lakewarden.service.effect import (
    About,
    Document,
    Effect,
    FeedRow,
    ValuePlace,
    ValueRow,
    ValueSize,
)
from lakewarden.service.link import Link
from lakewarden.service.realm import Realm, Token
from lakewarden.service.search_terms import Term
from lakewarden.service.system import System
from lakewarden.service.write_health import WriteHealth

Clock = Callable[[], float]
"""Seconds since the epoch."""


class Reading(Protocol):
    """A consistent snapshot of the store: everything read through it is of one revision.

    Scopes are realms by name and directories as `@name`.
    """

    revision: int
    """The newest revision in the snapshot."""

    audit_head: Head
    """The end of the audit trail in the snapshot."""

    def realms(self) -> Sequence[Realm]:
        """All realms, ordered by name."""
        ...

    def directories(self) -> Sequence[str]:
        """The directories that ever had people or tokens, ordered by name."""
        ...

    def facts(self, scope: str, system: System | None) -> Facts:
        """All rows of a scope; a directory has principals and memberships only."""
        ...

    def people(self, scope: str) -> Facts:
        """The principals and memberships of a scope, without other facts."""
        ...

    def tokens(self) -> Sequence[Token]:
        """All tokens that were not revoked, including expired ones."""
        ...

    def links(self) -> Iterator[tuple[Link, str]]:
        """All links, each with its keeper, unordered."""
        ...

    def feed(self, after: int, limit: int | None = None) -> Sequence[FeedRow]:
        """The change feed after a revision, in order; at most `limit` rows.

        Raises `FeedTruncated` if the feed no longer reaches back that far.
        """
        ...

    def documents(self, scope: str, about: Sequence[About]) -> Mapping[About, Document]:
        """The documents of these entities and statements."""
        ...

    def documents_of(self, scope: str, type: str) -> Iterator[tuple[Entity, Document]]:
        """The documents of all entities of a type, ordered by the bytes of their names."""
        ...

    def values(
        self,
        scope: str,
        entity: Entity,
        aspect: str,
        first: int,
        last: int,
        limit: int,
        skip: int = 0,
    ) -> Sequence[ValueRow]:
        """The values in time of an aspect from `first` to `last`, the newest first."""
        ...

    def value_counts(self, scope: str, entity: Entity) -> Mapping[str, int]:
        """The number of values in time of each aspect of an entity."""
        ...

    def values_of(
        self, scope: str, type: str, aspect: str, first: int, last: int, after: ValuePlace | None
    ) -> Iterator[ValueRow]:
        """The values of all entities of a type, newest first, those of one time ordered by name."""
        ...

    def value_sizes(self, scope: str) -> Sequence[ValueSize]:
        """The stored sizes of the time-series aspects of all types, sorted."""
        ...

    def document_totals(self, scope: str) -> tuple[int, int]:
        """The number of documents and values in time, and their total bytes of JSON."""
        ...

    def secrets(self, scope: str, entity: Entity) -> Mapping[str, str]:
        """The sealed secrets of an entity, by key."""
        ...

    def credential(self, scope: str, entity: Entity, kind: str) -> Credential | None:
        """The credential of that kind, even if expired."""
        ...

    def credentials(self, scope: str, kind: str) -> Sequence[Credential]:
        """All credentials of a kind, ordered by their entities' names."""
        ...

    def with_credential(
        self, scope: str, kind: str, entities: Sequence[Entity]
    ) -> frozenset[Entity]:
        """The entities among these that have a credential of that kind."""
        ...

    def ids(self, scope: str, entities: Sequence[Entity]) -> Mapping[Entity, int]:
        """The ids of stored entities: 64 bits, never reused, unchanged by a rename."""
        ...

    def matching_ids(self, scope: str, clauses: Sequence[Sequence[Term]]) -> Sequence[int]:
        """The ids of entities that have at least one term of every clause, unordered.

        A clause without terms matches nothing. Ids may occur twice, and may include ids of no
        entity of the scope.
        """
        ...

    def stored(self, scope: str, ids: Sequence[int] | None = None) -> Iterator[tuple[int, Entity]]:
        """The stored entities with these ids, or all of them, unordered."""
        ...

    def shown_names(
        self, scope: str, ids: Sequence[int] | None = None
    ) -> Iterator[tuple[int, str]]:
        """The display names of the entities with these ids, or of all entities in the index."""
        ...

    def audit(self, after: int = 0, limit: int | None = None) -> Iterator[AuditRow]:
        """The audit trail after a row number."""
        ...

    def history(
        self,
        scope: str,
        kinds: Sequence[str],
        about: Sequence[str],
        limit: int,
        before: tuple[int, int],
        renamed_to: Entity | None = None,
    ) -> Sequence[FeedRow]:
        """The changes of some kinds to some subjects that the feed still has, newest first.

        `about` are texts; a row matches if its key contains one of them, or if it gives an entity
        the name `renamed_to`. Only rows below `before`: a revision, and a row number in it.
        """
        ...

    def last_changed(self, scope: str, kind: str, keys: Sequence[str]) -> Mapping[str, int]:
        """By key, the last revision in the feed with a change to a subject of this kind."""
        ...

    def audit_of(self, revisions: Sequence[int]) -> Sequence[AuditRow]:
        """The rows of the audit trail that belong to these revisions, in order."""
        ...

    def usage(self, realm: str, since: str) -> Iterator[tuple[str, str, str, Entity, int]]:
        """The counts of a realm since a day: (day, user, operation, entity, count), by day."""
        ...


class Writing(Reading, Protocol):
    """A transaction that writes. Its changes are invisible to others before `commit`."""

    def lock(self) -> None:
        """Acquires the write lock: no other transaction commits. Idempotent."""
        ...

    def apply(self, scope: str, effects: Sequence[Effect]) -> None:
        """Writes the rows of the effects, in order."""
        ...

    def put_credential(self, scope: str, credential: Credential) -> None:
        """Stores a credential; replaces the one of the same entity and kind."""
        ...

    def drop_credentials(self, scope: str, entity: Entity, kind: str | None = None) -> None:
        """Removes an entity's credentials: of one kind, or all."""
        ...

    def commit(self, events: Sequence[AuditEvent]) -> int:
        """Commits everything, and returns the newest revision.

        Locks, assigns a revision if anything was applied, writes feed and audit rows.
        """
        ...


class ServerAccount(NamedTuple):
    """A PostgreSQL server, by its own identifier, and an account on it."""

    server: str
    name: str


class Store(Protocol):
    """The store of realms. Every method may raise `Unavailable`."""

    write_health: WriteHealth
    """Whether writes fail for a reason that would also make the next one fail."""

    origin: int
    """Another number means other data: a backup was restored at the same address meanwhile.

    It is that of the last query, `reading` or `writing`.
    """

    audit_head: Head
    """The end of the audit trail, as of the last query, `reading` or `writing`."""

    def try_to_write(self) -> None:
        """Tries a write; `write_health` contains the result."""
        ...

    def reading(self) -> AbstractContextManager[Reading]:
        """A consistent snapshot; hold it only as long as needed."""
        ...

    def writing(self, *, late: bool = False) -> AbstractContextManager[Writing]:
        """A transaction that is locked from the start; with `late` only from `lock` or `commit` on.

        `late` is for long imports. A transaction without `commit` is rolled back.
        """
        ...

    def revision(self) -> int:
        """The newest committed revision, by one small query."""
        ...

    def add_usage(self, day: str, counts: Mapping[tuple[str, str, str, Entity], int]) -> int:
        """Adds to the day's (`2026-11-21`) counts of allowed (realm, user, operation, entity).

        Returns the number of acts that were skipped, since one of their names cannot be stored.
        """
        ...

    def drop_usage(self, before: str, most: int) -> int:
        """Removes counts of earlier days, at most `most` rows; returns the number removed."""
        ...

    def count_attempt(self, counts: Sequence[Count], now: float) -> float | None:
        """Adds one to all counts, or to none if one is at its limit; returns when that ends."""
        ...

    def uncount_attempts(self, less: Sequence[Count], removed: Sequence[Count] = ()) -> None:
        """Decrements each count in `less`, and removes the counts in `removed`."""
        ...

    def note(self, names: tuple[str, ...], until: float) -> None:
        """Sets a note that lasts until a moment."""
        ...

    def has_note(self, names: tuple[str, ...], now: float) -> bool:
        """Whether the note exists now."""
        ...

    def acquire_lease(self, names: tuple[str, ...], holder: int, now: float, until: float) -> bool:
        """Acquires a lease on something until a moment; returns whether the holder has it.

        Only one holder has it at a time. The holder renews it by calling `acquire_lease` again, and
        releases it with an `until` in the past. A lease of another holder that had expired at `now`
        is taken over. `has_note` returns whether any holder has it.
        """
        ...

    def account(self) -> ServerAccount | None:
        """The account of our own connections to the database server; None for a file.

        None also if the server does not identify itself.
        """
        ...


class FeedTruncated(Exception):
    """The change feed no longer reaches back that far: the reader must reload everything."""
