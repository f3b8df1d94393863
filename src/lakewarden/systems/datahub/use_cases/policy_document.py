"""Policies in DataHub's format: the aspect `dataHubPolicyInfo` and its version."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from lakewarden.kernel.entity import Entity
from lakewarden.service.ports import Reading
from lakewarden.service.state import RealmState
from lakewarden.service.statement_document import StatementDocument
from lakewarden.systems.datahub.use_cases import aspects
from lakewarden.systems.datahub.use_cases.aspect_version import version_of
from lakewarden.systems.datahub.use_cases.aspects import POLICY


def read(reading: Reading, realm: RealmState, entity: Entity) -> StatementDocument | None:
    """The policy; None for anything else."""
    policy = aspects.read(reading, realm, [entity]).get(entity, {}).get(POLICY)
    return None if policy is None else StatementDocument(policy.value, version_of(policy))


def descriptions(
    reading: Reading, realm: RealmState, entities: Sequence[Entity]
) -> Mapping[Entity, str]:
    """The descriptions of written policies; shipped ones have none."""
    documents = reading.documents(realm.realm.name, entities)
    policies = {
        entity: aspects.stored_aspects(documents.get(entity)).get(POLICY) for entity in entities
    }
    return {
        entity: str(policy.value.get("description") or "")
        for entity, policy in policies.items()
        if policy is not None
    }
