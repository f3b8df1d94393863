"""DataHub's record of a token: an entity, whose aspect has its creator and purpose."""

from __future__ import annotations

from lakewarden.kernel.entity import Entity
from lakewarden.service.realm import Token
from lakewarden.service.write_transaction import WriteTransaction
from lakewarden.systems.datahub.use_cases import aspect_guard, aspects


def entity_of(token: Token) -> Entity:
    """The entity that records a token."""
    return Entity(aspect_guard.CREDENTIAL, f"{aspect_guard.CREDENTIAL_PREFIX}{token.id}")


def remove_record(transaction: WriteTransaction, realm: str, token: Token) -> None:
    """Removes a realm's record of a token, if there is one."""
    aspects.drop(transaction, realm, entity_of(token))
