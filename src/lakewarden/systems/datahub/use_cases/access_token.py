"""What DataHub keeps of a token: an entity, whose aspect has its creator and purpose."""

from __future__ import annotations

from lakewarden.kernel.entity import Entity
from lakewarden.service.realm import Token
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.datahub.use_cases import aspect_guard, aspects


def entity_of(token: Token) -> Entity:
    """The entity that a token is stored as."""
    return Entity(aspect_guard.CREDENTIAL, f"{aspect_guard.CREDENTIAL_PREFIX}{token.id}")


def forget(transaction: WriteTransaction, realm: str, token: Token) -> None:
    """Removes what a realm keeps of a token, if it keeps anything."""
    aspects.drop(transaction, realm, entity_of(token))
