"""Credentials for logins. They are stored apart from the facts: in no state and no feed.

A credential belongs to an entity, and has a kind. Its value is a digest, or sealed: useless to a
reader. It is removed with its entity, and with its realm.
"""

from __future__ import annotations

from typing import Final, NamedTuple

from lakewarden.kernel.entity import Entity

PASSWORD: Final = "password"  # noqa: S105 — the word, not a password
"""The slow hash of a password."""

RESET: Final = "reset"
"""The digest of a secret that allows choosing a new password once."""

INVITATION: Final = "invitation"
"""The content of an invitation; its entity is named by the digest of the invitation's secret."""

LINK: Final = "link"
"""The secret of an invitation, sealed, so it can be shown again."""


class Credential(NamedTuple):
    """`expires` is in seconds since the epoch; None: never."""

    entity: Entity
    kind: str
    value: str
    expires: float | None = None

    def is_valid(self, now: float) -> bool:
        """Whether it may still be used."""
        return self.expires is None or now < self.expires


class Count(NamedTuple):
    """A counter of attempts, identified by `names`: at most `limit` within `seconds`."""

    names: tuple[str, ...]
    limit: int
    seconds: float
