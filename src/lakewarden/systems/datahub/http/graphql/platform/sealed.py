"""Secrets and the details of connections, stored sealed, and never returned.

The aspect has everything except the secret. The secret is stored beside the entity's document,
encrypted, and is deleted with the entity. No reply, log line or audit row contains it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from lakewarden.kernel.entity import Entity
from lakewarden.service.effect import SecretChanged
from lakewarden.service.sealed_properties import Sealing
from lakewarden.systems.datahub.http.graphql.call import Call
from lakewarden.systems.datahub.http.graphql.errors import Failure
from lakewarden.systems.datahub.http.graphql.platform.aspect_write import AspectChanges
from lakewarden.systems.datahub.use_cases import aspects


def sealed_failure(label: str) -> Failure:
    """403: `label` is sealed for every caller."""
    return Failure(403, f"{label} is kept sealed, and is never given out")


def seal(changes: AspectChanges, entity: Entity, key: str, secret: str) -> None:
    """Stores a secret of an entity; raises `Failure` 400 if the server has no key for it."""
    sealed = _sealing(changes.call).seal(secret)
    changes.transaction.change(changes.realm, SecretChanged(entity, key, sealed))


def _sealing(call: Call) -> Sealing:
    sealing = call.exchange.services.sealing
    if sealing is None:
        raise Failure(400, "the server has no key for secrets, so it keeps none")
    return sealing


def stored_without_secret(changes: AspectChanges, entity: Entity, aspect: str) -> dict[str, Any]:
    """An aspect that no reader gets, without its secret; a copy that may be changed and put."""
    document = changes.transaction.store.documents(changes.realm, [entity]).get(entity)
    stored = aspects.stored_aspects(document).get(aspect)
    return {} if stored is None else dict(stored.value)


def without_secrets(
    call: Call, entities: Iterable[Entity], aspect: str
) -> dict[Entity, Mapping[str, Any]]:
    """That aspect of the entities that have it, without its secret."""
    with call.exchange.service.reading() as reading:
        documents = reading.documents(call.exchange.realm, list(entities))
    aspects_of = {
        entity: aspects.stored_aspects(document).get(aspect)
        for entity, document in documents.items()
    }
    return {
        entity: aspect_value.value
        for entity, aspect_value in aspects_of.items()
        if isinstance(entity, Entity) and aspect_value is not None
    }
