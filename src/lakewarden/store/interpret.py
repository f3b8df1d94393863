"""Applies effects to rows.

An effect is split into operations on one table each. Tables do not depend on one another, so only
the order within a table matters. Consecutive operations of the same kind on a table are executed as
one statement, even if the effects were interleaved.
"""

from __future__ import annotations

from collections.abc import Sequence

import sqlalchemy as sa

from lakewarden.expressions.lookup import write_lookups
from lakewarden.kernel.change import (
    AttributeChanged,
    EntityAdded,
    EntityDropped,
    EntityMoved,
    EntityRenamed,
    MembershipChanged,
    OwnerChanged,
    PrincipalChanged,
    RelationChanged,
    StatementAdded,
    StatementRemoved,
)
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.relations import OwnerRow, RelationRow
from lakewarden.kernel.statement_file import write_statement
from lakewarden.service.effect import (
    DocumentChanged,
    Effect,
    LinkChanged,
    RealmChanged,
    SecretChanged,
    TokenChanged,
    ValueChanged,
    canonical,
)
from lakewarden.service.link import Link
from lakewarden.service.realm import Realm, Token
from lakewarden.store import operation as to
from lakewarden.store.bulk import Row
from lakewarden.store.key import STATEMENT, document_key, key
from lakewarden.store.limits import Size
from lakewarden.store.operation import TOKEN_COLUMNS, Operation
from lakewarden.store.search_rows import Changed


def interpret(
    connection: sa.Connection, scope: int, effects: Sequence[Effect], texts: Sequence[str | None]
) -> Size:
    """Applies the effects to the rows of the scope, in order.

    Returns the change in the stored size of the scope's documents and values in time.

    `texts` are the change feed rows of the effects: a document is stored as the same text. Raises
    `Unknown` for an entity that an effect requires and that is not stored.
    """
    work = _Work()
    for effect, text in zip(effects, texts, strict=True):
        _interpret_effect(scope, effect, text, work)
    search_changes = Changed(scope, effects)
    search_changes.remove_dropped(connection)
    changed = work.perform(connection)
    search_changes.add_changed(connection)
    return changed


class _Work:
    """Operations by table, in order; consecutive ones of the same kind are grouped."""

    def __init__(self) -> None:
        self._by_table: dict[str, list[tuple[Operation, list[Row]]]] = {}

    def add(self, operation: Operation, row: Row) -> None:
        runs = self._by_table.get(operation.table)
        if runs is None:
            self._by_table[operation.table] = [(operation, [row])]
        elif runs[-1][0] is operation:
            runs[-1][1].append(row)
        else:
            runs.append((operation, [row]))

    def perform(self, connection: sa.Connection) -> Size:
        total = Size()
        for runs in self._by_table.values():
            for operation, rows in runs:
                changed = operation.perform(connection, rows)
                if changed is not None:
                    total = total.plus(changed)
        return total


def _interpret_effect(scope: int, effect: Effect, text: str | None, work: _Work) -> None:
    match effect:
        case EntityAdded(entity, parent):
            work.add(to.ADD_ENTITY, (scope, key(*entity), *entity, *_parent(parent)))
        case EntityDropped(entity):
            dropped = (scope, key(*entity), *entity)
            for operation in to.DROP_ENTITY:
                work.add(operation, dropped)
        case EntityMoved(entity, parent):
            work.add(to.MOVE_ENTITY, (*_parent(parent), scope, key(*entity), *entity))
        case EntityRenamed(entity, name):
            renamed = (key(entity.type, name), name, scope, key(*entity), *entity)
            for operation in to.RENAME_ENTITY:
                work.add(operation, renamed)
        case RelationChanged(edge, present):
            work.add(*_relation(scope, edge, present))
        case AttributeChanged(entity, attribute, values):
            described = (scope, key(*entity), key(attribute), *entity, attribute, values)
            work.add(to.SET_ATTRIBUTE, described)
        case OwnerChanged(owner, present):
            work.add(*_owner(scope, owner, present))
        case PrincipalChanged(principal, present):
            stored = (scope, key(*principal), *principal)
            work.add(to.ADD_PRINCIPAL if present else to.DROP_PRINCIPAL, stored)
        case MembershipChanged((member, of), present):
            row = (scope, key(*member), key(*of), *member, *of)
            work.add(to.ADD_MEMBERSHIP if present else to.DROP_MEMBERSHIP, row)
        case StatementAdded(statement):
            body = canonical(write_statement(statement))
            work.add(to.PUT_STATEMENT, (scope, key(statement.id), statement.id, body))
        case StatementRemoved(id):
            work.add(to.DROP_STATEMENT, (scope, key(id)))
            work.add(to.DROP_DOCUMENT, (scope, STATEMENT, key(id)))
        case _:
            _interpret_other(scope, effect, text, work)


def _interpret_other(
    scope: int,
    effect: (
        DocumentChanged | ValueChanged | SecretChanged | TokenChanged | RealmChanged | LinkChanged
    ),
    text: str | None,
    work: _Work,
) -> None:
    match effect:
        case DocumentChanged(about, None):
            work.add(to.DROP_DOCUMENT, (scope, *document_key(about)))
        case DocumentChanged(about):
            named = ("", about) if isinstance(about, str) else about
            row = (scope, *document_key(about), *named, text)
            work.add(to.PUT_DOCUMENT, row)
        case ValueChanged(entity, aspect, time, mark, None):
            work.add(to.DROP_VALUE, (scope, key(*entity), aspect, time, mark))
        case ValueChanged(entity, aspect, time, mark):
            at = (scope, key(*entity), aspect, time, mark)
            work.add(to.PUT_VALUE, (*at, *entity, text))
        case SecretChanged(entity, name, None):
            work.add(to.DROP_SECRET, (scope, key(*entity), key(name)))
        case SecretChanged(entity, name, sealed):
            work.add(to.PUT_SECRET, (scope, key(*entity), key(name), *entity, name, sealed))
        case TokenChanged(id, None):
            work.add(to.DROP_TOKEN, (scope, key(id)))
        case TokenChanged(id, token) if token is not None and token.id == id:
            work.add(to.PUT_TOKEN, (scope, key(id), *_token_row(token)))
        case RealmChanged(name, None):
            for operation in to.CLEAR:
                work.add(operation, (scope,))
            work.add(to.CLEAR_USAGE, (name,))
            work.add(to.UNLINK_REALM, (name,))
        case RealmChanged(name, realm) if realm is not None and realm.name == name:
            work.add(to.PUT_REALM, (scope, *_realm_row(realm)))
            if realm.text is not None:
                work.add(to.PUT_MODEL, (realm.text.digest, realm.text.text))
        case LinkChanged(link, None):
            work.add(to.DROP_LINK, _link_key(link))
        case LinkChanged(link, keeper):
            row = (*_link_key(link), *link.one.entity, *link.other.entity, keeper)
            work.add(to.PUT_LINK, row)
        case _:
            raise BadInput("the key of the change does not match its content")


def _parent(parent: Entity | None) -> Row:
    return (None, None, None) if parent is None else (key(*parent), *parent)


def _relation(scope: int, edge: RelationRow, present: bool) -> tuple[Operation, Row]:
    kind, source, target = edge
    row_key = (scope, key(*source), kind, key(*target))
    return (
        (to.ADD_RELATION, (*row_key, *source, *target)) if present else (to.DROP_RELATION, row_key)
    )


def _owner(scope: int, row: OwnerRow, present: bool) -> tuple[Operation, Row]:
    entity, owner, ownership = row
    row_key = (scope, key(*entity), _owner_key(owner, ownership))
    return (
        (to.ADD_OWNER, (*row_key, *entity, *owner, ownership))
        if present
        else (to.DROP_OWNER, row_key)
    )


def _owner_key(owner: Principal, ownership: str) -> bytes:
    return key(*owner, ownership)


def _link_key(link: Link) -> Row:
    return tuple(part for realm, entity in link for part in (realm, key(*entity)))


def _token_row(token: Token) -> Row:
    groups = canonical(list(token.groups)) if token.groups else None
    return tuple(groups if name == "groups" else getattr(token, name) for name in TOKEN_COLUMNS)


def _realm_row(realm: Realm) -> Row:
    plain = (realm.name, realm.model, realm.directory)
    return (
        *plain,
        canonical(dict(realm.settings)),
        canonical(sorted(realm.deleted)),
        canonical(dict(realm.spellings)),
        "" if realm.text is None else realm.text.digest,
        canonical(write_lookups(realm.lookups)),
    )
