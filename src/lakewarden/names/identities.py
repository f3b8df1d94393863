"""How a system names its users, groups and roles, beside its entities.

A spelling whose system does not name people by their plain names has its own `Identities`,
`IDENTITIES` in its module; all others use `BY_NAME`.
"""

from __future__ import annotations

from enum import IntEnum
from typing import Final

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.principal import USER, Principal
from lakewarden.names.canonical import check_text

URN: Final = "urn:li:"
"""The prefix of every URN."""


class IdForm(IntEnum):
    """The form of an id: enough to exclude realms in which it cannot be a name."""

    EMPTY = 0
    URN = 1
    COLON = 2
    """Contains a colon, and is not a URN."""
    PLAIN = 3


def id_form(id: str) -> IdForm:
    """The form of an id.

    >>> id_form("lake:sales.raw").name, id_form("urn:li:tag:x").name, id_form("record-1").name
    ('COLON', 'URN', 'PLAIN')
    """
    if ":" not in id:
        return IdForm.PLAIN if id else IdForm.EMPTY
    return IdForm.URN if id.startswith(URN) else IdForm.COLON


class Identities:
    """Users, groups and roles are named by their names, entities by type and name.

    A system overrides the methods where it differs.
    """

    def entity(self, text: str) -> Entity | None:
        """The entity that a text names without its type; None if it names none."""
        return None

    def principal(self, text: str) -> Principal | None:
        """The principal that a text names without its kind; None if it names none."""
        return None

    def user(self, name: str) -> Principal:
        """The user with this bare name; the name may be any text."""
        return Principal(USER, name)

    def spelled(self, person: Principal) -> Principal:
        """The principal of a directory, as statements of the system name it."""
        return person

    def subject(self, kind: str, name: str) -> Principal:
        """The principal of that kind that a caller names."""
        return self.spelled(Principal(kind, name))

    def person(self, principal: Principal) -> str:
        """A user's name in the directory; unchanged if the directory does not know it."""
        return principal.name

    def group(self, principal: Principal) -> str:
        """A group's name in the directory; unchanged if the directory does not know it."""
        return principal.name

    def check(self, principal: Principal) -> None:
        """Raises `BadInput` for a principal that the system cannot have."""
        check_text(principal.name)

    def is_possible(self, type: str, form: IdForm) -> bool:
        """Whether an id of that form can name an entity of that type."""
        return True


BY_NAME: Final = Identities()
"""Everybody is named by their name."""


def entity_text(entity: Entity) -> str:
    """The entity as questions name it: its URN, or `type:name`; empty for no resource.

    >>> entity_text(Entity("realm", "lake")), entity_text(Entity("tag", "urn:li:tag:pii"))
    ('realm:lake', 'urn:li:tag:pii')
    >>> entity_text(Entity("", ""))
    ''
    """
    if not entity.type:
        return ""
    return entity.name if entity.name.startswith(URN) else str(entity)
