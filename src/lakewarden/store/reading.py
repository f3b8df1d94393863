"""Reads the store in one transaction."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from sys import intern
from typing import Any, Final, TypeVar

import sqlalchemy as sa

from lakewarden.expressions.lookup import read_lookups
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.relations import (
    AttributeRow,
    EntityColumns,
    Facts,
    MembershipRow,
    OwnerRow,
    RelationRow,
)
from lakewarden.kernel.statement_file import read_statements
from lakewarden.models.own import ModelText
from lakewarden.service.audit import AuditRow, Head
from lakewarden.service.cancellation import check
from lakewarden.service.credential import Credential
from lakewarden.service.effect import (
    RENAME,
    About,
    Document,
    FeedRow,
    ValuePlace,
    ValueRow,
    ValueSize,
    canonical,
)
from lakewarden.service.link import Asset, Link, link
from lakewarden.service.ports import FeedTruncated
from lakewarden.service.realm import Realm, Token
from lakewarden.service.search_terms import Term
from lakewarden.service.system import System
from lakewarden.store import schema, search_engine
from lakewarden.store.compatibility import check_usable
from lakewarden.store.engine import (
    POSTGRES,
    SQLITE,
    translated_driver_errors,
    translated_errors,
)
from lakewarden.store.key import ENTITY, document_key, key, unescaped
from lakewarden.store.limits import Size
from lakewarden.store.operation import TOKEN_COLUMNS

PAGE_ROWS = 10_000
"""The number of rows per fetch for large results."""

FEW = 500
"""The most keys per statement."""

_SCATTERED = 8 * FEW
"""Up to this many revisions are looked up by number; for more, the whole range is read."""

COUNTER: Final[Mapping[str, sa.Select[Any]]] = {
    engine: sa.select(schema.counter, sa.literal_column(number).label("origin"))
    for engine, number in ((POSTGRES, "tableoid"), (SQLITE, "0"))
}
"""The counter by engine, with the number of its table on PostgreSQL as `origin`.

A table that was created again, as when a backup is restored, has another number. On SQLite
`store.sqlite_file` recognizes another file.
"""

T = TypeVar("T")
_NOWHERE = -1


def _token(row: Mapping[str, Any]) -> Token:
    groups = () if row["groups"] is None else tuple(json.loads(row["groups"]))
    return Token(**{**row, "groups": groups})


class SqlReading:
    """See `Reading`. Its results belong to the transaction of its connection."""

    def __init__(self, connection: sa.Connection) -> None:
        self._connection = connection
        with translated_errors():
            counter = connection.execute(COUNTER[connection.dialect.name]).one()
        check_usable(counter.usable_from)
        self.revision: int = counter.revision
        self.origin: int = counter.origin
        self.audit_head = Head(counter.audit_seq, counter.audit_digest)

    # Facts for decisions

    def realms(self) -> Sequence[Realm]:
        table, texts = schema.realms, schema.models
        query = (
            sa.select(table, texts.c.text)
            .select_from(table.outerjoin(texts, table.c.digest == texts.c.digest))
            .order_by(table.c.name)
        )
        return [
            Realm(
                row.name,
                row.model,
                row.directory,
                json.loads(row.settings),
                frozenset(json.loads(row.deleted)),
                json.loads(row.spellings),
                # A missing text becomes an empty one, which does not have the digest.
                ModelText(row.text or "", row.digest) if row.digest else None,
                read_lookups(json.loads(row.lookups), "store"),
            )
            for row in self._all(query)
        ]

    def directories(self) -> Sequence[str]:
        names = (row.name for row in self._all(sa.select(schema.scopes.c.name)))
        return sorted(name[1:] for name in names if name.startswith("@"))

    def facts(self, scope: str, system: System | None) -> Facts:
        number = self._scope(scope)
        named: dict[tuple[str, str], Entity] = {}
        return replace(
            self.people(scope),
            entities=self._entities(number),
            relations=self._relations(number, named),
            attributes=[
                AttributeRow(_entity(named, type, name), attribute, value)
                for type, name, attribute, value in self._rows(
                    schema.attributes, number, "type", "name", "attribute", "value"
                )
            ],
            owners=self._owners(number, named),
            statements=() if system is None else self._statements(number, system),
        )

    def people(self, scope: str) -> Facts:
        number = self._scope(scope)
        principals = [Principal(*r) for r in self._rows(schema.principals, number, "kind", "name")]
        return Facts(principals=principals, memberships=self._memberships(number))

    def _entities(self, scope: int) -> EntityColumns:
        of = schema.entities.c
        query = sa.select(of.type, of.name, of.parent_type, of.parent_name).order_by(of.id)
        columns: tuple[list[Any], ...] = ([], [], [], [])
        interned: dict[str | None, str | None] = {}
        for page in self._pages(query.where(of.scope == scope)):
            for column, cells in zip(columns, zip(*page, strict=True), strict=True):
                is_name = column is columns[1]
                column.extend(cells if is_name else map(interned.setdefault, cells, cells))
        return EntityColumns(*columns)

    def _relations(self, scope: int, named: dict[tuple[str, str], Entity]) -> list[RelationRow]:
        names = ("kind", "source_type", "source_name", "target_type", "target_name")
        return [
            RelationRow(
                intern(kind),
                _entity(named, source_type, source_name),
                _entity(named, target_type, target_name),
            )
            for kind, source_type, source_name, target_type, target_name in self._rows(
                schema.relations, scope, *names
            )
        ]

    def _owners(self, scope: int, named: dict[tuple[str, str], Entity]) -> list[OwnerRow]:
        names = ("type", "name", "owner_kind", "owner_name", "ownership")
        return [
            OwnerRow(_entity(named, type, name), Principal(intern(kind), owner), ownership)
            for type, name, kind, owner, ownership in self._rows(schema.owners, scope, *names)
        ]

    def _memberships(self, scope: int) -> list[MembershipRow]:
        names = ("member_kind", "member_name", "of_kind", "of_name")
        return [
            MembershipRow(Principal(intern(kind), name), Principal(intern(of_kind), of_name))
            for kind, name, of_kind, of_name in self._rows(schema.memberships, scope, *names)
        ]

    def _statements(self, scope: int, system: System) -> Sequence[Any]:
        tables = [json.loads(body) for (body,) in self._rows(schema.statements, scope, "body")]
        return read_statements(tables, system.model, system.spelling, "the store", builtin=True)

    def tokens(self) -> Sequence[Token]:
        columns = [schema.tokens.c[name] for name in TOKEN_COLUMNS]
        return [_token(row._mapping) for row in self._all(sa.select(*columns))]

    def links(self) -> Iterator[tuple[Link, str]]:
        of = schema.links.c
        columns = (of.one_realm, of.one_type, of.one_name, of.other_realm, of.other_type)
        query = sa.select(*columns, of.other_name, of.keeper)
        for one_realm, one_type, one_name, realm, type, name, keeper in self._each(query):
            first = Asset(intern(one_realm), Entity(intern(one_type), one_name))
            yield link(first, Asset(intern(realm), Entity(intern(type), name))), keeper

    # Change feed and audit trail

    def feed(self, after: int, limit: int | None = None) -> Sequence[FeedRow]:
        if after < self._counter().pruned:
            raise FeedTruncated(f"the change feed starts after revision {self._counter().pruned}")
        revisions, changes, scopes = schema.revisions.c, schema.changes.c, schema.scopes.c
        query = (
            sa.select(
                *(revisions.revision, changes.seq, scopes.name),
                *(changes.kind, changes.key, changes.op, changes.row),
            )
            .where(revisions.revision > after)
            .where(changes.write == revisions.write, scopes.id == changes.scope)
            .order_by(revisions.revision, changes.seq)
            .limit(limit)
        )
        return [FeedRow(*row) for row in self._each(query)]

    def audit(self, after: int = 0, limit: int | None = None) -> Iterator[AuditRow]:
        table = schema.audit
        query = sa.select(table).where(table.c.seq > after).order_by(table.c.seq).limit(limit)
        for seq, revision, body, digest, seal in self._each(query):
            yield AuditRow(seq, revision, unescaped(body), digest, seal)

    def history(
        self,
        scope: str,
        kinds: Sequence[str],
        about: Sequence[str],
        limit: int,
        before: tuple[int, int],
        renamed_to: Entity | None = None,
    ) -> Sequence[FeedRow]:
        revisions, changes = schema.revisions.c, schema.changes.c
        # SQLite's `LIKE` ignores case; `replace` is case-sensitive everywhere.
        holds = [sa.func.replace(changes.key, name, "") != changes.key for name in about]
        if renamed_to is not None:
            is_type = changes.key.startswith(f"[{canonical(renamed_to.type)},", autoescape=True)
            row = canonical({"name": renamed_to.name})
            holds.append(sa.and_(changes.op == RENAME, changes.row == row, is_type))
        query = (
            sa.select(
                *(revisions.revision, changes.seq, sa.literal(scope)),
                *(changes.kind, changes.key, changes.op, changes.row),
            )
            .where(revisions.revision <= before[0], changes.write == revisions.write)
            .where(sa.or_(revisions.revision < before[0], changes.seq < before[1]))
            .where(changes.scope == self._scope(scope), changes.kind.in_(kinds))
            .where(sa.or_(*holds))
            .order_by(revisions.revision.desc(), changes.seq.desc())
            .limit(limit)
        )
        return [FeedRow(*row) for row in self._each(query)]

    def last_changed(self, scope: str, kind: str, keys: Sequence[str]) -> Mapping[str, int]:
        revisions, changes = schema.revisions.c, schema.changes.c
        number = self._scope(scope)
        last: dict[str, int] = {}
        for part in _parts(keys):
            query = (
                sa.select(changes.key, sa.func.max(revisions.revision))
                .where(changes.write == revisions.write, changes.scope == number)
                .where(changes.kind == kind, changes.key.in_(part))
                .group_by(changes.key)
            )
            last |= {key: int(revision) for key, revision in self._each(query)}
        return last

    def audit_of(self, revisions: Sequence[int]) -> Sequence[AuditRow]:
        table = schema.audit
        of, wanted = table.c.revision, frozenset(revisions)
        # COST: each part reads the whole trail, so for many revisions the whole range is read.
        if len(wanted) > _SCATTERED:
            conditions: Iterable[sa.ColumnElement[bool]] = (of.between(min(wanted), max(wanted)),)
        else:
            conditions = map(of.in_, _parts(sorted(wanted)))
        return [
            AuditRow(seq, revision, unescaped(body), digest, seal)
            for condition in conditions
            for seq, revision, body, digest, seal in self._each(
                sa.select(table).where(condition).order_by(table.c.seq)
            )
            if revision in wanted
        ]

    def usage(self, realm: str, since: str) -> Iterator[tuple[str, str, str, Entity, int]]:
        """The counts of a realm since a day: (day, user, operation, entity, count), by day."""
        of = schema.usage.c
        columns = (of.day, of.user, of.operation, of.type, of.name, of.count)
        query = sa.select(*columns).where(of.realm == realm, of.day >= since)
        for day, user, operation, type, name, count in self._each(query.order_by(of.day, of.key)):
            yield day, user, operation, Entity(type, name), count

    # Documents, values, secrets and credentials

    def documents(self, scope: str, about: Sequence[About]) -> Mapping[About, Document]:
        of = schema.documents.c
        by_key = {document_key(about_entity): about_entity for about_entity in about}
        documents: dict[About, Document] = {}
        number = self._scope(scope)
        for keys in _parts([found_key for _, found_key in by_key]):
            condition = (of.scope == number, of.key.in_(keys))
            for kind, found_key, body in self._all(
                sa.select(of.what, of.key, of.body).where(*condition)
            ):
                about_entity = by_key.get((kind, bytes(found_key)))
                if about_entity is not None:
                    documents[about_entity] = json.loads(body)
        return documents

    def documents_of(self, scope: str, type: str) -> Iterator[tuple[Entity, Document]]:
        of = schema.documents.c
        condition = (of.scope == self._scope(scope), of.what == ENTITY, of.type == type)
        query = sa.select(of.name, of.body).where(*condition).order_by(of.name)
        for name, body in self._each(query):
            yield Entity(type, name), json.loads(body)

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
        of = schema.timeseries.c
        condition = (
            of.scope == self._scope(scope),
            of.entity_key == key(*entity),
            of.aspect == aspect,
        )
        query = sa.select(of.time, of.mark, of.body).where(*condition)
        query = query.where(of.time.between(first, last)).order_by(of.time.desc(), of.mark)
        return [
            ValueRow(entity, time, mark, json.loads(body))
            for time, mark, body in self._all(query.limit(limit).offset(skip))
        ]

    def value_counts(self, scope: str, entity: Entity) -> Mapping[str, int]:
        of = schema.timeseries.c
        condition = (of.scope == self._scope(scope), of.entity_key == key(*entity))
        query = sa.select(of.aspect, sa.func.count()).where(*condition)
        return dict(map(tuple, self._all(query.group_by(of.aspect).order_by(of.aspect))))

    def values_of(
        self, scope: str, type: str, aspect: str, first: int, last: int, after: ValuePlace | None
    ) -> Iterator[ValueRow]:
        of = schema.timeseries.c
        condition = (of.scope == self._scope(scope), of.type == type, of.aspect == aspect)
        query = sa.select(of.name, of.time, of.mark, of.body).where(*condition)
        query = query.where(of.time.between(first, last))
        if after is not None:
            beside = sa.or_(of.name > after.name, (of.name == after.name) & (of.mark > after.mark))
            behind = sa.or_(of.time < after.time, (of.time == after.time) & beside)
            query = query.where(behind)
        for name, time, mark, body in self._each(query.order_by(of.time.desc(), of.name, of.mark)):
            yield ValueRow(Entity(type, name), time, mark, json.loads(body))

    def value_sizes(self, scope: str) -> Sequence[ValueSize]:
        of = schema.timeseries.c
        size = sa.func.sum(sa.func.length(of.body))
        query = sa.select(of.type, of.aspect, sa.func.count(), size)
        query = query.where(of.scope == self._scope(scope))
        rows = self._all(query.group_by(of.type, of.aspect).order_by(of.type, of.aspect))
        return [ValueSize(type, aspect, rows, int(size)) for type, aspect, rows, size in rows]

    def document_totals(self, scope: str) -> Size:
        """The stored size of the scope in documents and time-series values."""
        of = schema.document_totals.c
        query = sa.select(of.documents, of.bytes).where(of.scope == self._scope(scope))
        return next((Size(*row) for row in self._all(query)), Size())

    def secrets(self, scope: str, entity: Entity) -> Mapping[str, str]:
        of = schema.secrets.c
        condition = (of.scope == self._scope(scope), of.entity_key == key(*entity))
        rows = self._all(sa.select(of.secret, of.sealed).where(*condition).order_by(of.secret))
        return {row.secret: row.sealed for row in rows}

    def all_secrets(self) -> Iterator[tuple[str, Entity, str, str]]:
        """All sealed secrets of all realms: (scope, entity, key, sealed)."""
        of, scopes = schema.secrets.c, schema.scopes.c
        columns = (scopes.name, of.type, of.name, of.secret, of.sealed)
        order = (of.scope, of.entity_key, of.secret_key)
        query = sa.select(*columns).where(scopes.id == of.scope).order_by(*order)
        for scope, type, name, secret, sealed in self._each(query):
            yield scope, Entity(type, name), secret, sealed

    def credential(self, scope: str, entity: Entity, kind: str) -> Credential | None:
        of = schema.credentials.c
        condition = (of.scope == self._scope(scope), of.entity_key == key(*entity), of.kind == kind)
        for value, expires in self._all(sa.select(of.value, of.expires).where(*condition)):
            return Credential(entity, kind, value, expires)
        return None

    def credentials(self, scope: str, kind: str) -> Sequence[Credential]:
        of = schema.credentials.c
        condition = (of.scope == self._scope(scope), of.kind == kind)
        query = (
            sa.select(of.type, of.name, of.value, of.expires).where(*condition).order_by(of.name)
        )
        return [
            Credential(Entity(type, name), kind, value, expires)
            for type, name, value, expires in self._all(query)
        ]

    def with_credential(
        self, scope: str, kind: str, entities: Sequence[Entity]
    ) -> frozenset[Entity]:
        of = schema.credentials.c
        by_key = {key(*entity): entity for entity in entities}
        holders: set[Entity] = set()
        number = self._scope(scope)
        for keys in _parts(list(by_key)):
            condition = (of.scope == number, of.kind == kind, of.entity_key.in_(keys))
            query = sa.select(of.entity_key).where(*condition)
            holders.update(by_key[bytes(row.entity_key)] for row in self._all(query))
        return frozenset(holders)

    def ids(self, scope: str, entities: Sequence[Entity]) -> Mapping[Entity, int]:
        of = schema.entities.c
        by_key = {key(*entity): entity for entity in entities}
        ids: dict[Entity, int] = {}
        number = self._scope(scope)
        for keys in _parts(list(by_key)):
            query = sa.select(of.key, of.id).where(of.scope == number, of.key.in_(keys))
            for found_key, id in self._all(query):
                ids[by_key[bytes(found_key)]] = id
        return ids

    # Search

    def matching_ids(self, scope: str, clauses: Sequence[Sequence[Term]]) -> Sequence[int]:
        with translated_errors():
            return search_engine.find(self._connection, self._scope(scope), clauses)

    def stored(self, scope: str, ids: Sequence[int] | None = None) -> Iterator[tuple[int, Entity]]:
        of = schema.entities.c
        number = self._scope(scope)
        in_scope = sa.select(of.id, of.type, of.name).where(of.scope == number)
        queries = (
            [in_scope] if ids is None else (in_scope.where(of.id.in_(part)) for part in _parts(ids))
        )
        for query in queries:
            for id, type, name in self._each(query):
                yield id, Entity(intern(type), name)

    def shown_names(
        self, scope: str, ids: Sequence[int] | None = None
    ) -> Iterator[tuple[int, str]]:
        number = self._scope(scope)
        with translated_errors():
            if ids is None:
                yield from search_engine.all_names(self._connection, number)
            else:
                yield from search_engine.names(self._connection, number, ids)

    # Queries

    def _scope(self, name: str) -> int:
        """The number of a scope; an unused number if nothing was ever stored in it."""
        query = sa.select(schema.scopes.c.id).where(schema.scopes.c.name == name)
        with translated_errors():
            id = self._connection.execute(query).scalar()
        return _NOWHERE if id is None else int(id)

    def _counter(self) -> sa.Row[Any]:
        with translated_errors():
            return self._connection.execute(sa.select(schema.counter)).one()

    def _all(self, query: sa.Select[Any]) -> Sequence[Any]:
        check()
        with translated_errors():
            return self._connection.execute(query).all()

    def _rows(self, table: sa.Table, scope: int, *names: str) -> Iterator[Any]:
        columns = [table.c[name] for name in names]
        return self._each(sa.select(*columns).where(table.c.scope == scope))

    def _each(self, query: sa.Select[Any]) -> Iterator[Any]:
        """The rows, page by page, not all in memory."""
        for page in self._pages(query):
            yield from page

    def _pages(self, query: sa.Select[Any]) -> Iterator[Sequence[Any]]:
        """The rows in pages, unconverted from the driver: none of our columns needs conversion."""
        options = {"stream_results": True}
        with translated_errors():
            result = self._connection.execute(query, execution_options=options)
        try:
            with translated_errors():
                rows: Sequence[Any] = result.fetchmany(1)  # it has prefetched one, to inspect it
            cursor: Any = result.cursor
            while rows:
                check()
                yield rows
                with translated_errors(), translated_driver_errors(self._connection):
                    rows = cursor.fetchmany(PAGE_ROWS)
        finally:
            result.close()


def _entity(named: dict[tuple[str, str], Entity], type: str, name: str) -> Entity:
    """The single object for the entity in these facts."""
    entity = named.get((type, name))
    if entity is None:
        entity = named[(type, name)] = Entity(intern(type), name)
    return entity


def _parts(keys: Sequence[T]) -> Iterator[Sequence[T]]:
    for start in range(0, len(keys), FEW):
        yield keys[start : start + FEW]
