"""Policies: list, create, replace, delete.

A policy is the aspect `dataHubPolicyInfo` of its entity, and the statement that the aspect states;
a shipped one is only a statement until it is written. SOURCE: datahub reference 6.2, 6.9.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final
from uuid import uuid4

from lakewarden.kernel.entity import Entity
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.datahub.aspects.rendering import is_immutable
from lakewarden.systems.datahub.http.graphql import authorization, policy_input
from lakewarden.systems.datahub.http.graphql import call as calls
from lakewarden.systems.datahub.http.graphql.authorization import POLICIES
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.errors import bad, missing
from lakewarden.systems.datahub.http.graphql.paging import contains_words, criterion_values, page
from lakewarden.systems.datahub.http.graphql.policy_output import Policy
from lakewarden.systems.datahub.http.graphql.resolving import Info, Resolvers
from lakewarden.systems.datahub.use_cases import aspects
from lakewarden.systems.datahub.use_cases.aspects import POLICY, Write

TYPE: Final = "dataHubPolicy"

_PREFIX: Final = "urn:li:dataHubPolicy:"


def stored_policies(call: Call) -> list[Policy]:
    """All policies, by URN: written ones and shipped ones."""
    snapshot = call.state.matrix.snapshot
    statements = snapshot.table.statements.items()
    names = {id for id, one in statements if id.startswith(_PREFIX) and not one.obliges}
    names |= {snapshot.coded.tree.entity(id).name for id in snapshot.of_type(TYPE)} - {""}
    read = call.aspects(Entity(TYPE, name) for name in sorted(names))
    return [
        Policy(entity.name, of_it[POLICY].value)
        for entity, of_it in read.items()
        if POLICY in of_it
    ]


def _list(_: object, info: Info, input: Mapping[str, Any]) -> Mapping[str, Any]:
    call: Call = info.context
    authorization.allow(call, "policy.list", POLICIES)
    matching = [policy for policy in stored_policies(call) if _matches(policy, input)]
    matching.sort(key=lambda policy: (-policy.changed, policy.urn))
    page_policies, numbers = page(matching, input, call.exchange.services.page_rows)
    return {**numbers, "policies": [policy.record for policy in page_policies]}


def _matches(policy: Policy, input: Mapping[str, Any]) -> bool:
    alternatives = input.get("orFilters") or ()
    # All alternatives are evaluated, so an invalid one is rejected regardless of what is stored.
    fits = [_matches_all(policy, alternative.get("and") or ()) for alternative in alternatives]
    return (not fits or any(fits)) and contains_words(
        input.get("query"), policy.name, policy.description
    )


def _matches_all(policy: Policy, criteria: Iterable[Mapping[str, Any]]) -> bool:
    held = [_matches_criterion(policy, criterion) for criterion in criteria]
    return all(held)


def _matches_criterion(policy: Policy, criterion: Mapping[str, Any]) -> bool:
    match criterion["field"]:
        case "state":
            value = policy.state
        case "editable":
            value = "true" if policy.editable else "false"
        case other:
            raise bad(f"policies are not filtered by `{other}`; expected `state` or `editable`")
    return (value in criterion_values(criterion)) != bool(criterion.get("negated"))


def _create(_: object, info: Info, input: Mapping[str, Any]) -> str:
    call: Call = info.context
    entity = Entity(TYPE, f"{_PREFIX}{uuid4()}")

    def create_policy(transaction: WriteTransaction) -> str:
        _put(
            call,
            transaction,
            entity,
            policy_input.value(input, None, call.state.system.model, transaction.now),
        )
        return entity.name

    return authorization.write(
        call, "policy.create", POLICIES, create_policy, {"policy": entity.name}
    )


def _update(_: object, info: Info, urn: str, input: Mapping[str, Any]) -> str:
    call: Call = info.context
    entity = calls.entity(urn, TYPE)

    def update_policy(transaction: WriteTransaction) -> str:
        before = _policy_to_change(call, transaction, "policy.update", entity)
        _put(
            call,
            transaction,
            entity,
            policy_input.value(input, before.value, call.state.system.model, transaction.now),
        )
        return urn

    return authorization.write(call, "policy.update", entity, update_policy)


def _delete(_: object, info: Info, urn: str) -> str:
    call: Call = info.context
    entity = calls.entity(urn, TYPE)

    def delete_policy(transaction: WriteTransaction) -> str:
        _policy_to_change(call, transaction, "policy.delete", entity)
        aspects.drop(transaction, call.exchange.realm, entity)
        return urn

    return authorization.write(call, "policy.delete", entity, delete_policy)


def _policy_to_change(
    call: Call, transaction: WriteTransaction, operation: str, entity: Entity
) -> Policy:
    """The stored policy; raises `Failure` if there is none, `NotAllowed` if it is immutable."""
    state = transaction.realm(call.exchange.realm)
    read = aspects.read(transaction.store, state, [entity]).get(entity, {})
    if POLICY not in read:
        raise missing(entity.name)
    if is_immutable(entity.name, state.system.model, read[POLICY].value):
        message = f"the policy `{entity.name}` cannot be changed"
        raise authorization.refuse_write(call, transaction, operation, entity, message)
    return Policy(entity.name, read[POLICY].value)


def _put(call: Call, transaction: WriteTransaction, entity: Entity, value: dict[str, Any]) -> None:
    write = Write(entity, POLICY, value)
    aspects.write(transaction, call.exchange.realm, [write], call.actor.name)


RESOLVERS: Final[Resolvers] = {
    "Query": {"listPolicies": _list},
    "Mutation": {"createPolicy": _create, "updatePolicy": _update, "deletePolicy": _delete},
}
