"""Data contracts: guarantees of a dataset, as assertions about it.

SOURCE: datahub reference 1.3; datahub-project/datahub:…/resolvers/datacontract.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql import call as calls
from lakewarden.systems.datahub.http.graphql.authorization import Requirement
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.errors import bad
from lakewarden.systems.datahub.http.graphql.platform import assertion_output, shapes
from lakewarden.systems.datahub.http.graphql.platform.aspect_write import (
    AspectChanges,
    AspectWrite,
    new_entity,
)
from lakewarden.systems.datahub.http.graphql.platform.columns import dataset_of
from lakewarden.systems.datahub.http.graphql.platform.listing import stored_entities
from lakewarden.systems.datahub.http.graphql.records import Input
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers
from lakewarden.systems.datahub.use_cases.aspects import Value

_ASPECT: Final = "dataContractProperties"
_STATUS: Final = "dataContractStatus"
_TYPE: Final = "dataContract"
_EDIT: Final = "data_contract.edit"

_KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    "freshness": ("FRESHNESS",),
    "schema": ("DATA_SCHEMA",),
    "dataQuality": ("DATASET", "VOLUME", "FIELD", "SQL", "CUSTOM"),
}
"""The parts of a contract, and the types of assertions in each."""


def _entities(call: Call, input: Input) -> list[Entity]:
    """The named contract, or the dataset's own, or a new one; and the dataset."""
    dataset, urn = calls.entity(input["entityUrn"], "dataset"), input.get("urn")
    if urn is not None:
        return [calls.entity(urn, _TYPE), dataset]
    return [_contracts_by_dataset(call).get(dataset) or new_entity(_TYPE, input.get("id")), dataset]


def _requirements(
    changes: AspectChanges, entities: Sequence[Entity], _: Input
) -> list[Requirement]:
    contract, dataset = entities
    before = shapes.entity(changes.value(contract, _ASPECT).get("entity"), "dataset")
    moved = [] if before is None or before == dataset else [Requirement(_EDIT, before)]
    return [*moved, Requirement(_EDIT, dataset)]


def _upsert(changes: AspectChanges, entities: Sequence[Entity], input: Input) -> None:
    contract, dataset = entities
    changes.check_exists(dataset, *([] if input.get("urn") is None else [contract]))
    clauses = {
        member: [
            _clause(changes, dataset, clause["assertionUrn"], member)
            for clause in input.get(member) or ()
        ]
        for member in _KINDS
    }
    changes.merge(contract, _ASPECT, entity=dataset.name, **clauses)
    status = {"customProperties": {}, **changes.value(contract, _STATUS)}
    changes.put(contract, _STATUS, {**status, "state": input.get("state") or "ACTIVE"})


def _clause(changes: AspectChanges, dataset: Entity, urn: str, member: str) -> Value:
    """A clause, if the assertion is about the dataset and of a type allowed in the part."""
    assertion = calls.entity(urn, assertion_output.TYPE)
    value = changes.value(assertion, assertion_output.ASPECT)
    asset = assertion_output.about(value)
    if asset is None or dataset_of(asset) != dataset:
        raise bad(f"`{member}`: `{urn}` is not an assertion about `{dataset.name}`")
    if value.get("type") not in _KINDS[member]:
        expected = " or ".join(_KINDS[member])
        raise bad(f"`{member}`: `{urn}` is of another type than {expected}")
    return {"assertion": assertion.name}


def _contracts_by_dataset(call: Call) -> Mapping[Entity, Entity]:
    def find() -> dict[Entity, Entity]:
        contracts: dict[Entity, Entity] = {}
        for contract in stored_entities(call, _TYPE):
            dataset = shapes.entity(call.aspect(contract, _ASPECT).get("entity"), "dataset")
            if dataset is not None:
                contracts.setdefault(dataset, contract)
        return contracts

    return call.cached(_contracts_by_dataset, find)


def _contract(dataset: Entity, info: Info) -> Entity | None:
    return _contracts_by_dataset(info.context).get(dataset)


RESOLVERS: Final[Resolvers] = {
    "Mutation": {
        "upsertDataContract": AspectWrite(_entities, _requirements, _upsert, audited_as="contract")
    },
    "Dataset": {"contract": _contract},
}
