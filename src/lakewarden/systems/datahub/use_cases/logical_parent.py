"""The validation of logical parents, shared by every way to write one.

Datasets and columns may have datasets and columns as parents, in any pair. The parent's dataset
must belong to a platform that is declared logical; a parent column must exist, and so must a child
column. SOURCE: LogicalParentPlatformValidator, LogicalParentFieldPathValidator (which ignores pairs
of a dataset and a column); datahub reference 6.9.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.relations import RelationRow
from lakewarden.names.canonical import quoted
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.datahub import names as datahub
from lakewarden.systems.datahub.aspects.facts import stated_facts
from lakewarden.systems.datahub.aspects.fields import without_avro_type
from lakewarden.systems.datahub.use_cases import aspects
from lakewarden.systems.datahub.use_cases.aspects import Aspect, Write

LOGICAL: Final = "logicalParent"
"""The name of the aspect."""

_WHERE: Final = f"{LOGICAL}.parent.destinationUrn"

_SHIPPED: Final = frozenset(("urn:li:dataPlatform:logical", "urn:li:dataPlatform:odcs"))
"""Platforms that the original ships as logical; they are logical unless stored otherwise.

SOURCE: datahub-project/datahub, bootstrap_mcps/data-platforms.yaml.
"""

AspectsByEntity = Mapping[Entity, Mapping[str, Aspect]]


def check(transaction: WriteTransaction, realm: str, writes: Iterable[Write]) -> None:
    """Raises `BadInput` for a write of an invalid parent, by the stored state.

    To be called after authorization, because its errors disclose stored entities.
    """
    edges = [edge for write in writes if (edge := _edge(transaction, realm, write)) is not None]
    if not edges:
        return
    to_read: set[Entity] = set()
    for child, parent in edges:
        if child == parent:
            raise BadInput(f"{quoted(child.name)} is not its own logical parent", where=_WHERE)
        model = _dataset(parent)
        platform = datahub.parse("dataPlatform", datahub.key_parts(model.name)[0])
        to_read |= {model, platform, *((_dataset(child),) if child.type == "schemaField" else ())}
    aspects_by_entity = aspects.read(transaction.store, transaction.realm(realm), sorted(to_read))
    columns = {entity: _columns(of_entity) for entity, of_entity in aspects_by_entity.items()}
    for child, parent in edges:
        _check_platform(aspects_by_entity, parent)
        for column in (parent, child) if parent.type == "schemaField" else ():
            _check_column(columns, column)


def _edge(transaction: WriteTransaction, realm: str, write: Write) -> tuple[Entity, Entity] | None:
    """The child and the parent in a write."""
    if write.aspect != LOGICAL or not write.value:
        return None
    model = transaction.realm(realm).system.model
    for fact in stated_facts(write.entity, LOGICAL, write.value, model, datahub):
        if isinstance(fact, RelationRow):
            return write.entity, fact.target
    return None


def _dataset(entity: Entity) -> Entity:
    """The dataset itself, or the dataset of a column."""
    dataset = datahub.parent(entity) if entity.type == "schemaField" else entity
    if dataset is None or dataset.type != "dataset":
        message = f"expected a dataset or a column of one, got {quoted(entity.name)}"
        raise BadInput(message, where=_WHERE)
    return dataset


def _check_platform(aspects_by_entity: AspectsByEntity, parent: Entity) -> None:
    platform = datahub.parse("dataPlatform", datahub.key_parts(_dataset(parent).name)[0])
    info = aspects_by_entity.get(platform, {}).get("dataPlatformInfo")
    is_logical = (
        platform.name in _SHIPPED if info is None else without_avro_type(info.value.get("logical"))
    )
    if is_logical is not True:
        message = f"expected a parent on a logical platform, got {quoted(parent.name)}"
        raise BadInput(message, where=_WHERE)


def _columns(stored: Mapping[str, Aspect]) -> set[object]:
    """The field paths of a dataset's schema."""
    schema = stored.get("schemaMetadata")
    fields = None if schema is None else without_avro_type(schema.value.get("fields"))
    members = fields if isinstance(fields, list) else []
    return {
        without_avro_type(member.get("fieldPath"))
        for member in members
        if isinstance(member, Mapping)
    }


def _check_column(columns: Mapping[Entity, set[object]], column: Entity) -> None:
    """Raises `BadInput` for a column that is not in its dataset's schema."""
    dataset = _dataset(column)
    path = datahub.key_parts(column.name)[1] if column != dataset else None
    if path is not None and path not in columns.get(dataset, ()):
        raise BadInput(f"{quoted(dataset.name)} has no column {quoted(path)}", where=_WHERE)
