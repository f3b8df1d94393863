"""Secrets at rest: sealed with the first configured key, read with any of them.

To change the key: put the new one first, `rewrap` the stored secrets, then remove the old one.
"""

from __future__ import annotations

from collections.abc import Sequence

from cryptography.fernet import Fernet, InvalidToken, MultiFernet

from lakewarden.kernel.errors import BadInput, Unavailable
from lakewarden.service.effect import SecretChanged
from lakewarden.store.writing import SqlWriting


def new_key() -> str:
    """A new random key."""
    return Fernet.generate_key().decode("ascii")


class Keys:
    """The configured keys; the first one seals.

    >>> keys = Keys([new_key()])
    >>> keys.unseal(keys.seal("open sesame"))
    'open sesame'
    """

    def __init__(self, keys: Sequence[str]) -> None:
        """Raises `BadInput` for no key at all, or a malformed one, which it does not quote."""
        if not keys:
            raise BadInput("expected at least one key for secrets")
        try:
            self._fernet = MultiFernet([Fernet(key) for key in keys])
        except ValueError:
            expected = "32 bytes in URL-safe base64, as `lakewarden.store.secrets.new_key` makes"
            raise BadInput(f"a key for secrets is malformed; expected {expected}") from None

    def __repr__(self) -> str:
        return "Keys(…)"

    def seal(self, text: str) -> str:
        """The encrypted text; a different result each time."""
        return self._fernet.encrypt(text.encode("utf-8", "surrogatepass")).decode("ascii")

    def unseal(self, sealed: str) -> str:
        """The plain text of a sealed one; raises `Unavailable` if no key fits."""
        try:
            opened = self._fernet.decrypt(sealed.encode("utf-8", "replace"))
        except InvalidToken:
            raise _no_key() from None
        return opened.decode("utf-8", "surrogatepass")

    def rewrapped(self, sealed: str) -> str:
        """The same secret, sealed with the first key; raises `Unavailable` if no key fits."""
        try:
            return self._fernet.rotate(sealed.encode("utf-8", "replace")).decode("ascii")
        except InvalidToken:
            raise _no_key() from None


def _no_key() -> Unavailable:
    return Unavailable("a stored secret cannot be read: none of the configured keys matches")


def rewrap(writing: SqlWriting, keys: Keys) -> int:
    """Seals every stored secret with the first key, as part of a write; returns their number.

    The change feed keeps secrets sealed with the old keys until it is pruned.
    """
    rows = list(writing.all_secrets())
    for scope, entity, name, sealed in rows:
        writing.apply(scope, [SecretChanged(entity, name, keys.rewrapped(sealed))])
    return len(rows)
