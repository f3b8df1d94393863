"""Secret properties of objects: detected, sealed, and never shown.

`lakewarden.service.sealed_properties.is_secret` decides which properties are secret. They are
stored apart from the object's document, encrypted; no reply, log line or audit row contains them.
They are decrypted for two purposes only: to read a live catalog, and to return the credentials that
a catalog is configured to grant.
"""

from __future__ import annotations

from collections.abc import Mapping

from lakewarden.http.exchange import Exchange
from lakewarden.service.sealed_properties import Sealing, is_secret
from lakewarden.systems.gravitino.http.errors import unsupported


def split_secrets(properties: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """The properties that may be shown, and the secret ones."""
    secret = {key: value for key, value in properties.items() if is_secret(key, value)}
    return {k: v for k, v in properties.items() if k not in secret}, secret


def sealing(exchange: Exchange) -> Sealing:
    """Seals and opens secrets; raises `Failure` 405 if the server has no key for secrets."""
    configured = exchange.services.sealing
    if configured is None:
        raise unsupported("the server has no key for secrets, so it keeps no secret properties")
    return configured
