"""What the use cases need from outside: the store, the newest revision, the clock."""

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
    """The store as it was at one moment: everything read through it belongs together.

    Scopes are realms by name and directories as `@name`.
    """

    revision: int
    """The newest revision that is part of what is read."""

    def realms(self) -> Sequence[Realm]:
        """All realms, in order of their names."""
        ...

    def directories(self) -> Sequence[str]:
        """The directories that people or tokens were ever stored of, in order of their names."""
        ...

    def facts(self, scope: str, system: System | None) -> Facts:
        """All rows of a scope; a directory has principals and memberships only."""
        ...

    def people(self, scope: str) -> Facts:
        """The principals and memberships of a scope alone."""
        ...

    def tokens(self) -> Sequence[Token]:
        """All tokens that were not revoked, the expired ones too."""
        ...

    def links(self) -> Iterator[tuple[Link, str]]:
        """All links, each with its keeper, in no order."""
        ...

    def feed(self, after: int, limit: int | None = None) -> Sequence[FeedRow]:
        """The change feed behind a revision, in order; with `limit` no more rows than that.

        Raises `FeedGone` when that far back nothing is kept any more.
        """
        ...

    def documents(self, scope: str, about: Sequence[About]) -> Mapping[About, Document]:
        """The documents of these."""
        ...

    def documents_of(self, scope: str, type: str) -> Iterator[tuple[Entity, Document]]:
        """The documents of all entities of a type, in order of their names' bytes."""
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
        """How many values in time there are of each aspect of an entity."""
        ...

    def values_of(
        self, scope: str, type: str, aspect: str, first: int, last: int, after: ValuePlace | None
    ) -> Iterator[ValueRow]:
        """Those of all entities of a type, the newest first, of one time in order of names."""
        ...

    def value_sizes(self, scope: str) -> Sequence[ValueSize]:
        """The stored sizes of the time-series aspects of all types, sorted."""
        ...

    def document_totals(self, scope: str) -> tuple[int, int]:
        """How many documents and values in time there are, and their bytes of JSON in all."""
        ...

    def secrets(self, scope: str, entity: Entity) -> Mapping[str, str]:
        """The sealed secrets of an entity, by key."""
        ...

    def credential(self, scope: str, entity: Entity, kind: str) -> Credential | None:
        """The credential of that kind, an expired one too."""
        ...

    def credentials(self, scope: str, kind: str) -> Sequence[Credential]:
        """All credentials of a kind, in order of their entities' names."""
        ...

    def with_credential(
        self, scope: str, kind: str, entities: Sequence[Entity]
    ) -> frozenset[Entity]:
        """Those of the entities that have a credential of that kind."""
        ...

    def ids(self, scope: str, entities: Sequence[Entity]) -> Mapping[Entity, int]:
        """The ids of stored entities: 64 bits, never reused, unchanged by a rename."""
        ...

    def matching_ids(self, scope: str, clauses: Sequence[Sequence[Term]]) -> Sequence[int]:
        """The ids of entities that have of every clause one of the terms, in no order.

        Nothing has one of no terms. Ids may come twice, and some that are of no entity of the
        scope.
        """
        ...

    def stored(self, scope: str, ids: Sequence[int] | None = None) -> Iterator[tuple[int, Entity]]:
        """The stored entities with these ids, or all of them, in no order."""
        ...

    def shown_names(
        self, scope: str, ids: Sequence[int] | None = None
    ) -> Iterator[tuple[int, str]]:
        """The names that people see of entities with these ids, or of all that are searched."""
        ...

    def audit(self, after: int = 0, limit: int | None = None) -> Iterator[AuditRow]:
        """The audit trail behind a row's number."""
        ...

    def audit_head(self) -> Head:
        """The end of the audit trail."""
        ...

    def history(
        self,
        scope: str,
        kinds: Sequence[str],
        about: Sequence[str],
        limit: int,
        before: tuple[int, int],
    ) -> Sequence[FeedRow]:
        """What the feed still has of some kinds about some things, the newest first.

        `about` are texts, one of which the row's key holds. Only rows below `before`: a revision,
        and a number in it.
        """
        ...

    def last_changed(self, scope: str, kind: str, keys: Sequence[str]) -> Mapping[str, int]:
        """By key, the last revision at which the feed still has a change of a kind of thing."""
        ...

    def audit_of(self, revisions: Sequence[int]) -> Sequence[AuditRow]:
        """The rows of the audit trail that belong to these revisions, in order."""
        ...

    def usage(self, realm: str, since: str) -> Iterator[tuple[str, str, str, Entity, int]]:
        """The counts of a realm from a day on: (day, user, operation, entity, count), by day."""
        ...


class Writing(Reading, Protocol):
    """One transaction that writes. Nothing of it is to be seen before `commit`."""

    def lock(self) -> None:
        """Takes the write lock: no other transaction commits. Idempotent."""
        ...

    def apply(self, scope: str, effects: Sequence[Effect]) -> None:
        """Writes the effects' rows, in order."""
        ...

    def put_credential(self, scope: str, credential: Credential) -> None:
        """Keeps a credential, in place of the one of the same entity and kind."""
        ...

    def drop_credentials(self, scope: str, entity: Entity, kind: str | None = None) -> None:
        """Forgets an entity's credentials: of one kind, or all."""
        ...

    def commit(self, events: Sequence[AuditEvent]) -> int:
        """Makes everything count, and returns the newest revision.

        Locks, numbers the revision if anything was applied, writes feed and audit rows.
        """
        ...


class ServerAccount(NamedTuple):
    """A server of PostgreSQL, by its own identifier, and an account there."""

    server: str
    name: str


class Store(Protocol):
    """The store of realms. Every method may raise `Unavailable`."""

    write_health: WriteHealth
    """Whether writes fail for a reason that the next one would have too."""

    def try_to_write(self) -> None:
        """Tries a write; `write_health` has the result."""
        ...

    def reading(self) -> AbstractContextManager[Reading]:
        """A consistent view; take it only for as long as needed."""
        ...

    def writing(self, *, late: bool = False) -> AbstractContextManager[Writing]:
        """A transaction, locked from its start; with `late` only at `lock` or `commit`.

        `late` is for long imports. Left without `commit`, it is rolled back.
        """
        ...

    def revision(self) -> int:
        """The newest committed revision: one small query."""
        ...

    def add_usage(self, day: str, counts: Mapping[tuple[str, str, str, Entity], int]) -> int:
        """Adds to the day's (`2026-11-21`) counts of allowed (realm, user, operation, entity).

        Returns how many acts are left out, since a name of them cannot be stored.
        """
        ...

    def drop_usage(self, before: str, most: int) -> int:
        """Removes counts of the days before that one, at most so many rows; how many it were."""
        ...

    def try_once(self, counts: Sequence[Count], now: float) -> float | None:
        """Adds one to all the counts, or to none where one is at its limit: until when it is."""
        ...

    def untry(self, less: Sequence[Count], removed: Sequence[Count] = ()) -> None:
        """Takes one from each count of the former, and forgets the latter."""
        ...

    def note(self, names: tuple[str, ...], until: float) -> None:
        """Remembers something until a moment."""
        ...

    def is_noted(self, names: tuple[str, ...], now: float) -> bool:
        """Whether that is remembered now."""
        ...

    def hold(self, names: tuple[str, ...], holder: int, now: float, until: float) -> bool:
        """Whether something is the holder's until a moment: one of them at a time has it.

        A holder keeps it by holding it again, and lets go of it by an `until` that is past. It is
        taken from another one whose time was over at `now`. `is_noted` says whether anybody has it.
        """
        ...

    def account(self) -> ServerAccount | None:
        """The account by which a server is asked that others may be told by, too; None for a file.

        None also where the server does not say which one it is.
        """
        ...


class FeedGone(Exception):
    """The change feed no longer reaches back so far: the reader has to load everything."""
