"""Applies effects to the full text index, in the transaction that writes them.

Removed entities are deleted from the index before the other tables change, since their ids are
looked up there; new and changed entities are added afterwards.

INVARIANT: the document of an entity is written with the entity or later, never before.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from itertools import groupby
from typing import Any, Final, cast

import sqlalchemy as sa

from lakewarden.kernel.change import EntityAdded, EntityDropped, EntityRenamed
from lakewarden.kernel.entity import Entity
from lakewarden.registry import registry
from lakewarden.service.effect import Document, DocumentChanged, Effect, RealmChanged
from lakewarden.service.search_terms import Indexed, SearchTerms
from lakewarden.store import schema, search_engine
from lakewarden.store.key import ENTITY, key
from lakewarden.store.search_engine import Put

FILL_ROWS: Final = 5_000
"""The number of entities per batch when the index is rebuilt."""

_NAME: Final = object()
_KEPT: Final = object()
"""Of an entity, either only the name is known, or its document is in the table of documents."""


class Changed:
    """The entities whose terms are changed by a list of effects."""

    def __init__(self, scope: int, effects: Iterable[Effect]) -> None:
        self._scope = scope
        self._known: dict[Entity, object] = {}
        self._fresh: set[Entity] = set()
        self._gone: list[Entity] = []
        self._former: dict[Entity, Entity] = {}
        self._is_cleared = False
        for effect in effects:
            if isinstance(effect, _CONCERNED):
                self._collect(effect)

    def _collect(self, effect: Effect) -> None:
        match effect:
            case EntityAdded(entity, _) if is_searched(entity):
                self._known[entity] = _NAME
                self._fresh.add(entity)
            case DocumentChanged(Entity() as entity, body) if is_searched(entity):
                self._known[entity] = _NAME if body is None else body
            case EntityDropped(entity):
                self._known.pop(entity, None)
                self._fresh.discard(entity)
                self._gone.append(self._former.pop(entity, entity))
            case EntityRenamed(entity, name):
                self._rename(entity, Entity(entity.type, name))
            case RealmChanged(_, None):
                self._known.clear()
                self._fresh.clear()
                self._is_cleared = True

    def _rename(self, entity: Entity, renamed: Entity) -> None:
        self._former[renamed] = self._former.pop(entity, entity)
        document = self._known.pop(entity, _KEPT)
        if entity in self._fresh:
            self._fresh.remove(entity)
            self._fresh.add(renamed)
        if is_searched(renamed):
            self._known[renamed] = document

    def remove_dropped(self, connection: sa.Connection) -> None:
        """Removes search rows of dropped entities, before the other tables change."""
        dropped = [(self._scope, key(*entity)) for entity in self._gone if is_searched(entity)]
        search_engine.drop(connection, dropped)
        if self._is_cleared:
            search_engine.clear(connection, self._scope)

    def add_changed(self, connection: sa.Connection) -> None:
        """Adds new and changed entities, after the other tables changed."""
        unchanged = [entity for entity, document in self._known.items() if document is _KEPT]
        documents = _documents(connection, self._scope, unchanged) if unchanged else {}
        rows = []
        for entity, document in self._known.items():
            body = documents.get(entity, _NAME) if document is _KEPT else document
            terms = terms_of(entity, None if body is _NAME else cast("Document", body))
            if terms is not None:
                rows.append(Put(self._scope, key(*entity), *terms, entity in self._fresh))
        search_engine.put(connection, rows)


_CONCERNED: Final = (EntityAdded, DocumentChanged, EntityDropped, EntityRenamed, RealmChanged)


def terms_of(entity: Entity, document: Document | None) -> Indexed | None:
    """The search terms of an entity with a document; None: no search shows it."""
    for terms in _searching():
        if terms.is_searched(entity):
            return terms.terms(entity, document)
    return None


def is_searched(entity: Entity) -> bool:
    """Whether the search of any system may show the entity."""
    return any(terms.is_searched(entity) for terms in _searching())


@cache
def _searching() -> tuple[SearchTerms, ...]:
    return tuple(terms for _, terms in registry().with_part("search"))


def _documents(
    connection: sa.Connection, scope: int, entities: list[Entity]
) -> Mapping[Entity, Document]:
    documents: dict[Entity, Document] = {}
    of = schema.documents.c
    for entity in entities:
        condition = (of.scope == scope, of.what == ENTITY, of.key == key(*entity))
        body = connection.execute(sa.select(of.body).where(*condition)).scalar()
        if body is not None:
            documents[entity] = json.loads(body)
    return documents


def fill(connection: sa.Connection) -> int:
    """Creates the search rows of everything that is stored; returns their number."""
    of, documents = schema.entities.c, schema.documents.c
    last = count = 0
    while True:
        beside = sa.and_(
            documents.scope == of.scope, documents.what == ENTITY, documents.key == of.key
        )
        query = (
            sa.select(of.id, of.scope, of.key, of.type, of.name, documents.body)
            .select_from(schema.entities.outerjoin(schema.documents, beside))
            .where(of.id > last)
            .order_by(of.id)
            .limit(FILL_ROWS)
        )
        rows = connection.execute(query).all()
        if not rows:
            return count
        last = rows[-1].id
        for _, rows_of_scope in groupby(_filled(rows), lambda row: row.scope):
            own = list(rows_of_scope)
            search_engine.put(connection, own)
            count += len(own)


def _filled(rows: Iterable[Any]) -> Iterator[Put]:
    for row in rows:
        entity = Entity(row.type, row.name)
        terms = terms_of(entity, None if row.body is None else json.loads(row.body))
        if terms is not None:
            yield Put(row.scope, bytes(row.key), *terms, True)
