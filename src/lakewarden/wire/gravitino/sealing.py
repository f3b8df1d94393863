"""Secrets among the properties of objects: recognised, sealed, and never shown.

A property is a secret by its key (`jdbc-password`, `s3-secret-access-key`, …), or by a value
that carries credentials inside an address. Secrets are kept apart from the object's document,
encrypted; no reply, log line or audit row has them. They are opened for two purposes alone: to
read a live catalog, and to hand out the credentials that a catalog is configured to give.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Final

from lakewarden.service.sealing import Sealing
from lakewarden.wire.exchange import Exchange
from lakewarden.wire.gravitino.errors import unsupported

_KEY: Final = re.compile(
    r"passw(or)?d|passphrase|secret|account-?key|private-?key|api-?key|sas-?token|bearer"
    r"|(access|auth|session)-?token|access-?key$|(^|-)(pwd|token|credentials?)$"
)

_CREDENTIALS_IN_ADDRESS: Final = re.compile(
    r"://[^/@\s]*:[^/@\s]*@|[?&;](user|password|pwd|passwd|secret|token|access_?key|sig)[^=&;]*=",
    re.IGNORECASE,
)


def is_secret(key: str, value: str) -> bool:
    """Whether the property is kept secret.

    >>> is_secret("jdbc-password", "x"), is_secret("s3-secret-access-key", "x")
    (True, True)
    >>> is_secret("jdbc-user", "ana"), is_secret("jdbc-url", "jdbc:mysql://h:3306/d")
    (False, False)
    >>> is_secret("jdbc-url", "jdbc:mysql://h/d?user=ana&password=x")
    True
    """
    folded = key.lower().replace("_", "-").replace(".", "-")
    return bool(_KEY.search(folded) or _CREDENTIALS_IN_ADDRESS.search(value))


def parted(properties: Mapping[str, str]) -> tuple[dict[str, str], dict[str, str]]:
    """The properties that may be shown, and the secret ones."""
    secret = {key: value for key, value in properties.items() if is_secret(key, value)}
    return {k: v for k, v in properties.items() if k not in secret}, secret


def sealing(exchange: Exchange) -> Sealing:
    """What seals and opens; raises `Failure` 405 where the server has no key for secrets."""
    found = exchange.services.sealing
    if found is None:
        raise unsupported("the server has no key for secrets, so it keeps no secret properties")
    return found
