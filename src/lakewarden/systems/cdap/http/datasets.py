"""Datasets: created with a type, configured, administered and dropped.

No data of a dataset is stored here, so emptying or upgrading one only checks the authorization.
SOURCE: cdap reference 2.7, 2.9, 2.11, 4.2, 4.8, K21.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Final

from lakewarden.http.exchange import Exchange, Reply, Route
from lakewarden.kernel.entity import Entity
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.cdap.http import creating, dataset_types, deployment, object_store, owners
from lakewarden.systems.cdap.http.authorization import (
    Requirement,
    allow,
    is_stored,
    listed,
    may,
    write,
    write_all,
)
from lakewarden.systems.cdap.http.bodies import (
    Body,
    Json,
    empty_reply,
    ok,
    present,
    read,
    read_optional,
    texts,
)
from lakewarden.systems.cdap.http.creating import (
    BUILT_IN_TYPES,
    PRINCIPAL,
    TABLE,
    TYPE_NAME,
    NewDataSettings,
)
from lakewarden.systems.cdap.http.deleting import delete_all
from lakewarden.systems.cdap.http.errors import Failure, bad, exists, not_found
from lakewarden.systems.cdap.http.ids import entity, last, namespace

PATH: Final = "/v3/namespaces/{namespace}/data/datasets"
ONE: Final = f"{PATH}/{{dataset}}"

PROPERTIES: Final = "properties"


class DatasetBody(Body, rename="camel"):
    """The body that creates a dataset."""

    type_name: str | None = None
    properties: dict[str, str] | None = None
    description: str | None = None
    principal: str | None = None


def listed_all(exchange: Exchange) -> Reply:
    """The datasets of a namespace that are visible to the caller."""
    datasets = listed(exchange, "dataset.list", namespace(exchange))
    bodies = object_store.documents(exchange, datasets)
    return ok([_row(dataset, body) for dataset, body in zip(datasets, bodies, strict=True)])


def create(exchange: Exchange) -> Reply:
    """Creates a dataset; a type that is not built in requires a privilege too."""
    dataset = entity(exchange, "dataset")
    body = read_optional(exchange, DatasetBody)

    def requirements(transaction: WriteTransaction) -> Iterator[Requirement]:
        state = transaction.realm(exchange.realm)
        yield Requirement("dataset.create", dataset)
        if body.type_name and body.type_name not in BUILT_IN_TYPES:
            yield Requirement(
                "dataset_type.use", deployment.type_entity(state, dataset, body.type_name)
            )
        yield from owners.requirements(owners.effective(state, dataset, body.principal))

    def add_dataset(transaction: WriteTransaction) -> None:
        state = transaction.realm(exchange.realm)
        if is_stored(state, dataset):
            raise exists(dataset)
        if not body.type_name:
            raise bad("expected `typeName`")
        type = deployment.type_entity(state, dataset, body.type_name)
        if body.type_name not in BUILT_IN_TYPES and not is_stored(state, type):
            raise not_found(type)
        settings = NewDataSettings(body.properties or {}, body.description, body.principal)
        creating.put_dataset(
            exchange, transaction, "dataset.create", dataset, body.type_name, settings
        )

    write_all(
        exchange, lambda transaction: list(requirements(transaction)), add_dataset, missing=None
    )
    return empty_reply()


def get(exchange: Exchange) -> Reply:
    """One dataset, with its type; the type's modules only if they are visible."""
    dataset = entity(exchange, "dataset")
    state = allow(exchange, "dataset.get", dataset)
    body = object_store.document(exchange, dataset)
    type = deployment.type_entity(state, dataset, _type_of(body))
    spec = {**_row(dataset, body), "datasetSpecs": {}}
    return ok(present(spec=spec, type=_type_body(exchange, type), principal=body.get(PRINCIPAL)))


def get_properties(exchange: Exchange) -> Reply:
    """The properties that the dataset was created or updated with."""
    dataset = entity(exchange, "dataset")
    allow(exchange, "dataset.get_properties", dataset)
    return ok(texts(object_store.document(exchange, dataset).get(PROPERTIES)))


def update(exchange: Exchange) -> Reply:
    """Replaces all properties."""
    dataset = entity(exchange, "dataset")
    properties = read(exchange, dict[str, str])

    def put_properties(transaction: WriteTransaction) -> None:
        object_store.put(transaction, exchange.realm, dataset, **{PROPERTIES: properties})

    write(exchange, "dataset.update", dataset, put_properties)
    return empty_reply()


def drop(exchange: Exchange) -> Reply:
    """Drops a dataset."""
    dataset = entity(exchange, "dataset")

    def drop_dataset(transaction: WriteTransaction) -> None:
        object_store.drop(exchange, transaction, "dataset.drop", dataset)

    write(exchange, "dataset.drop", dataset, drop_dataset)
    return empty_reply()


def drop_all(exchange: Exchange) -> Reply:
    """Drops all datasets of a namespace."""
    return delete_all(exchange, "dataset.drop_all", namespace(exchange), "dataset")


def dataset_exists(exchange: Exchange) -> Reply:
    """Whether the dataset exists, for callers who may see it."""
    dataset = entity(exchange, "dataset")
    state = allow(exchange, "dataset.exists", dataset, missing=None)
    return ok({"result": is_stored(state, dataset)})


def truncate(exchange: Exchange) -> Reply:
    """Empties a dataset."""
    return _act_on_dataset(exchange, "dataset.truncate")


def upgrade(exchange: Exchange) -> Reply:
    """Upgrades a dataset to this release."""
    return _act_on_dataset(exchange, "dataset.upgrade")


def use_data(exchange: Exchange) -> Reply:
    """501: data are only read and written by programs."""
    allow(exchange, "dataset.read", entity(exchange, "dataset"))
    raise Failure(501, "operations on the data of a dataset are not served")


def _act_on_dataset(exchange: Exchange, operation: str) -> Reply:
    write(exchange, operation, entity(exchange, "dataset"), lambda _: None)
    return ok({})


def _type_of(body: Json) -> str:
    return str(body.get(TYPE_NAME) or TABLE)


def _type_body(exchange: Exchange, type: Entity) -> Json:
    """A type with its modules, or only its name if it is not visible to the caller."""
    if last(type) in BUILT_IN_TYPES:
        return dataset_types.built_in_type(last(type))
    if not may(exchange, "dataset_type.get", type):
        return {"name": last(type)}
    return dataset_types.shown_type(exchange, type)


def _row(dataset: Entity, body: Json) -> Json:
    return present(
        name=last(dataset),
        type=_type_of(body),
        description=body.get("description"),
        properties=texts(body.get(PROPERTIES)),
    )


ROUTES: Final[Sequence[Route]] = (
    Route("GET", PATH, "dataset.list", listed_all),
    Route("DELETE", PATH, "dataset.drop_all", drop_all),
    Route("PUT", ONE, "dataset.create", create),
    Route("GET", ONE, "dataset.get", get),
    Route("DELETE", ONE, "dataset.drop", drop),
    Route("GET", f"{ONE}/properties", "dataset.get_properties", get_properties),
    Route("PUT", f"{ONE}/properties", "dataset.update", update),
    Route("POST", f"{ONE}/admin/exists", "dataset.exists", dataset_exists),
    Route("POST", f"{ONE}/admin/truncate", "dataset.truncate", truncate),
    Route("POST", f"{ONE}/admin/upgrade", "dataset.upgrade", upgrade),
    Route("POST", f"{ONE}/data/{{method}}", "dataset.read", use_data),
)
