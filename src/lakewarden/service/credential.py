"""Credentials for sign-in. They are stored apart from the facts: in no state and no feed.

A credential is of an entity, of one kind. Its value is a digest, or sealed: nothing that could
be used if it were read. It goes with its entity, and with its realm.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from lakewarden.kernel.entity import Entity

PASSWORD: Final = "password"  # noqa: S105 — the word for it, not one
"""The slow hash of a password."""

RESET: Final = "reset"
"""The digest of a word with which a new password may be chosen, once."""

INVITATION: Final = "invitation"
"""What an invitation gives; its entity is named by the digest of the invitation's word."""

LINK: Final = "link"
"""The word of an invitation, sealed, so that it can be shown again."""


class Credential(NamedTuple):
    """`expires` is in seconds since the epoch; None: never."""

    entity: Entity
    kind: str
    value: str
    expires: float | None = None

    def is_good(self, now: float) -> bool:
        """Whether it may still be used."""
        return self.expires is None or now < self.expires


class Count(NamedTuple):
    """Tries of something, named by `names`: at most `limit` within `seconds`."""

    names: tuple[str, ...]
    limit: int
    seconds: float
