"""Account status: whether a user of DataHub is admitted, before any authorization.

| refused                              | source                                        |
|--------------------------------------|-----------------------------------------------|
| removed                              | `removed` of the aspect `status`              |
| suspended                            | `status` of the aspect `corpUserStatus`       |
| missing, if that is enforced         | no entity in the realm, none in its directory |

The system's own account is always admitted, and the root user always exists, but may be suspended
or removed.

SOURCE: datahub reference 3.5, `ActorContext.isActive`. CHOICE: a user of the realm's directory
exists, even without an aspect: `docs/decisions/0015`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.principal import USER, Principal
from lakewarden.service.state import RealmState
from lakewarden.systems.datahub.aspects.fields import without_avro_type

TYPE: Final = "corpuser"

SYSTEM: Final = "urn:li:corpuser:__datahub_system"
ROOT: Final = "urn:li:corpuser:datahub"

SAYING: Final = ("status", "corpUserStatus")
"""The aspects of a user with the status, in the order in which they are checked."""


def refusal_of(
    user: str, status: Mapping[str, Any], user_status: Mapping[str, Any], *, is_there: bool = True
) -> str:
    """The reason why the user of this URN is not admitted; empty for an admitted one."""
    if user == SYSTEM:
        return ""
    if without_avro_type(status.get("removed")) is True:
        return f"`{user}` was removed"
    if without_avro_type(user_status.get("status")) == "SUSPENDED":
        return f"`{user}` is suspended"
    return "" if is_there or user == ROOT else f"`{user}` does not exist"


def is_known_user(realm_state: RealmState, user: str) -> bool:
    """Whether the user with this URN is stored in the realm, or known to its directory."""
    coded = realm_state.matrix.snapshot.coded
    if coded.is_known(Entity(TYPE, user)):
        return True
    return coded.memberships.ids.get(Principal(USER, user)) in coded.memberships.stored
