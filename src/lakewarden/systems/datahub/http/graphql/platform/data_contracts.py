"""Data contracts: what a dataset promises, as assertions about it.

SOURCE: datahub reference 1.3; datahub-project/datahub:…/resolvers/datacontract.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.http.graphql import call as calls
from lakewarden.systems.datahub.http.graphql.authorization import Ask
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.errors import bad
from lakewarden.systems.datahub.http.graphql.pages.part import Part, aspect, typed
from lakewarden.systems.datahub.http.graphql.platform import assertion_output, shapes
from lakewarden.systems.datahub.http.graphql.platform.columns import dataset_of
from lakewarden.systems.datahub.http.graphql.platform.draft import Draft, named, write_all
from lakewarden.systems.datahub.http.graphql.platform.listing import shown, stored
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers

_ASPECT: Final = "dataContractProperties"
_STATUS: Final = "dataContractStatus"
_TYPE: Final = "dataContract"
_EDIT: Final = "data_contract.edit"

_KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    "freshness": ("FRESHNESS",),
    "schema": ("DATA_SCHEMA",),
    "dataQuality": ("DATASET", "VOLUME", "FIELD", "SQL", "CUSTOM"),
}
"""The parts of a contract, and the types of assertions that each is made of."""


def _upsert(_: object, info: Info, input: Mapping[str, Any], urn: str | None = None) -> Entity:
    call: Call = info.context
    dataset = calls.entity(input["entityUrn"], "dataset")
    contract = _named(call, dataset, urn, input.get("id"))

    def asks(draft: Draft) -> list[Ask]:
        before = shapes.entity(draft.value(contract, _ASPECT).get("entity"), "dataset")
        moved = [] if before is None or before == dataset else [Ask(_EDIT, before)]
        return [*moved, Ask(_EDIT, dataset)]

    def task(draft: Draft) -> Entity:
        draft.check_there(dataset)
        if urn is not None:
            draft.check_there(contract)
        value = {**draft.value(contract, _ASPECT), "entity": dataset.name}
        for member, types in _KINDS.items():
            asked = [one["assertionUrn"] for one in input.get(member) or ()]
            value[member] = [_clause(draft, dataset, one, member, types) for one in asked]
        draft.put(contract, _ASPECT, value)
        status = {"customProperties": {}, **draft.value(contract, _STATUS)}
        draft.put(contract, _STATUS, {**status, "state": input.get("state") or "ACTIVE"})
        return contract

    return write_all(call, asks, task, {"contract": contract.name})


def _named(call: Call, dataset: Entity, urn: str | None, id: str | None) -> Entity:
    """The contract that is meant: one that is named, that of the dataset, or a new one."""
    if urn is not None:
        return calls.entity(urn, _TYPE)
    return _of_datasets(call).get(dataset) or named(_TYPE, id)


def _clause(
    draft: Draft, dataset: Entity, urn: str, member: str, types: tuple[str, ...]
) -> dict[str, str]:
    """A clause, if the assertion is about the dataset and of a type that the part is made of."""
    assertion = calls.entity(urn, assertion_output.TYPE)
    value = draft.value(assertion, assertion_output.ASPECT)
    found = assertion_output.about(value)
    if found is None or dataset_of(found) != dataset:
        raise bad(f"`{member}`: `{urn}` is not an assertion about `{dataset.name}`")
    if value.get("type") not in types:
        raise bad(f"`{member}`: `{urn}` is of another type than {' or '.join(types)}")
    return {"assertion": assertion.name}


def _of_datasets(call: Call) -> Mapping[Entity, Entity]:
    def find() -> dict[Entity, Entity]:
        found: dict[Entity, Entity] = {}
        for one in stored(call, _TYPE):
            dataset = shapes.entity(call.aspect(one, _ASPECT).get("entity"), "dataset")
            if dataset is not None:
                found.setdefault(dataset, one)
        return found

    return call.kept(_of_datasets, find)


def _contract(dataset: Entity, info: Info) -> Entity | None:
    return _of_datasets(info.context).get(dataset)


def _entity_urn(of: Part, info: Info) -> str | None:
    found = shown(info.context, shapes.entity(of.get("entity")))
    return None if found is None else found.name


def _assertion(of: Part, info: Info) -> Entity | None:
    return shown(info.context, shapes.entity(of.get("assertion"), assertion_output.TYPE))


_CLAUSES: Final = ("FreshnessContract", "SchemaContract", "DataQualityContract")

RESOLVERS: Final[Resolvers] = {
    "Mutation": {"upsertDataContract": _upsert},
    "Dataset": {"contract": _contract},
    "DataContract": {"properties": aspect(_ASPECT), "status": aspect(_STATUS)},
    "DataContractProperties": {"entityUrn": _entity_urn},
    "DataContractStatus": {"state": typed(otherwise="ACTIVE")},
    **{type: {"assertion": _assertion} for type in _CLAUSES},
}
