"""Effects of a write: changes of facts, and of the data stored with them.

An effect belongs to a *scope*: a realm by its name, or a directory as `@name`. The change feed
carries each effect as one row, which can be decoded on its own.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Final, NamedTuple

from lakewarden.expressions.lookup import read_lookups, write_lookups
from lakewarden.kernel.change import (
    AttributeChanged,
    Change,
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
from lakewarden.kernel.relations import MembershipRow, OwnerRow, RelationRow
from lakewarden.kernel.statement_file import read_statements, write_statement
from lakewarden.models import own
from lakewarden.service.link import Asset, Link
from lakewarden.service.realm import Realm, Token
from lakewarden.service.system import System

Document = Mapping[str, object]
"""A JSON object: stored data about a subject that decisions do not need."""

About = Entity | str
"""The subject of a document: an entity, or the statement with this id."""


@dataclass(frozen=True, slots=True)
class DocumentChanged:
    """Stores a document; None removes it.

    The document of an entity is dropped and renamed with the entity; that of a statement is removed
    with the statement.
    """

    about: About
    body: Document | None


@dataclass(frozen=True, slots=True)
class ValueChanged:
    """Stores a value in time of an entity's aspect; None removes the value with this mark.

    `time` is in milliseconds since the epoch; values of the same time differ by their `mark`.
    Values are dropped and renamed with the entity.
    """

    entity: Entity
    aspect: str
    time: int
    mark: str
    body: Document | None


@dataclass(frozen=True, slots=True)
class SecretChanged:
    """Stores an entity's secret, encrypted (`sealed`); None removes it."""

    entity: Entity
    key: str
    sealed: str | None


@dataclass(frozen=True, slots=True)
class TokenChanged:
    """Makes a token valid, or (with `token` None) invalid. In the scope of a directory."""

    id: str
    token: Token | None


@dataclass(frozen=True, slots=True)
class RealmChanged:
    """Stores a realm with these settings; None drops it with its contents."""

    name: str
    realm: Realm | None


@dataclass(frozen=True, slots=True)
class LinkChanged:
    """Links two entities for `keeper`; None removes the link. In the scope of a directory.

    A link is dropped with either entity or its realm, and renamed with an entity.
    """

    link: Link
    keeper: str | None


Effect = (
    Change
    | DocumentChanged
    | ValueChanged
    | SecretChanged
    | TokenChanged
    | RealmChanged
    | LinkChanged
)


class ValuePlace(NamedTuple):
    """The sort key of the values in time of an aspect."""

    time: int
    name: str
    mark: str


class ValueRow(NamedTuple):
    """A stored time-series value; `mark` distinguishes values of one time."""

    entity: Entity
    time: int
    mark: str
    body: Document


class ValueSize(NamedTuple):
    """The number of values in time of an aspect of a type, and of their characters."""

    type: str
    aspect: str
    rows: int
    size: int


class FeedRow(NamedTuple):
    """One effect in the change feed; `row` is JSON text, None if nothing remains.

    Rows of one revision belong together; `seq` numbers them from 0 in their order.
    """

    revision: int
    seq: int
    scope: str
    kind: str
    key: str
    op: str
    row: str | None


class Encoded(NamedTuple):
    """The columns of an effect's row in the feed."""

    kind: str
    key: str
    op: str
    row: str | None


PUT: Final = "put"
DROP: Final = "drop"
MOVE: Final = "move"
RENAME: Final = "rename"


def canonical(value: object) -> str:
    """JSON text in canonical form: sorted members, no spaces."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def encode(effect: Effect) -> Encoded:
    """The effect in the form of the feed."""
    kind, key, op, row = _encoded(effect)
    return Encoded(kind, canonical(key), op, None if row is None else canonical(row))


def _encoded(effect: Effect) -> tuple[str, object, str, object]:
    match effect:
        case EntityAdded(entity, parent):
            return "entity", entity, PUT, {"parent": parent}
        case EntityDropped(entity):
            return "entity", entity, DROP, None
        case EntityMoved(entity, parent):
            return "entity", entity, MOVE, {"parent": parent}
        case EntityRenamed(entity, name):
            return "entity", entity, RENAME, {"name": name}
        case RelationChanged(relation, present):
            return "relation", relation, *_state_of(present)
        case AttributeChanged(entity, attribute, values):
            return "attribute", (entity, attribute), *_stored_of(list(values) or None)
        case OwnerChanged(owner, present):
            return "owner", owner, *_state_of(present)
        case PrincipalChanged(principal, present):
            return "principal", principal, *_state_of(present)
        case MembershipChanged(membership, present):
            return "membership", membership, *_state_of(present)
        case StatementAdded(statement):
            return "statement", statement.id, PUT, write_statement(statement)
        case StatementRemoved(id):
            return "statement", id, DROP, None
        case DocumentChanged(about, body):
            return "document", about, *_stored_of(body)
        case ValueChanged(entity, aspect, time, mark, body):
            return "value", (entity, aspect, time, mark), *_stored_of(body)
        case SecretChanged(entity, name, sealed):
            return "secret", (entity, name), *_stored_of(sealed)
        case _:
            return _encoded_of_the_server(effect)


def _token(row: Mapping[str, Any]) -> Token:
    return Token(**{**row, "groups": tuple(row.get("groups", ()))})


def _encoded_of_the_server(
    effect: TokenChanged | RealmChanged | LinkChanged,
) -> tuple[str, object, str, object]:
    match effect:
        case TokenChanged(id, token):
            return "token", id, *_stored_of(None if token is None else asdict(token))
        case RealmChanged(name, realm):
            return "realm", name, *_stored_of(None if realm is None else _realm_row(realm))
        case LinkChanged(link, keeper):
            return "link", link, *_stored_of(None if keeper is None else {"keeper": keeper})


def _state_of(present: bool) -> tuple[str, object]:
    return (PUT, {}) if present else (DROP, None)


def _stored_of(row: object) -> tuple[str, object]:
    return (DROP, None) if row is None else (PUT, row)


def _realm_row(realm: Realm) -> dict[str, object]:
    row = {**asdict(replace(realm, lookups={})), "deleted": sorted(realm.deleted)}
    if realm.text is None:  # the form that releases without texts write
        del row["text"]
    del row["lookups"]
    if realm.lookups:
        row["lookups"] = write_lookups(realm.lookups)
    return row


def decode(feed_row: FeedRow, system: System | None) -> Effect:
    """The effect of a feed row.

    `system` is that of the row's realm; None for a directory's scope or the server's. Raises
    `BadInput` for a kind that this release does not know.
    """
    key = json.loads(feed_row.key)
    row = None if feed_row.row is None else json.loads(feed_row.row)
    match feed_row.kind:
        case "entity":
            return _entity_effect(feed_row.op, Entity(*key), row)
        case "relation":
            kind, source, target = key
            edge = RelationRow(kind, Entity(*source), Entity(*target))
            return RelationChanged(edge, row is not None)
        case "attribute":
            return AttributeChanged(Entity(*key[0]), key[1], tuple(row or ()))
        case "owner":
            entity, owner, ownership = key
            owned = OwnerRow(Entity(*entity), Principal(*owner), ownership)
            return OwnerChanged(owned, row is not None)
        case "principal":
            return PrincipalChanged(Principal(*key), row is not None)
        case "membership":
            member, of = key
            membership = MembershipRow(Principal(*member), Principal(*of))
            return MembershipChanged(membership, row is not None)
        case "statement":
            return StatementRemoved(key) if row is None else _statement(key, row, system)
        case "document":
            return DocumentChanged(key if isinstance(key, str) else Entity(*key), row)
        case "value":
            entity, aspect, time, mark = key
            return ValueChanged(Entity(*entity), aspect, time, mark, row)
        case "secret":
            return SecretChanged(Entity(*key[0]), key[1], row)
        case _:
            return _of_the_server(feed_row.kind, key, row)


def _of_the_server(kind: str, key: Any, row: Any) -> Effect:
    match kind:
        case "token":
            return TokenChanged(key, None if row is None else _token(row))
        case "realm":
            return RealmChanged(key, None if row is None else _realm(row))
        case "link":
            first, second = (Asset(realm, Entity(*entity)) for realm, entity in key)
            return LinkChanged(Link(first, second), None if row is None else row["keeper"])
        case second:
            raise BadInput(f"the change feed holds `{second}`, which is unknown")


def _entity_effect(op: str, entity: Entity, row: Any) -> Effect:
    match op:
        case "put":
            return EntityAdded(entity, _parent(row))
        case "move":
            return EntityMoved(entity, _parent(row))
        case "rename":
            return EntityRenamed(entity, row["name"])
        case _:
            return EntityDropped(entity)


def _parent(row: Any) -> Entity | None:
    return None if row["parent"] is None else Entity(*row["parent"])


def _statement(id: str, row: Any, system: System | None) -> Effect:
    if system is None:
        raise BadInput(f"the change feed holds statement `{id}` outside any realm")
    read = read_statements([row], system.model, system.spelling, "change feed", builtin=True)
    return StatementAdded(read[0])


def _realm(row: Any) -> Realm:
    text = own.of_table(row.get("text"), "change feed")
    lookups = read_lookups(row.get("lookups", {}), "change feed")
    read = {"deleted": frozenset(row["deleted"]), "text": text, "lookups": lookups}
    return Realm(**{**row, **read})
