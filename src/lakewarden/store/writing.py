"""A transaction that writes rows, feed, audit trail and revision together, or nothing."""

from __future__ import annotations

import secrets
from collections.abc import Sequence
from typing import Any

import sqlalchemy as sa

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput, LimitExceeded
from lakewarden.names.canonical import quoted
from lakewarden.service.audit import AuditEvent, Head, follow, sealed_from_here
from lakewarden.service.audit_seal import UNSEALED, Seals, key_id
from lakewarden.service.credential import Credential
from lakewarden.service.effect import DocumentChanged, Effect, Encoded, ValueChanged
from lakewarden.store import schema
from lakewarden.store.bulk import OnConflict, delete, insert
from lakewarden.store.compatibility import check_usable
from lakewarden.store.engine import SQLITE, exclusive, translated_errors
from lakewarden.store.feed import encoded
from lakewarden.store.interpret import interpret
from lakewarden.store.key import check_names, escaped, key
from lakewarden.store.limits import UNLIMITED, Size, StoreLimits
from lakewarden.store.reading import SqlReading

CHUNK_EFFECTS = 100_000
"""The most effects that are held as rows at a time."""

_WIDEST = 4
"""The most bytes of one character."""

_FEED = ("write", "seq", "scope", "kind", "key", "op", "row")
_OF_ENTITY = ("scope", "entity_key", "kind")
_CREDENTIAL = (*_OF_ENTITY, "type", "name", "value", "expires")
_TOTAL = ("scope", "documents", "bytes")
_AUDIT = ("seq", "revision", "body", "digest", "seal")


class SqlWriting(SqlReading):
    """See `Writing`.

    A late-locking write takes SQLite's lock with its first change, since SQLite has one writer at a
    time; on PostgreSQL it blocks nobody before `lock`. Its earlier reads are not a consistent
    snapshot. A document or a value in time also locks on PostgreSQL: the row that it replaces is
    measured, and must not change before the replacement.
    """

    def __init__(
        self,
        connection: sa.Connection,
        *,
        late: bool,
        limits: StoreLimits = UNLIMITED,
        seals: Seals = UNSEALED,
    ) -> None:
        super().__init__(connection)
        self._seals = seals
        self._limits = limits
        self._is_on_sqlite = connection.dialect.name == SQLITE
        self._is_late = late
        self._is_locked = False
        self._is_over = False
        self._write = secrets.randbits(63)
        self._count = 0
        self._scopes: dict[str, int] = {}
        self._changed: dict[str, Size] = {}
        if not late:
            self.lock()

    def lock(self) -> None:
        self._check_open()
        if not self._is_locked:
            with translated_errors():
                if self._is_on_sqlite and self._is_late:
                    self._connection.rollback()  # a read transaction cannot become a writing one
                    exclusive(self._connection)
                counter = self._counted(sa.select(schema.counter).with_for_update())
            self.revision = counter.revision
            self.audit_head = Head(counter.audit_seq, counter.audit_digest)
            self._is_locked = True

    def apply(self, scope: str, effects: Sequence[Effect]) -> None:
        self._check_open()
        if effects and (self._is_on_sqlite or any(map(_is_put, effects))):
            self.lock()
        for start in range(0, len(effects), CHUNK_EFFECTS):
            with translated_errors():
                changed = self._apply(self._numbered(scope), effects[start : start + CHUNK_EFFECTS])
            self._changed[scope] = self._changed.get(scope, Size()).plus(changed)

    def _apply(self, scope: int, effects: Sequence[Effect]) -> Size:
        texts = list(encoded(effects))
        self._check_sizes(effects, texts)
        rows = [(self._write, seq, scope, *row) for seq, row in enumerate(texts, start=self._count)]
        insert(self._connection, schema.changes, _FEED, rows)
        self._count += len(rows)
        return interpret(self._connection, scope, effects, [row.row for row in texts])

    def _check_sizes(self, effects: Sequence[Effect], texts: Sequence[Encoded]) -> None:
        """Refuses a document that is too large, before any of it is written."""
        limit = self._limits.document_bytes
        if limit is None:
            return
        for effect, text in zip(effects, texts, strict=True):
            if text.row is None or len(text.row) * _WIDEST <= limit:
                continue
            size = len(text.row.encode("utf-8", "surrogatepass"))
            if size <= limit:
                continue
            match effect:
                case DocumentChanged(Entity(type, name), _):
                    subject = f"{type} {quoted(name)}"
                case ValueChanged(Entity(type, name), aspect, _, _, _):
                    subject = f"a value of {quoted(aspect)} of {type} {quoted(name)}"
                case _:
                    continue
            raise LimitExceeded(
                f"{subject} would be kept with {size:,} bytes of JSON, at most {limit:,} are"
                " allowed (setting `limits.document_bytes`)"
            )

    def put_credential(self, scope: str, credential: Credential) -> None:
        self._check_open()
        self.lock()
        entity, kind, value, expires = credential
        check_names(*entity, kind, value)
        with translated_errors():
            row = (self._numbered(scope), key(*entity), kind, *entity, value, expires)
            insert(
                self._connection,
                schema.credentials,
                _CREDENTIAL,
                [row],
                OnConflict.REPLACE,
                _OF_ENTITY,
            )

    def drop_credentials(self, scope: str, entity: Entity, kind: str | None = None) -> None:
        self._check_open()
        self.lock()
        with translated_errors():
            row = (self._numbered(scope), key(*entity))
            if kind is None:
                delete(self._connection, schema.credentials, _OF_ENTITY[:2], [row])
            else:
                delete(self._connection, schema.credentials, _OF_ENTITY, [(*row, kind)])

    def commit(self, events: Sequence[AuditEvent]) -> int:
        self.lock()
        with translated_errors():
            self._add_totals()
            counter = self._counted(sa.select(schema.counter))
            revision = int(counter.revision) + bool(self._count)
            if self._count:
                row = {"revision": revision, "write": self._write}
                self._connection.execute(schema.revisions.insert(), row)
            head = self._record(Head(counter.audit_seq, counter.audit_digest), revision, events)
            self._connection.execute(
                schema.counter.update(),
                {"revision": revision, "audit_seq": head.seq, "audit_digest": head.digest},
            )
            self._connection.commit()
        self._is_over = True
        self.revision, self.audit_head = revision, head
        return revision

    def _add_totals(self) -> None:
        """Updates the stored size of each scope; raises if it exceeds the limits."""
        table = schema.document_totals
        for scope, change in self._changed.items():
            if change == Size():
                continue
            number = self._numbered(scope)
            condition = table.c.scope == number
            stored = self._connection.execute(
                sa.select(table.c.documents, table.c.bytes).where(condition)
            ).first()
            stored_size = Size() if stored is None else Size(*stored)
            self._limits.check(scope, stored_size, change)
            total = stored_size.plus(change)
            if total == Size():
                self._connection.execute(table.delete().where(condition))
            else:
                insert(
                    self._connection,
                    table,
                    _TOTAL,
                    [(number, *total)],
                    OnConflict.REPLACE,
                    _TOTAL[:1],
                )

    def _record(self, head: Head, revision: int, events: Sequence[AuditEvent]) -> Head:
        if not events:
            return head
        rows = follow(head, revision, [*self._seal_event(head, events), *events], self._seals)
        escaped_rows = [row._replace(body=escaped(row.body)) for row in rows]
        insert(self._connection, schema.audit, _AUDIT, escaped_rows)
        return Head(rows[-1].seq, rows[-1].digest)

    def _seal_event(self, head: Head, events: Sequence[AuditEvent]) -> list[AuditEvent]:
        """The event of a seal key change: the previous row has another seal key, or none."""
        if not self._seals or not head.seq:
            return []
        query = sa.select(schema.audit.c.seal).where(schema.audit.c.seq == head.seq)
        before = key_id(self._connection.execute(query).scalar() or "")
        if before == self._seals.first:
            return []
        return [sealed_from_here(head, before, self._seals, events[0].time)]

    def _check_open(self) -> None:
        if self._is_over:
            raise BadInput("the write is already committed")

    def _counted(self, query: sa.Select[Any]) -> sa.Row[Any]:
        counter = self._connection.execute(query).one()
        check_usable(counter.usable_from)
        return counter

    def _numbered(self, scope: str) -> int:
        id = self._scopes.get(scope)
        if id is None:
            query = sa.select(schema.scopes.c.id).where(schema.scopes.c.name == scope)
            id = self._connection.execute(query).scalar()
            if id is None:
                check_names(scope)
                self._number(scope)
                id = self._connection.execute(query).scalar_one()
            self._scopes[scope] = id
        return id

    def _number(self, scope: str) -> None:
        insert(self._connection, schema.scopes, ("name",), [(scope,)], OnConflict.KEEP, ("name",))


def _is_put(effect: Effect) -> bool:
    """Whether it adds data that `schema.document_totals` counts."""
    return isinstance(effect, (DocumentChanged, ValueChanged)) and effect.body is not None
