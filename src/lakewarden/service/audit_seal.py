"""Seals of the audit trail, which require the key to write.

The digests that chain the rows need no key, so anyone who can write to the database can rewrite a
row and rechain all that follow. A seal is an HMAC over a row's digest, and so over every row up to
it; its key is stored outside the database. A seal names its key, so that keys can be changed: the
newest row sealed with a configured key vouches for all rows before it.

The keys are derived from those that seal secrets, under a separate label (RFC 5869 would do the
same in two steps; here the input is already uniform).
"""

from __future__ import annotations

import base64
import hashlib
import hmac
from collections.abc import Sequence
from enum import Enum
from typing import Final

_LABEL: Final = b"lakewarden audit trail, version 1"
_ID_CHARACTERS: Final = 16


class Sealed(Enum):
    """The result of checking a seal with the available keys."""

    GOOD = "good"
    FORGED = "forged"
    UNKNOWN_KEY = "unknown key"
    NOT = "not sealed"


class Seals:
    """The keys, the sealing one first; without any, nothing is sealed.

    >>> seals = Seals(["AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8="])
    >>> seals.examine("ab", seals.seal("ab")), seals.examine("ac", seals.seal("ab"))
    (<Sealed.GOOD: 'good'>, <Sealed.FORGED: 'forged'>)
    """

    def __init__(self, keys: Sequence[str] = ()) -> None:
        derived = [hmac.digest(base64.urlsafe_b64decode(key), _LABEL, "sha256") for key in keys]
        self._by_id = {_id(key): key for key in derived}
        self.first = _id(derived[0]) if derived else ""
        """The id of the key that seals; empty: there is none."""

    def __repr__(self) -> str:
        return f"Seals({', '.join(self._by_id)})"

    def __bool__(self) -> bool:
        return bool(self._by_id)

    def seal(self, digest: str) -> str:
        """The seal of a row with this digest; empty without a key."""
        return f"{self.first}:{self._mac(self.first, digest)}" if self.first else ""

    def examine(self, digest: str, seal: str) -> Sealed:
        """Checks the seal of a row with this digest."""
        id, _, mac = seal.partition(":")
        if not seal:
            return Sealed.NOT
        if id not in self._by_id:
            return Sealed.UNKNOWN_KEY
        is_ours = hmac.compare_digest(
            mac.encode("utf-8", "replace"), self._mac(id, digest).encode()
        )
        return Sealed.GOOD if is_ours else Sealed.FORGED

    def _mac(self, id: str, digest: str) -> str:
        return hmac.new(self._by_id[id], digest.encode("utf-8", "replace"), "sha256").hexdigest()


UNSEALED: Final = Seals()


def key_id(seal: str) -> str:
    """The id of the key that a seal names; empty without a seal."""
    return seal.partition(":")[0]


def _id(key: bytes) -> str:
    return hashlib.sha256(b"id of " + key).hexdigest()[:_ID_CHARACTERS]
