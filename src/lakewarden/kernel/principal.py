"""The actors: users, groups, roles, and the sets that a system implies.

Kinds never stand in for each other: a group named like a user is another principal.
"""

from __future__ import annotations

from typing import Final, NamedTuple

USER: Final = "user"
GROUP: Final = "group"
ROLE: Final = "role"
IMPLIED: Final = "implied"
"""Kind of the implied sets, which have no stored members: see the constants below."""


class Principal(NamedTuple):
    """A user, group or role by its canonical name, or an implied set of them.

    >>> Principal("user", "ana") == Principal("group", "ana")
    False
    """

    kind: str
    name: str


ALL_USERS: Final = Principal(IMPLIED, "all-users")
"""Every subject, including users that are not stored."""

ANY_GROUP: Final = Principal(IMPLIED, "any-group")
"""Everybody who belongs to at least one group."""

SERVICE_ADMINS: Final = Principal(IMPLIED, "service-admins")
"""The users that the operator configured as administrators of the whole service."""

MASTER: Final = Principal(IMPLIED, "master")
"""The user as which the governed platform itself runs (CDAP's master user)."""


def members_of(container: str) -> Principal:
    """The implied set of the users that were added to a membership container (a metalake)."""
    return Principal(IMPLIED, f"members:{container}")
