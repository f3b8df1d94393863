"""Shared by all kinds of metadata objects: list, create, load, alter and drop.

A kind declares its own paths, bodies and updates; `routes_of` makes its five routes. Every object
is a document beside an entity, so one implementation serves schemas as well as the objects inside
them.
SOURCE: gravitino reference 3.1 to 3.3 and 4.3.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from lakewarden.http.exchange import Exchange, Reply, Route
from lakewarden.kernel.entity import Entity
from lakewarden.service.state import RealmState
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.gravitino import names as gravitino
from lakewarden.systems.gravitino.http import live, object_store
from lakewarden.systems.gravitino.http.authorization import entity, shown_ids, write
from lakewarden.systems.gravitino.http.bodies import Json, audit_of, ok, present
from lakewarden.systems.gravitino.http.errors import no_such_entity, unsupported
from lakewarden.systems.gravitino.http.updates import (
    SHARED,
    Draft,
    apply_shared,
    checked_properties,
    read_updates,
)

METALAKE = "/api/metalakes/{metalake}"
CATALOG = METALAKE + "/catalogs/{catalog}"
SCHEMA = CATALOG + "/schemas/{schema}"

MESSAGING: Final = "messaging"
"""The type of catalogs whose only schema is `DEFAULT`."""

DEFAULT: Final = "default"
"""The only schema of a messaging catalog; it exists from the start."""

Created = tuple[str, Json]
"""The name and the document of an object to create."""


def plain(name: str, body: Json) -> Json:
    """The reply's members for most objects: name, comment, properties, audit."""
    return present(
        name=name,
        comment=body.get("comment"),
        properties=body.get("properties") or {},
        audit=audit_of(body),
    )


def described(comment: str | None, properties: Mapping[str, str] | None) -> Json:
    """The document members of most new objects."""
    return present(comment=comment, properties=checked_properties(properties))


def nothing_else(
    exchange: Exchange, transaction: WriteTransaction, entity: Entity, stored: object
) -> None:
    """Most kinds store nothing in addition to the object itself."""


@dataclass(frozen=True, slots=True)
class Kind:
    """One kind of object.

    `type` is its entity type, `within` that of its container, `path` the path under which the
    container lists it. `create` is the operation's last word (`create`, `register`). `read` parses
    a new object from a request; `show` makes a reply's object from a name and a document. `family`
    is the required type of the catalog, None for any. `added` and `altered` store additional data
    of the object; `before_add` and `before_drop` refuse an addition or a drop.
    """

    type: str
    within: str
    path: str
    read: Callable[[Exchange], Created]
    show: Callable[[str, Json], Json] = plain
    updates: Any = SHARED
    apply: Callable[[Draft, Any], None] = apply_shared
    create: str = "create"
    family: str | None = None
    added: Callable[[Exchange, WriteTransaction, Entity, Json], None] = nothing_else
    altered: Callable[[Exchange, WriteTransaction, Entity, Draft], None] = nothing_else
    before_add: Callable[[RealmState, Entity], None] | None = None
    before_drop: Callable[[Exchange, RealmState, Entity], None] | None = None

    @property
    def one(self) -> str:
        """The path of one object."""
        return f"{self.path}/{{{self.type}}}"


def routes_of(kind: Kind) -> Sequence[Route]:
    """The kind's routes: list, create, load, alter, drop."""

    def route(
        method: str, path: str, verb: str, handle: Callable[[Kind, Exchange], Reply]
    ) -> Route:
        def handler(exchange: Exchange) -> Reply:
            return handle(kind, exchange)

        return Route(method, path, f"{kind.type}.{verb}", handler)

    return (
        route("GET", kind.path, "list", list_names),
        route("POST", kind.path, kind.create, create),
        route("GET", kind.one, "load", load),
        route("PUT", kind.one, "alter", alter),
        route("DELETE", kind.one, "drop", drop),
    )


def list_names(kind: Kind, exchange: Exchange) -> Reply:
    """The identifiers of the objects in a container that the caller may load."""
    container = entity(exchange, kind.within)
    operation = f"{kind.type}.list"
    live.allow_refreshed(exchange, operation, container)
    if kind.type in live.TYPES:
        live.refresh(exchange, container)
    state = exchange.realm_state
    names, cut = state.matrix.snapshot.coded.tree.names, len(container.name) + 1
    ids = shown_ids(exchange, state, operation, container)
    # Siblings are sorted if their names are; most are sorted already.
    return identifiers(gravitino.parts(container), sorted(names[id][cut:] for id in ids))


def identifiers(namespace: Sequence[str], names: Sequence[str]) -> Reply:
    """A list of identifiers in one namespace.

    Written piece by piece: ten thousand names take a few milliseconds.
    """
    encode = msgspec.json.encode
    head = b'{"namespace":' + encode(list(namespace)) + b',"name":'
    pieces = b"},".join(head + encode(name) for name in names)
    end = b"}]}" if names else b"]}"
    return Reply(200, b'{"code":0,"identifiers":[' + pieces + end)


def create(kind: Kind, exchange: Exchange) -> Reply:
    """A new object, owned by the caller."""
    container = entity(exchange, kind.within)
    name, body = kind.read(exchange)
    new = object_store.child(container, kind.type, name)

    def add_entity(transaction: WriteTransaction) -> Json:
        live.refuse_write(exchange, new)
        state = transaction.realm(exchange.realm)
        check_family(state, container, kind)
        if kind.before_add is not None:
            kind.before_add(state, new)
        stored = object_store.add(exchange, transaction, new, body)
        kind.added(exchange, transaction, new, stored)
        return stored

    stored = write(exchange, f"{kind.type}.{kind.create}", container, add_entity)
    return ok(**{kind.type: kind.show(name, stored)})


def load(kind: Kind, exchange: Exchange, operation: str = "") -> Reply:
    """One object."""
    target = entity(exchange, kind.type)
    required = operation or f"{kind.type}.load"
    live.allow_refreshed(exchange, required, target)
    body = live.document(exchange, target)
    if body is None:
        live.refresh_above(exchange, target)
        raise no_such_entity(target)
    return ok(**{kind.type: kind.show(object_store.last(target), body)})


def alter(kind: Kind, exchange: Exchange) -> Reply:
    """The object after the updates, all of them or none."""
    target = entity(exchange, kind.type)
    updates = read_updates(exchange, kind.updates)

    def apply_updates(transaction: WriteTransaction) -> Json:
        live.refuse_write(exchange, target)
        draft = object_store.draft(transaction, exchange.realm, target)
        for update in updates:
            kind.apply(draft, update)
        renamed = object_store.save(exchange, transaction, target, draft)
        kind.altered(exchange, transaction, renamed, draft)
        return kind.show(draft.name, draft.body)

    return ok(**{kind.type: write(exchange, f"{kind.type}.alter", target, apply_updates)})


def drop(kind: Kind, exchange: Exchange, operation: str = "") -> Reply:
    """Removes the object; `dropped` is false if there was none."""
    target = entity(exchange, kind.type)

    def drop_entity(transaction: WriteTransaction) -> bool:
        live.refuse_write(exchange, target)
        if kind.before_drop is not None:
            kind.before_drop(exchange, transaction.realm(exchange.realm), target)
        return object_store.drop(exchange, transaction, target)

    required = operation or f"{kind.type}.drop"
    return ok(dropped=write(exchange, required, target, drop_entity, missing=None))


def catalog_type(state: RealmState, within: Entity) -> str | None:
    """The type of the catalog that the entity is or is in; None if it is not known."""
    coded = state.matrix.snapshot.coded
    parts = gravitino.parts(within)
    id = coded.tree.find(Entity("catalog", f"{parts[0]}:{parts[1]}"))
    values = () if id is None else coded.attributes.get(id, {}).get(gravitino.TYPE, ())
    return values[0] if values else None


def check_family(state: RealmState, container: Entity, kind: Kind) -> None:
    """Raises `Failure` 405 if catalogs of this type have no such objects."""
    if kind.family is None:
        return
    family = catalog_type(state, container)
    if family is not None and family != kind.family:
        raise unsupported(f"a catalog of type `{family}` has no {kind.type}s")
