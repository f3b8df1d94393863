"""Whether a user of DataHub may come in at all, before anything is asked.

| turned away                          | what says it                                  |
|--------------------------------------|-----------------------------------------------|
| removed                              | `removed` of the aspect `status`              |
| suspended                            | `status` of the aspect `corpUserStatus`       |
| not there, where that is enforced    | no entity in the realm, nobody in its directory |

The system's own account is never turned away, and the root user is always there: it may still
be suspended or removed.

SOURCE: datahub reference 3.5, `ActorContext.isActive`. CHOICE: who is in the realm's directory
is there, although nobody wrote an aspect of it: `docs/decisions/0015`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.principal import USER, Principal
from lakewarden.service.state import RealmState

TYPE: Final = "corpuser"

SYSTEM: Final = "urn:li:corpuser:__datahub_system"
ROOT: Final = "urn:li:corpuser:datahub"

SAYING: Final = ("status", "corpUserStatus")
"""The aspects of the user that say it, in the order in which `turned_away` takes them."""


def refusal_of(
    user: str, status: Mapping[str, Any], user_status: Mapping[str, Any], *, is_there: bool = True
) -> str:
    """Why the user of this URN may do nothing at all; empty for one who may."""
    if user == SYSTEM:
        return ""
    if status.get("removed") is True:
        return f"`{user}` was removed"
    if user_status.get("status") == "SUSPENDED":
        return f"`{user}` is suspended"
    return "" if is_there or user == ROOT else f"`{user}` does not exist"


def is_known_user(realm_state: RealmState, user: str) -> bool:
    """Whether the user of this URN is stored in the realm, or known to its directory."""
    coded = realm_state.matrix.snapshot.coded
    if coded.is_known(Entity(TYPE, user)):
        return True
    return coded.memberships.ids.get(Principal(USER, user)) in coded.memberships.stored
