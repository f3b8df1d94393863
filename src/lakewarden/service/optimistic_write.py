"""A write before it takes the lock: reads committed data, and collects its own changes.

A job on an optimistic write blocks nobody, however long it runs. Its collected effects are written
by `replay`, under the lock, if nothing was committed meanwhile. A job sees its own changes to
documents and values in time, which can be derived from the effects. It gives up (`NeedsLock`) for
reads that only the store could answer.
"""

from __future__ import annotations

import json
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NoReturn, TypeVar

from lakewarden.kernel.change import EntityDropped, EntityRenamed, StatementRemoved
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.relations import Facts
from lakewarden.service.audit import AuditEvent, AuditRow
from lakewarden.service.credential import Credential
from lakewarden.service.effect import (
    About,
    Document,
    DocumentChanged,
    Effect,
    FeedRow,
    RealmChanged,
    ValueChanged,
    ValuePlace,
    ValueRow,
    ValueSize,
)
from lakewarden.service.link import Link
from lakewarden.service.ports import Reading, Writing
from lakewarden.service.realm import Realm, Token
from lakewarden.service.search_terms import Term
from lakewarden.service.system import System

T = TypeVar("T")

_MOST: Final = 2**31 - 1

_Place = tuple[int, str]
"""The time and mark of a value."""


class NeedsLock(Exception):
    """The job needs data that is available only under the write lock."""


class OptimisticWrite:
    """The reads and the collected effects of one job. See `Writing`: all of it except `commit`.

    Credentials may change without a new revision, so a job that reads one and changes anything must
    run under the lock (`is_bound`).
    """

    def __init__(self, reading: Reading) -> None:
        self.revision, self.audit_head = reading.revision, reading.audit_head
        self._reading = reading
        self._left: list[tuple[str, list[Effect]]] = []
        self._documents: dict[tuple[str, About], Document | None] = {}
        self._values: dict[tuple[str, Entity, str], dict[_Place, Document | None]] = {}
        self._gone: set[tuple[str, Entity]] = set()
        self._opaque: set[str] = set()
        self._reads_credentials = False
        self._lock_required = False

    @property
    def changes(self) -> bool:
        """Whether there are effects to write."""
        return bool(self._left)

    @property
    def is_bound(self) -> bool:
        """Whether the job must run under the lock."""
        return self._lock_required or (self.changes and self._reads_credentials)

    def replay(self, writing: Writing) -> None:
        """Writes the collected effects, in order."""
        for scope, effects in self._left:
            writing.apply(scope, effects)

    # Writing

    def lock(self) -> None:
        self._require_lock()

    def put_credential(self, scope: str, credential: Credential) -> None:
        self._require_lock()

    def drop_credentials(self, scope: str, entity: Entity, kind: str | None = None) -> None:
        self._require_lock()

    def commit(self, events: Sequence[AuditEvent]) -> int:
        raise AssertionError("a write is replayed")

    def apply(self, scope: str, effects: Sequence[Effect]) -> None:
        if not effects:
            return
        if self._left and self._left[-1][0] == scope:
            self._left[-1][1].extend(effects)
        else:
            self._left.append((scope, list(effects)))
        for effect in effects:
            self._note(scope, effect)

    def _note(self, scope: str, effect: Effect) -> None:
        match effect:
            case DocumentChanged(about, body):
                self._documents[scope, about] = body
            case ValueChanged(entity, aspect, time, mark, body):
                self._values.setdefault((scope, entity, aspect), {})[time, mark] = body
            case StatementRemoved(id):
                self._documents[scope, id] = None
            case EntityDropped(entity):
                self._documents[scope, entity] = None
                self._gone.add((scope, entity))
                for key in [key for key in self._values if key[:2] == (scope, entity)]:
                    del self._values[key]
            case EntityRenamed() | RealmChanged():
                self._opaque.add(scope)
            case _:
                pass

    def _require_lock(self) -> NoReturn:
        self._lock_required = True
        raise NeedsLock

    def _committed(self) -> Reading:
        """The committed data, as long as the job has changed nothing."""
        if self._left:
            self._require_lock()
        return self._reading

    # Reading

    def documents(self, scope: str, about: Sequence[About]) -> Mapping[About, Document]:
        if scope in self._opaque:
            self._require_lock()
        changed = {id for id in about if (scope, id) in self._documents}
        unchanged = [id for id in about if id not in changed] if changed else about
        documents = dict(self._reading.documents(scope, unchanged))
        for id in changed:
            body = self._documents[scope, id]
            if body is not None:
                documents[id] = json.loads(json.dumps(body))  # the form that the store would return
        return documents

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
        if scope in self._opaque or (scope, entity) in self._gone:
            self._require_lock()
        all_changed = self._values.get((scope, entity, aspect), {})
        changed = {place: body for place, body in all_changed.items() if first <= place[0] <= last}
        if not changed:
            return self._reading.values(scope, entity, aspect, first, last, limit, skip)

        def read(first: int, last: int, limit: int, skip: int = 0) -> Sequence[ValueRow]:
            return self._reading.values(scope, entity, aspect, first, last, limit, skip)

        puts = sorted(
            (
                ValueRow(entity, time, mark, json.loads(json.dumps(body)))
                for (time, mark), body in changed.items()
                if body is not None
            ),
            key=_order,
        )
        # COST: skipped rows are not read, except near the changed ones.
        times = [time for time, _ in changed]
        old = read(min(times), max(times), _MOST)
        hidden = sorted(_order(row) for row in old if (row.time, row.mark) in changed)
        past = max(0, skip - len(puts))
        rows = read(first, last, min(_MOST, limit + skip - past + len(changed)), past)
        if past and not rows:
            return []
        begin = bisect_left(puts, _order(rows[0]), key=_order) if past else 0
        before = past + begin - (bisect_left(hidden, _order(rows[0])) if past else 0)
        remaining = [row for row in rows if (row.time, row.mark) not in changed]
        merged = sorted([*remaining, *puts[begin:]], key=_order)
        return merged[skip - before :][:limit]

    def facts(self, scope: str, system: System | None) -> Facts:
        return self._committed().facts(scope, system)

    def realms(self) -> Sequence[Realm]:
        return self._committed().realms()

    def directories(self) -> Sequence[str]:
        return self._committed().directories()

    def people(self, scope: str) -> Facts:
        return self._committed().people(scope)

    def tokens(self) -> Sequence[Token]:
        return self._committed().tokens()

    def links(self) -> Iterator[tuple[Link, str]]:
        return self._committed().links()

    def feed(self, after: int, limit: int | None = None) -> Sequence[FeedRow]:
        return self._reading.feed(after, limit)

    def documents_of(self, scope: str, type: str) -> Iterator[tuple[Entity, Document]]:
        return self._committed().documents_of(scope, type)

    def value_counts(self, scope: str, entity: Entity) -> Mapping[str, int]:
        return self._committed().value_counts(scope, entity)

    def values_of(
        self, scope: str, type: str, aspect: str, first: int, last: int, after: ValuePlace | None
    ) -> Iterator[ValueRow]:
        return self._committed().values_of(scope, type, aspect, first, last, after)

    def value_sizes(self, scope: str) -> Sequence[ValueSize]:
        return self._committed().value_sizes(scope)

    def document_totals(self, scope: str) -> tuple[int, int]:
        return self._committed().document_totals(scope)

    def secrets(self, scope: str, entity: Entity) -> Mapping[str, str]:
        return self._committed().secrets(scope, entity)

    def credential(self, scope: str, entity: Entity, kind: str) -> Credential | None:
        self._reads_credentials = True
        return self._committed().credential(scope, entity, kind)

    def credentials(self, scope: str, kind: str) -> Sequence[Credential]:
        self._reads_credentials = True
        return self._committed().credentials(scope, kind)

    def with_credential(
        self, scope: str, kind: str, entities: Sequence[Entity]
    ) -> frozenset[Entity]:
        self._reads_credentials = True
        return self._committed().with_credential(scope, kind, entities)

    def ids(self, scope: str, entities: Sequence[Entity]) -> Mapping[Entity, int]:
        return self._committed().ids(scope, entities)

    def matching_ids(self, scope: str, clauses: Sequence[Sequence[Term]]) -> Sequence[int]:
        return self._committed().matching_ids(scope, clauses)

    def stored(self, scope: str, ids: Sequence[int] | None = None) -> Iterator[tuple[int, Entity]]:
        return self._committed().stored(scope, ids)

    def shown_names(
        self, scope: str, ids: Sequence[int] | None = None
    ) -> Iterator[tuple[int, str]]:
        return self._committed().shown_names(scope, ids)

    def audit(self, after: int = 0, limit: int | None = None) -> Iterator[AuditRow]:
        return self._reading.audit(after, limit)

    def history(
        self,
        scope: str,
        kinds: Sequence[str],
        about: Sequence[str],
        limit: int,
        before: tuple[int, int],
        renamed_to: Entity | None = None,
    ) -> Sequence[FeedRow]:
        return self._reading.history(scope, kinds, about, limit, before, renamed_to)

    def last_changed(self, scope: str, kind: str, keys: Sequence[str]) -> Mapping[str, int]:
        return self._reading.last_changed(scope, kind, keys)

    def audit_of(self, revisions: Sequence[int]) -> Sequence[AuditRow]:
        return self._reading.audit_of(revisions)

    def usage(self, realm: str, since: str) -> Iterator[tuple[str, str, str, Entity, int]]:
        return self._reading.usage(realm, since)


def _order(row: ValueRow) -> tuple[int, str]:
    """The sort key: newest first, those of one time by mark."""
    return -row.time, row.mark
