"""Invariants of every store, regardless of its history and of crashes."""

from __future__ import annotations

import sqlalchemy as sa

from lakewarden.service.audit import first_fault
from lakewarden.service.decision_service import DecisionService
from lakewarden.store import SqlStore, schema
from tests.reliability.estate import REALM
from tests.service.test_state import same

_OF_ENTITIES = (
    (schema.owners, "entity_key"),
    (schema.attributes, "entity_key"),
    (schema.relations, "source_key"),
    (schema.secrets, "entity_key"),
    (schema.documents, "key"),
)


def faults(store: SqlStore, behind: DecisionService | None = None) -> list[str]:
    """The violated invariants of the store; an empty list is the only good result.

    `behind` loaded an earlier revision: the feed must bring it to the same state as a full load.
    """
    fresh = DecisionService(store)
    fresh.open()
    found = [*_orphans(store), *_revisions(store), *_unowned(store), *_totals(store)]
    with store.reading() as reading:
        fault = first_fault(reading.audit(), reading.audit_head)
    if fault is not None:
        found.append(f"audit row {fault.seq} {fault.reason}")
    if behind is not None and not same(behind.catch_up(), fresh.state):
        revisions = f"revision {behind.state.revision}, loaded anew {fresh.state.revision}"
        found.append(f"the change feed leads elsewhere than the stored rows: {revisions}")
    return found


def _orphans(store: SqlStore) -> list[str]:
    """Rows about entities that are not stored."""
    entities, found = schema.entities, []
    with store.engine.connect() as connection:
        for rows, column in _OF_ENTITIES:
            about = sa.and_(entities.c.scope == rows.c.scope, entities.c.key == rows.c[column])
            query = (
                sa.select(sa.func.count())
                .select_from(rows.outerjoin(entities, about))
                .where(entities.c.id.is_(None))
            )
            if "what" in rows.c:
                query = query.where(rows.c.what == "entity")
            count = connection.execute(query).scalar_one()
            if count:
                found.append(f"{count} rows of {rows.name} are about nothing")
        parent = entities.alias()
        under = sa.and_(parent.c.scope == entities.c.scope, parent.c.key == entities.c.parent_key)
        lost = connection.execute(
            sa.select(sa.func.count())
            .select_from(entities.outerjoin(parent, under))
            .where(entities.c.parent_key.is_not(None), parent.c.id.is_(None))
        ).scalar_one()
        if lost:
            found.append(f"{lost} entities lie under nothing")
    return found


def _unowned(store: SqlStore) -> list[str]:
    entities, owners = schema.entities, schema.owners
    about = sa.and_(owners.c.scope == entities.c.scope, owners.c.entity_key == entities.c.key)
    here = sa.and_(schema.scopes.c.id == entities.c.scope, schema.scopes.c.name == REALM)
    query = (
        sa.select(sa.func.count())
        .select_from(entities.join(schema.scopes, here).outerjoin(owners, about))
        .where(owners.c.entity_key.is_(None))
    )
    with store.engine.connect() as connection:
        count = connection.execute(query).scalar_one()
    return [f"{count} objects have no owner"] if count else []


def _revisions(store: SqlStore) -> list[str]:
    """Revisions must have no gaps up to the counter, each with exactly its rows of the feed."""
    revisions, changes = schema.revisions, schema.changes
    with store.engine.connect() as connection:
        numbers = connection.execute(
            sa.select(revisions.c.revision).order_by(revisions.c.revision)
        ).scalars()
        counted = connection.execute(sa.select(schema.counter.c.revision)).scalar_one()
        found = [] if list(numbers) == list(range(1, counted + 1)) else ["revisions have gaps"]
        known = set(connection.execute(sa.select(revisions.c.write)).scalars())
        fed = set(connection.execute(sa.select(changes.c.write).distinct()).scalars())
    if known != fed:
        found.append(f"{len(known ^ fed)} writes have a revision or rows of the feed, not both")
    return found


def _totals(store: SqlStore) -> list[str]:
    """Compares the counts of each scope with its tables."""
    counted: dict[int, tuple[int, int]] = {}
    with store.engine.connect() as connection:
        for table in schema.MEASURED:
            for scope, body in connection.execute(sa.select(table.c.scope, table.c.body)):
                number, size = counted.get(scope, (0, 0))
                counted[scope] = (number + 1, size + len(body.encode()))
        table = schema.document_totals
        rows = connection.execute(sa.select(table.c.scope, table.c.documents, table.c.bytes))
        told = {scope: (number, size) for scope, number, size in rows}
    return [] if told == counted else [f"counted {told}, stored {counted}"]
