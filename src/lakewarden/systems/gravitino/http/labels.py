"""Shared by tags and policies: both are attached to objects, and inherited downwards.

An object has its own labels, and inherits those of its containers up to the catalog; a label that
it has both ways counts as its own. A label is only shown to callers who may read it, inherited or
not.
SOURCE: gravitino reference 3.5, 4.3, 4.4 and 9.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pyroaring import BitMap

from lakewarden.http.exchange import Exchange, Reply
from lakewarden.kernel.change import RelationChanged
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.relations import RelationRow
from lakewarden.names.canonical import quoted
from lakewarden.service.state import RealmState
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.gravitino import names as gravitino
from lakewarden.systems.gravitino.http.authorization import (
    allow,
    entity,
    is_stored,
    listed,
    visible,
    write,
)
from lakewarden.systems.gravitino.http.bodies import Json, is_on, ok
from lakewarden.systems.gravitino.http.errors import (
    Failure,
    already_exists,
    illegal,
    no_such_entity,
)
from lakewarden.systems.gravitino.http.object_store import document, documents
from lakewarden.systems.gravitino.http.permissions import no_such_object
from lakewarden.systems.gravitino.http.securable import object_of_path

MOST = 1_000
"""The maximum number of labels in one call."""


@dataclass(frozen=True, slots=True)
class Label:
    """Tags, or policies.

    `type` is the entity type and the kind of relation, `plural` the word in paths and replies.
    `check` refuses to attach a label with this document to an object.
    """

    type: str
    plural: str
    show: Callable[[str, Json], Json]
    check: Callable[[Entity, Json, Entity], None]

    @property
    def repeated(self) -> str:
        """The exception's name for a label that the object already has."""
        return f"{self.type.capitalize()}AlreadyAssociatedException"


def list_all(label: Label, exchange: Exchange) -> Reply:
    """The metalake's labels that the caller may read: names, or with `details=true` the labels."""
    labels = listed(exchange, f"{label.type}.list", entity(exchange, "metalake"))
    if not is_on(exchange, "details"):
        return ok(names=[gravitino.full_name(item) for item in labels])
    return ok(**{label.plural: _label_bodies(label, exchange, labels)})


def objects(label: Label, exchange: Exchange) -> Reply:
    """The objects that have the label themselves, of those that the caller may load."""
    target = entity(exchange, label.type)
    state = allow(exchange, f"{label.type}.objects.list", target)
    coded = state.matrix.snapshot.coded
    id = coded.tree.find(target)
    sources = BitMap() if id is None else coded.relations[label.type].sources_of(BitMap([id]))
    carrying = [coded.tree.entity(source) for source in coded.tree.ordered(sources)]
    shown = visible(exchange, f"{label.type}.objects.list", carrying, target)
    bodies = [{"fullName": gravitino.full_name(place), "type": place.type} for place in shown]
    return ok(metadataObjects=bodies)


def of_object(label: Label, exchange: Exchange) -> Reply:
    """The labels that an object has or inherits, of those that the caller may read."""
    on = object_of_path(exchange)
    operation = f"object.{label.plural}.list"
    state = allow(exchange, operation, on, missing=no_such_object)
    own, inherited = carried_labels(state, label, on)
    shown = visible(exchange, operation, [*own, *inherited], on)
    if not is_on(exchange, "details"):
        return ok(names=[gravitino.full_name(item) for item in shown])
    bodies = _label_bodies(label, exchange, shown)
    for item, body in zip(shown, bodies, strict=True):
        body["inherited"] = item not in own
    return ok(**{label.plural: bodies})


def one_of_object(label: Label, exchange: Exchange) -> Reply:
    """One label that an object has or inherits."""
    on, target = object_of_path(exchange), entity(exchange, label.type)
    operation = f"object.{label.plural}.load"
    state = allow(exchange, operation, on, missing=no_such_object, targets={label.type: target})
    own, inherited = carried_labels(state, label, on)
    if target not in own and target not in inherited:
        missing = no_such_entity(target)
        has_not = f"{_object_text(on)} has no {label.type} {quoted(gravitino.full_name(target))}"
        raise Failure(missing.status, missing.code, missing.type, has_not)
    body = label.show(gravitino.full_name(target), document(exchange, target))
    return ok(**{label.type: {**body, "inherited": target not in own}})


def associate(
    label: Label, exchange: Exchange, to_add: list[str] | None, to_remove: list[str] | None
) -> Reply:
    """Attaches labels to an object and detaches others; the reply names the object's own labels.

    A label that is both to be added and to be removed is left as it is.
    """
    on = object_of_path(exchange)
    if to_add is None and to_remove is None:
        raise illegal("body: nothing to add and nothing to remove is given")
    add, remove = (
        _labels_of_names(label, exchange, to_add),
        _labels_of_names(label, exchange, to_remove),
    )

    def change_labels(transaction: WriteTransaction) -> list[Entity]:
        state = transaction.realm(exchange.realm)
        _refuse(label, transaction, exchange.realm, on, add, remove)
        own = set(carried_labels(state, label, on)[0])
        both = set(add) & set(remove)
        new = [item for item in add if item not in own | both]
        removed = [item for item in remove if item in own and item not in both]
        if add and not new and not remove:
            names = ", ".join(quoted(gravitino.full_name(item)) for item in add)
            raise already_exists(f"{_object_text(on)} carries {names} already", label.repeated)
        transaction.change(
            exchange.realm,
            *(RelationChanged(RelationRow(label.type, on, item), False) for item in removed),
            *(RelationChanged(RelationRow(label.type, on, item), True) for item in new),
        )
        return sorted((own | set(new)) - set(removed))

    operation = f"object.{label.plural}.associate"
    if add or remove:
        lists = {label.plural: tuple(dict.fromkeys((*add, *remove)))}
        details = {"add": to_add or [], "remove": to_remove or []}
        after = write(
            exchange,
            operation,
            on,
            change_labels,
            missing=no_such_object,
            details=details,
            lists=lists,
        )
    else:
        after = write(exchange, f"{operation}_none", on, change_labels, missing=no_such_object)
    shown = visible(exchange, f"object.{label.plural}.list", after, on)
    return ok(names=[gravitino.full_name(item) for item in shown])


def carried_labels(
    state: RealmState, label: Label, on: Entity
) -> tuple[list[Entity], list[Entity]]:
    """The labels that an object has itself, and those that it only inherits; each by name."""
    own = _own_labels(state, label, on)
    inherited = set[Entity]()
    above = gravitino.parent(on)
    while above is not None and above.type != "metalake":
        inherited.update(_own_labels(state, label, above))
        above = gravitino.parent(above)
    return own, sorted(inherited.difference(own))


def _own_labels(state: RealmState, label: Label, on: Entity) -> list[Entity]:
    coded = state.matrix.snapshot.coded
    id = coded.tree.find(on)
    targets = () if id is None else coded.relations[label.type].of(id)
    return sorted(coded.tree.entity(target) for target, _ in targets)


def _refuse(
    label: Label,
    transaction: WriteTransaction,
    realm: str,
    on: Entity,
    add: Sequence[Entity],
    remove: Sequence[Entity],
) -> None:
    """Raises `Failure` if a label does not exist, or cannot be attached to this object."""
    state = transaction.realm(realm)
    if (add or remove) and on.type not in state.system.model.relations[label.type].sources:
        raise illegal(f"a {on.type} carries no {label.plural}")
    for item in (*add, *remove):
        if not is_stored(state, item):
            raise no_such_entity(item)
    bodies = transaction.store.documents(realm, list(add))
    for item in add:
        label.check(item, dict(bodies.get(item) or {}), on)


def _labels_of_names(label: Label, exchange: Exchange, names: list[str] | None) -> list[Entity]:
    distinct_names = list(dict.fromkeys(names or ()))
    if len(distinct_names) > MOST:
        raise illegal(f"body: {len(distinct_names)} {label.plural}, at most {MOST} are allowed")
    return [
        gravitino.entity(exchange.params["metalake"], label.type, name) for name in distinct_names
    ]


def _label_bodies(label: Label, exchange: Exchange, labels: Sequence[Entity]) -> list[Json]:
    bodies = documents(exchange, labels)
    return [
        label.show(gravitino.full_name(item), body)
        for item, body in zip(labels, bodies, strict=True)
    ]


def _object_text(on: Entity) -> str:
    return f"{on.type} {quoted(gravitino.full_name(on))}"


def check_any_object(item: Entity, document: Json, on: Entity) -> None:
    """Most labels may be attached to every object that can have labels."""
