"""Logical parents of DataHub's datasets: set and cleared together with their columns.

`lakewarden.systems.datahub.use_cases.logical_parent` checks which parents there can be. SOURCE:
datahub reference 5.1 and 6.9.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from lakewarden.kernel.entity import Entity
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.datahub import names as datahub
from lakewarden.systems.datahub.aspects.facts import stored_facts
from lakewarden.systems.datahub.use_cases import aspects, logical_parent
from lakewarden.systems.datahub.use_cases.aspect_guard import Guard, Switches
from lakewarden.systems.datahub.use_cases.aspects import Value, Write
from lakewarden.systems.datahub.use_cases.logical_parent import LOGICAL


def link(
    transaction: WriteTransaction,
    realm: str,
    child: Entity,
    parent: Entity,
    columns: Mapping[str, str],
    actor: Entity,
    switches: Switches,
) -> None:
    """Makes a dataset an instance of another; `columns` maps the parent's columns to its own.

    Columns that are not named lose their previous parent. Raises `NotAllowed`, and `BadInput` if
    the parent is not logical or a column does not exist.
    """
    parents = {child: parent}
    for of_parent, of_child in columns.items():
        parents[_field(child, of_child)] = _field(parent, of_parent)
    for entity, above in parents.items():
        guard = Guard(transaction, realm, entity, switches)
        guard.ask("logical_parent.set", targets={"logical": above})
    unlinked = [
        entity for entity in _linked_entities(transaction, realm, child) if entity not in parents
    ]
    for entity in unlinked:
        Guard(transaction, realm, entity, switches).ask("logical_parent.clear")
    writes = [Write(entity, LOGICAL, _value(entity, above)) for entity, above in parents.items()]
    logical_parent.check(transaction, realm, writes)
    writes += [Write(entity, LOGICAL, {}) for entity in unlinked]
    aspects.write(transaction, realm, writes, actor.name)


def unlink(
    transaction: WriteTransaction, realm: str, child: Entity, actor: Entity, switches: Switches
) -> None:
    """Removes the logical parent of a dataset and its columns. Raises `NotAllowed`."""
    linked = [
        child,
        *(entity for entity in _linked_entities(transaction, realm, child) if entity != child),
    ]
    for entity in linked:
        Guard(transaction, realm, entity, switches).ask("logical_parent.clear")
    snapshot = transaction.realm(realm).matrix.snapshot
    stored = [entity for entity in linked if snapshot.coded.is_known(entity)]
    aspects.write(transaction, realm, [Write(entity, LOGICAL, {}) for entity in stored], actor.name)


def _value(child: Entity, parent: Entity) -> Value:
    return {"parent": {"destinationUrn": parent.name, "sourceUrn": child.name}}


def _field(dataset: Entity, path: str) -> Entity:
    return datahub.parse("schemaField", f"urn:li:schemaField:({dataset.name},{path})")


def _linked_entities(transaction: WriteTransaction, realm: str, child: Entity) -> Iterator[Entity]:
    """The dataset, and its columns with a logical parent."""
    snapshot = transaction.realm(realm).matrix.snapshot
    tree = snapshot.coded.tree
    id = tree.find(child)
    for below in () if id is None else tree.subtree(id):
        entity = tree.entity(below)
        if stored_facts(entity, LOGICAL, snapshot):
            yield entity
