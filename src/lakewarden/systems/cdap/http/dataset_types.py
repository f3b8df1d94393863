"""Dataset modules, and their dataset types.

A module has one class, and one type, which is created and deleted with it. The built-in types are
in the namespace `system`, all of them in one module; they are visible to everybody.
SOURCE: cdap reference 2.7, 2.11, 4.8, 4.10 (P5, P8).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from lakewarden.http.exchange import Exchange, Reply, Route
from lakewarden.kernel.entity import Entity
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.cdap import names as cdap
from lakewarden.systems.cdap.http import artifacts, creating, object_store
from lakewarden.systems.cdap.http.authorization import (
    allow,
    contents,
    is_stored,
    shown,
    visible,
    write,
)
from lakewarden.systems.cdap.http.bodies import ANY_TYPE, Json, convert, empty_reply, ok
from lakewarden.systems.cdap.http.creating import BUILT_IN_TYPES, TABLE, TYPE_NAME
from lakewarden.systems.cdap.http.deleting import delete_all
from lakewarden.systems.cdap.http.errors import bad, conflict, exists
from lakewarden.systems.cdap.http.ids import SYSTEM, entity, inside, last, namespace, namespace_of
from lakewarden.systems.cdap.http.running import shown_ids

MODULES: Final = "/v3/namespaces/{namespace}/data/modules"
MODULE: Final = f"{MODULES}/{{dataset_module}}"
TYPES: Final = "/v3/namespaces/{namespace}/data/types"
TYPE: Final = f"{TYPES}/{{dataset_type}}"

CLASS_NAME: Final = "className"
CORE: Final = Entity("dataset_module", "system.core")
"""The module of all built-in types."""


def modules(exchange: Exchange) -> Reply:
    """The modules of a namespace that are visible to the caller."""
    stored = _visible_bodies(exchange, "dataset_module.list", [CORE])
    bodies = object_store.documents(exchange, stored)
    return ok([_module(module, body) for module, body in zip(stored, bodies, strict=True)])


def get_module(exchange: Exchange) -> Reply:
    """One module."""
    module = entity(exchange, "dataset_module")
    _allow(exchange, "dataset_module.get", module, module == CORE)
    return ok(_module(module, object_store.document(exchange, module)))


def types(exchange: Exchange) -> Reply:
    """The types of a namespace that are visible to the caller."""
    built_in = [inside(SYSTEM, "dataset_type", name) for name in BUILT_IN_TYPES]
    return ok(
        [shown_type(exchange, t) for t in _visible_bodies(exchange, "dataset_type.list", built_in)]
    )


def get_type(exchange: Exchange) -> Reply:
    """One type."""
    type = entity(exchange, "dataset_type")
    _allow(exchange, "dataset_type.get", type, _is_built_in(type))
    return ok(shown_type(exchange, type))


def deploy(exchange: Exchange) -> Reply:
    """Creates a module with its type; the uploaded file is neither run nor stored."""
    new = entity(exchange, "dataset_module")

    def add_module(transaction: WriteTransaction) -> None:
        class_name = exchange.headers.get("x-class-name", "")
        if not class_name:
            raise bad("expected the header `X-Class-Name`")
        brought = creating.type_of_module(new, class_name)
        for new_entity in (new, brought):
            if is_stored(transaction.realm(exchange.realm), new_entity):
                raise exists(new_entity)
        creating.put_module(exchange, transaction, "dataset_module.deploy", new, class_name)

    write(exchange, "dataset_module.deploy", new, add_module, missing=None)
    return empty_reply()


def delete(exchange: Exchange) -> Reply:
    """Deletes a module with its type, which no dataset may use."""
    module = entity(exchange, "dataset_module")
    write(
        *(exchange, "dataset_module.delete", module),
        lambda transaction: _delete(exchange, transaction, [module]),
    )
    return empty_reply()


def delete_all_of(exchange: Exchange) -> Reply:
    """Deletes all modules of a namespace."""

    def delete_modules(transaction: WriteTransaction, modules: Sequence[Entity]) -> None:
        _delete(exchange, transaction, modules)

    space = namespace(exchange)
    return delete_all(
        exchange, "dataset_module.delete_all", space, "dataset_module", delete_modules
    )


def built_in_type(name: str) -> Json:
    """A built-in type in the form of replies."""
    return {"name": name, "modules": [_module(CORE, {})]}


def shown_type(exchange: Exchange, type: Entity) -> Json:
    """A type with its modules, in the form of replies."""
    if _is_built_in(type):
        return built_in_type(last(type))
    names = _names(object_store.document(exchange, type), "modules")
    modules = [inside(namespace_of(type), "dataset_module", name) for name in names]
    bodies = object_store.documents(exchange, modules)
    rows = [_module(module, body) for module, body in zip(modules, bodies, strict=True)]
    return {"name": last(type), "modules": rows}


def _visible_bodies(exchange: Exchange, operation: str, built_in: Sequence[Entity]) -> list[Entity]:
    """The visible entities of a namespace; in `system`, the built-in ones come first."""
    space = namespace(exchange)
    state = allow(exchange, operation, space)
    if space != SYSTEM:
        return shown(exchange, state, operation, space)
    stored = contents(state, space, [built_in[0].type])
    others = [entity for entity in stored if entity not in built_in]
    return visible(exchange, operation, [*built_in, *others])


def _allow(exchange: Exchange, operation: str, target: Entity, is_built_in: bool) -> None:
    if is_built_in:
        allow(exchange, operation, target, missing=None)
    else:
        allow(exchange, operation, target)


def _is_built_in(type: Entity) -> bool:
    return namespace_of(type) == SYSTEM and last(type) in BUILT_IN_TYPES


def _delete(exchange: Exchange, transaction: WriteTransaction, modules: Sequence[Entity]) -> None:
    """Removes modules of a namespace with their types.

    Raises `Failure` 409 if a dataset has one of these types.
    """
    bodies = object_store.documents_in(transaction.store, exchange.realm, modules)
    used = _types_in_use(exchange, transaction, namespace_of(modules[0])) if modules else {}
    types = []
    for module, body in zip(modules, bodies, strict=True):
        for name in _names(body, "types"):
            if name in used:
                user = shown_ids(exchange, transaction, "dataset.list", [used[name]])
                raise conflict(
                    f"'{cdap.format_id(module)}' could not be deleted: {user} is of its type"
                    f" '{name}'"
                )
            types.append(inside(namespace_of(module), "dataset_type", name))
    object_store.drop(exchange, transaction, "dataset_type.delete", *types)
    object_store.drop(exchange, transaction, "dataset_module.delete", *modules)


def _types_in_use(
    exchange: Exchange, transaction: WriteTransaction, space: Entity
) -> dict[str, Entity]:
    """The names of a namespace's types that datasets use, each with one of these datasets."""
    state = transaction.realm(exchange.realm)
    used: dict[str, Entity] = {}
    for dataset, body in _datasets(exchange, transaction, space):
        name = str(body.get(TYPE_NAME) or TABLE)
        own = inside(namespace_of(dataset), "dataset_type", name)
        if namespace_of(dataset) == space or not is_stored(state, own):
            used.setdefault(name, dataset)
    return used


def _datasets(
    exchange: Exchange, transaction: WriteTransaction, space: Entity
) -> Iterable[tuple[Entity, Mapping[str, object]]]:
    """The datasets that may use types of a namespace: its own; for `system`, all."""
    if space == SYSTEM:
        return transaction.store.documents_of(exchange.realm, "dataset")
    datasets = contents(transaction.realm(exchange.realm), space, ["dataset"])
    return zip(
        datasets,
        object_store.documents_in(transaction.store, exchange.realm, datasets),
        strict=True,
    )


def _module(module: Entity, body: Json) -> Json:
    name = last(module)
    if module == CORE:
        return {"name": name, CLASS_NAME: name, "types": list(BUILT_IN_TYPES)}
    return {
        "name": name,
        CLASS_NAME: body.get(CLASS_NAME) or "",
        "types": _names(body, "types"),
    }


def _names(body: Json, member: str) -> list[str]:
    return convert(body.get(member) or [], list[str])


ROUTES: Final[Sequence[Route]] = (
    Route("GET", MODULES, "dataset_module.list", modules),
    Route("DELETE", MODULES, "dataset_module.delete_all", delete_all_of),
    Route("GET", MODULE, "dataset_module.get", get_module),
    Route(
        *("PUT", MODULE, "dataset_module.deploy", deploy),
        body_limit=artifacts.BYTES,
        accepts=ANY_TYPE,
    ),
    Route("DELETE", MODULE, "dataset_module.delete", delete),
    Route("GET", TYPES, "dataset_type.list", types),
    Route("GET", TYPE, "dataset_type.get", get_type),
)
