"""The port for sealing secrets, and the properties of objects that are secrets.

The store implements the encryption, so it is a port.
"""

from __future__ import annotations

import re
from typing import Final, Protocol

_KEY: Final = re.compile(
    r"passw(or)?d|passphrase|secret|account-?key|private-?key|api-?key|sas-?token|bearer"
    r"|(access|auth|session)-?token|access-?key$|(^|-)(pwd|token|credentials?)$"
)

_CREDENTIALS_IN_ADDRESS: Final = re.compile(
    r"://[^/@\s]*:[^/@\s]*@|[?&;](user|password|pwd|passwd|secret|token|access_?key|sig)[^=&;]*=",
    re.IGNORECASE,
)


def is_secret(key: str, value: str) -> bool:
    """Whether the property is secret: by its key, or by credentials in an address.

    >>> is_secret("jdbc-password", "x"), is_secret("s3-secret-access-key", "x")
    (True, True)
    >>> is_secret("jdbc-user", "ana"), is_secret("jdbc-url", "jdbc:mysql://h:3306/d")
    (False, False)
    >>> is_secret("jdbc-url", "jdbc:mysql://h/d?user=ana&password=x")
    True
    """
    folded = key.lower().replace("_", "-").replace(".", "-")
    return bool(_KEY.search(folded) or _CREDENTIALS_IN_ADDRESS.search(value))


class Sealing(Protocol):
    """Seals secrets for storage, and unseals them."""

    def seal(self, text: str) -> str:
        """The encrypted text; a different result each time."""
        ...

    def unseal(self, sealed: str) -> str:
        """The plain text of a sealed one; raises `Unavailable` if no key fits."""
        ...
