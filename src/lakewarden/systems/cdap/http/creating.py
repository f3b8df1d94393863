"""Creates the contents of a namespace, for single requests and for deployments.

| made            | document                                            |
|-----------------|-----------------------------------------------------|
| dataset         | `typeName`, `properties`, `description`, `principal` |
| stream          | `properties`, `description`, `principal`            |
| dataset module  | `className`, `types`                                |
| dataset type    | `modules`                                           |
| program         | `description`                                       |

Each function takes the operation whose effects apply: the same dataset is created by
`dataset.create` or by `application.deploy_contents`. Nothing is authorized here.
SOURCE: cdap reference 4.8, 4.10 (P2, P5, P8).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, NamedTuple

from lakewarden.http.exchange import Exchange
from lakewarden.kernel.entity import Entity
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.cdap.http import object_store
from lakewarden.systems.cdap.http.bodies import Json, present
from lakewarden.systems.cdap.http.errors import conflict
from lakewarden.systems.cdap.http.ids import inside, last, namespace_of

TABLE: Final = "table"
"""The type of datasets that an application declares only by name."""

_CLASSES: Final = "co.cask.cdap.api.dataset"

_BY_CLASS: Final = {
    f"{_CLASSES}.lib.CounterTimeseriesTable": "counterTimeseriesTable",
    f"{_CLASSES}.lib.IndexedObjectStore": "indexedObjectStore",
    f"{_CLASSES}.lib.IndexedTable": "indexedTable",
    f"{_CLASSES}.lib.KeyValueTable": "keyValueTable",
    f"{_CLASSES}.lib.ObjectMappedTable": "objectMappedTable",
    f"{_CLASSES}.lib.ObjectStore": "objectStore",
    f"{_CLASSES}.lib.FileSet": "fileSet",
    f"{_CLASSES}.lib.PartitionedFileSet": "partitionedFileSet",
    f"{_CLASSES}.lib.TimePartitionedFileSet": "timePartitionedFileSet",
    f"{_CLASSES}.lib.TimeseriesTable": "timeseriesTable",
    f"{_CLASSES}.lib.cube.Cube": "cube",
    f"{_CLASSES}.table.MemoryTable": "memoryTable",
    f"{_CLASSES}.table.Table": TABLE,
}
"""The classes of built-in types, each with its short name.

SOURCE: the modules that cdapio/cdap registers as the platform's own, up to 5.1
(SystemDatasetRuntimeModule, CoreDatasetsModule, FileSetModule, CubeModule and their like).
"""

_BY_NAME_ALONE: Final = (
    "externalDataset",
    "fileset",
    "partitionedFileset",
    "timePartitionedFileset",
)
"""Types without a class of their own, and other spellings (P5)."""

BUILT_IN_TYPES: Final = tuple(sorted({*_BY_CLASS, *_BY_CLASS.values(), *_BY_NAME_ALONE}))
"""Dataset types that exist in every namespace; nobody needs a privilege on them.

An application names a type by its class as often as by its short name.
"""

TYPE_NAME: Final = "typeName"
PRINCIPAL: Final = "principal"


class NewDataSettings(NamedTuple):
    """The settings of a new dataset or stream."""

    properties: Mapping[str, object] = {}
    description: str | None = None
    principal: str | None = None

    def document(self) -> Json:
        """The members of the document that store them."""
        return present(
            properties=dict(self.properties),
            description=self.description,
            **{PRINCIPAL: self.principal},
        )


NOTHING: Final = NewDataSettings()


def put_dataset(
    exchange: Exchange,
    transaction: WriteTransaction,
    operation: str,
    dataset: Entity,
    type: str = TABLE,
    settings: NewDataSettings = NOTHING,
) -> None:
    """Creates a dataset of an existing type."""
    object_store.add(
        exchange, transaction, operation, dataset, {TYPE_NAME: type, **settings.document()}
    )


def put_stream(
    exchange: Exchange,
    transaction: WriteTransaction,
    operation: str,
    stream: Entity,
    settings: NewDataSettings = NOTHING,
) -> None:
    """Creates a stream, without events."""
    object_store.add(exchange, transaction, operation, stream, settings.document())


def put_module(
    exchange: Exchange,
    transaction: WriteTransaction,
    operation: str,
    module: Entity,
    class_name: str,
) -> None:
    """Creates a dataset module, and its only type, named after its class.

    Raises `Failure` 409 for a built-in type.
    """
    if class_name in BUILT_IN_TYPES:
        raise conflict(f"the type '{class_name}' is built in")
    body: Json = {"className": class_name, "types": [class_name]}
    object_store.add(exchange, transaction, operation, module, body)
    type = type_of_module(module, class_name)
    object_store.add(
        exchange, transaction, "dataset_type.create", type, {"modules": [last(module)]}
    )


def type_of_module(module: Entity, class_name: str) -> Entity:
    """The type of a module with this class."""
    return inside(namespace_of(module), "dataset_type", class_name)


def put_program(
    exchange: Exchange,
    transaction: WriteTransaction,
    program: Entity,
    description: str | None = None,
) -> None:
    """Creates a program, which never ran, of an existing application."""
    body = present(description=description or "")
    object_store.add(exchange, transaction, "program.create", program, body)
