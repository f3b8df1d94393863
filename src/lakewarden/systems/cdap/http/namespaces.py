"""Namespaces: listed, created, configured, and deleted with all their contents.

The namespaces `default` and `system` always exist. A request to delete `default` empties it and
removes its preferences. A namespace may be created with an owner principal, as which its programs
run: this is a fact (`owners.RELATION`), regardless of its origin, and replies show the fact, not a
copy of it.
SOURCE: cdap reference 2.2, 2.11, 4.5; cdapio/cdap, DefaultNamespaceAdmin at v5.1.2.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from lakewarden.http.exchange import Exchange, Reply, Route, Services
from lakewarden.kernel.change import RelationChanged
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.relations import RelationRow
from lakewarden.kernel.request import Parts
from lakewarden.service.state import RealmState
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.cdap.http import object_store, owners
from lakewarden.systems.cdap.http.authorization import (
    Requirement,
    allow,
    allowed_entities,
    contents,
    event,
    is_allowed,
    is_stored,
    question,
    record_denied,
    refusal,
    require,
    visible,
    write,
    write_all,
)
from lakewarden.systems.cdap.http.bodies import (
    Body,
    Json,
    convert,
    empty_reply,
    ok,
    present,
    read,
    read_optional,
    text_reply,
)
from lakewarden.systems.cdap.http.deleting import decide_deletion, delete_all, record, refuse_all
from lakewarden.systems.cdap.http.errors import Failure, bad
from lakewarden.systems.cdap.http.ids import DEFAULT, SYSTEM, instance, last, namespace
from lakewarden.systems.cdap.http.preferences import MEMBER as PREFERENCES
from lakewarden.systems.cdap.http.refusals import irrevocable
from lakewarden.systems.cdap.http.running import refuse_running
from lakewarden.systems.cdap.settings import CdapSettings

PATH: Final = "/v3/namespaces/{namespace}"

RESERVED: Final = ("default", "system", "cdap")
"""Names that no new namespace may have."""

PRINCIPAL: Final = "principal"
KEYTAB: Final = "keytabURI"
QUEUE: Final = "scheduler.queue.name"
AS_PRINCIPAL: Final = "explore.as.principal"
_MAPPINGS: Final = ("root.directory", "hbase.namespace", "hive.database", PRINCIPAL)
"""The settings of a namespace that cannot change after its creation."""

_KEYS: Final = (QUEUE, KEYTAB, *_MAPPINGS)


class NamespaceBody(Body):
    """The body that creates a namespace."""

    description: str | None = None
    config: Json | None = None


def listed(exchange: Exchange) -> Reply:
    """The namespaces visible to the caller; only the name if the caller may not get it."""
    state = allow(exchange, "namespace.list")
    snapshot = state.matrix.snapshot
    tree = snapshot.coded.tree
    stored = {tree.entity(id) for id in snapshot.of_type("namespace")}
    visible_namespaces = visible(exchange, "namespace.list", sorted(stored | {DEFAULT}))
    readable = allowed_entities(exchange, "namespace.get", visible_namespaces)
    bodies = dict(zip(readable, object_store.documents(exchange, readable), strict=True))
    return ok(
        [
            _namespace_body(state, entity, bodies[entity])
            if entity in bodies
            else _name_body(entity)
            for entity in visible_namespaces
        ]
    )


def get(exchange: Exchange) -> Reply:
    """One namespace."""
    target = namespace(exchange)
    state = allow(exchange, "namespace.get", target)
    return ok(_namespace_body(state, target, object_store.document(exchange, target)))


def create(exchange: Exchange) -> Reply:
    """Creates a namespace; an existing one is not changed."""
    new = namespace(exchange)
    name = last(new)
    if name in RESERVED:
        raise bad(f"the namespace '{name}' is reserved")
    body = read_optional(exchange, NamespaceBody)
    config = _config(body.config or {})
    owner = config.get(PRINCIPAL)
    if (owner is None) is not (config.get(KEYTAB) is None):
        raise bad(f"expected both of `{PRINCIPAL}` and `{KEYTAB}`, or neither")
    targets = Parts(targets={"instance": instance(exchange)})

    def requirements(transaction: WriteTransaction) -> Sequence[Requirement]:
        state = transaction.realm(exchange.realm)
        again = Requirement("namespace.recreate", new, targets)
        # A caller who may not know that it exists is refused as if it did not.
        if is_stored(state, new) and is_allowed(exchange, state, again, transaction.now):
            return [again]
        return [Requirement("namespace.create", new, targets), *owners.requirements(_text(owner))]

    def add_namespace(transaction: WriteTransaction) -> str:
        if is_stored(transaction.realm(exchange.realm), new):
            return f"Namespace '{name}' already exists."
        settings = {key: value for key, value in config.items() if key != PRINCIPAL}
        document: Json = {"description": body.description or "", "config": settings}
        object_store.add(exchange, transaction, "namespace.create", new, document)
        if owner is not None:
            row = RelationRow(owners.RELATION, new, owners.principal_entity(str(owner)))
            transaction.change(exchange.realm, RelationChanged(row, True))
        return f"Namespace '{name}' created successfully."

    return text_reply(write_all(exchange, requirements, add_namespace, missing=None))


def update(exchange: Exchange) -> Reply:
    """Changes the description or settings; the mappings of a namespace stay as they are."""
    target = namespace(exchange)
    body = read(exchange, NamespaceBody)
    changed = _config(body.config or {})

    def put_settings(transaction: WriteTransaction) -> None:
        stored = object_store.document_in(transaction, exchange.realm, target)
        config = _namespace_config(transaction.realm(exchange.realm), target, stored)
        for key in _MAPPINGS:
            if key in changed and changed[key] != config.get(key):
                raise bad(f"`{key}` of a namespace cannot be changed")
        if KEYTAB in changed and config.get(PRINCIPAL) is None:
            raise bad(f"a namespace without `{PRINCIPAL}` has no `{KEYTAB}`")
        description = (
            body.description if body.description is not None else stored.get("description")
        )
        settings = {key: value for key, value in {**config, **changed}.items() if key != PRINCIPAL}
        object_store.put(
            transaction, exchange.realm, target, description=description, config=settings
        )

    write(exchange, "namespace.update", target, put_settings)
    return text_reply(f"Updated properties for namespace '{last(target)}'.")


def delete(exchange: Exchange) -> Reply:
    """Deletes a namespace with all its contents, if all of it may be deleted."""
    target = namespace(exchange)
    _check_reset(exchange, "namespace.delete", target)

    def delete_namespace(transaction: WriteTransaction) -> Failure | None:
        state = transaction.realm(exchange.realm)
        deletion = question(
            exchange, state, Requirement("namespace.delete", target), transaction.now
        )
        refused = refusal(exchange, state, deletion)
        judged = decide_deletion(
            exchange, state, "namespace.delete", contents(state, target), transaction.now
        )
        if refused is not None:
            transaction.record(event(exchange, deletion, "deny", refused.message))
            return refused
        if judged.denied:
            return refuse_all(exchange, transaction, state, judged)
        require(state, target)
        if target == SYSTEM:
            raise bad("the namespace 'system' cannot be deleted")
        refuse_running(exchange, transaction, [target])
        transaction.record(event(exchange, deletion, "allow", "allowed"))
        record(exchange, transaction, "namespace.delete", judged)
        if target == DEFAULT:
            object_store.empty(exchange, transaction, "namespace.delete", target)
            if object_store.document_in(transaction, exchange.realm, target).get(PREFERENCES):
                object_store.put(transaction, exchange.realm, target, **{PREFERENCES: None})
        else:
            object_store.drop(exchange, transaction, "namespace.delete", target)
        return None

    failure = exchange.write(delete_namespace)
    if failure is not None:
        raise failure
    return empty_reply()


def drop_datasets(exchange: Exchange) -> Reply:
    """Drops all datasets of a namespace."""
    target = namespace(exchange)
    _check_reset(exchange, "dataset.drop_all", target)
    return delete_all(exchange, "dataset.drop_all", target, "dataset")


def may_reset(services: Services) -> bool:
    """Whether namespaces may be deleted: as configured, by default only if `auth` is `simple`."""
    may = services.of(CdapSettings).unrecoverable_reset
    return services.auth == "simple" if may is None else may


def _check_reset(exchange: Exchange, operation: str, namespace: Entity) -> None:
    if not may_reset(exchange.services):
        denied = irrevocable(operation, namespace)
        record_denied(exchange, denied)
        raise denied


def _config(body: Json) -> Json:
    """The known settings of a namespace; others are ignored, as everywhere."""
    config: Json = {}
    for key in _KEYS:
        if body.get(key) is not None:
            config[key] = convert(body[key], str, f"config.{key}")
    if body.get(AS_PRINCIPAL) is not None:
        config[AS_PRINCIPAL] = convert(body[AS_PRINCIPAL], bool, f"config.{AS_PRINCIPAL}")
    if PRINCIPAL in config:
        owners.principal_entity(str(config[PRINCIPAL]))
    return config


def _text(value: object) -> str | None:
    return None if value is None else str(value)


def _namespace_config(state: RealmState, entity: Entity, body: Json) -> Json:
    """The settings of a namespace: those in its document, and its owner, if it has one.

    A keytab that was stored for an owner is not shown without the owner.
    """
    config = convert(body.get("config") or {}, Json)
    owner = owners.of_namespace(state, entity)
    config.pop(PRINCIPAL, None)
    if owner is None:
        config.pop(KEYTAB, None)
    return {**config, **present(**{PRINCIPAL: owner})}


def _name_body(entity: Entity) -> Json:
    return {"name": last(entity), "description": "", "config": {}}


def _namespace_body(state: RealmState, entity: Entity, body: Json) -> Json:
    description = body.get("description") or ""
    return {
        **_name_body(entity),
        "description": description,
        "config": _namespace_config(state, entity, body),
    }


ROUTES: Final[Sequence[Route]] = (
    Route("GET", "/v3/namespaces", "namespace.list", listed),
    Route("GET", PATH, "namespace.get", get),
    Route("PUT", PATH, "namespace.create", create),
    Route("PUT", f"{PATH}/properties", "namespace.update", update),
    Route("DELETE", "/v3/unrecoverable/namespaces/{namespace}", "namespace.delete", delete),
    Route(
        *("DELETE", "/v3/unrecoverable/namespaces/{namespace}/datasets", "dataset.drop_all"),
        drop_datasets,
    ),
)
