"""The roles with privileges on an object.

Shows the roles that the caller holds or owns; the metalake's owner sees all. Unlike in the list of
roles, MANAGE_GRANTS shows nothing here. Membership is required, as everywhere.
SOURCE: gravitino reference 3.4 and 3.6.
"""

from __future__ import annotations

from typing import Final

from lakewarden.http.exchange import Exchange, Reply, Route
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.principal import ROLE
from lakewarden.service.grant import grantees
from lakewarden.systems.gravitino import names as gravitino
from lakewarden.systems.gravitino.http.authorization import allow, visible
from lakewarden.systems.gravitino.http.bodies import ok
from lakewarden.systems.gravitino.http.kinds import METALAKE
from lakewarden.systems.gravitino.http.permissions import no_such_object
from lakewarden.systems.gravitino.http.securable import object_of_path


def list_roles(exchange: Exchange) -> Reply:
    """The names of the roles that hold a privilege on exactly this object."""
    target = object_of_path(exchange)
    state = allow(exchange, "object.roles.list", target, missing=no_such_object)
    roles = sorted(
        Entity(ROLE, principal.name)
        for principal in grantees(state, target)
        if principal.kind == ROLE
    )
    visible_roles = visible(exchange, "object.roles.list", roles, target)
    return ok(names=[gravitino.full_name(role) for role in visible_roles])


ROUTES: Final = (
    Route("GET", METALAKE + "/objects/{type}/{name}/roles", "object.roles.list", list_roles),
)
