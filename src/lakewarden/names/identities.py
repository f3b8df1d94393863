"""How a system writes who somebody is: its users, groups and roles, beside its entities.

A spelling whose system calls people otherwise than by their names has an `Identities` of its own,
as `IDENTITIES` in its module; for all others it is `BY_NAME`.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.principal import USER, Principal
from lakewarden.names.canonical import check_text

URN: Final = "urn:li:"
"""How every URN begins."""


class Look(IntEnum):
    """What an id looks like: enough to say in which realms it cannot be a name."""

    EMPTY = 0
    URN = 1
    COLON = 2
    """Holds a colon, and is no URN."""
    PLAIN = 3


def look(id: str) -> Look:
    """The look of an id.

    >>> look("lake:sales.raw").name, look("urn:li:tag:x").name, look("record-1").name
    ('COLON', 'URN', 'PLAIN')
    """
    if ":" not in id:
        return Look.PLAIN if id else Look.EMPTY
    return Look.URN if id.startswith(URN) else Look.COLON


class Identities:
    """Users, groups and roles are called by their names, entities by type and name.

    A system overrides what it does otherwise.
    """

    def entity(self, text: str) -> Entity | None:
        """The entity that a text names without its type; None: it names none so."""
        return None

    def principal(self, text: str) -> Principal | None:
        """The principal that a text names without its kind; None: it names none so."""
        return None

    def user(self, name: str) -> Principal:
        """The user whom people call by a bare name; the name may be any text."""
        return Principal(USER, name)

    def spelled(self, person: Principal) -> Principal:
        """Somebody of a directory, as statements of the system call them."""
        return person

    def subject(self, kind: str, name: str) -> Principal:
        """The principal of that kind whom a caller names."""
        return self.spelled(Principal(kind, name))

    def person(self, principal: Principal) -> str:
        """A user as the directory calls the person; a name that it does not know, as it is."""
        return principal.name

    def group(self, principal: Principal) -> str:
        """A group as the directory calls it; a name that it does not know, as it is."""
        return principal.name

    def check(self, principal: Principal) -> None:
        """Raises `BadInput` for a principal that the system cannot have."""
        check_text(principal.name)

    def is_possible(self, type: str, look: Look) -> bool:
        """Whether an id of that look can name an entity of that type at all."""
        return True


BY_NAME: Final = Identities()
"""Everybody is called by their name."""
