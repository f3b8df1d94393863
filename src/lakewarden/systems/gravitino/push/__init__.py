"""Targets in the format of Gravitino's own plug-ins, for users who migrate from them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any, Final

from lakewarden.service.push_target import RANGER
from lakewarden.systems.gravitino.push import database_roles, ranger_policies

STYLES: Final[Mapping[str, Any]] = {
    "mysql": partial(database_roles.roles, database_roles.MARIADB),
    "postgresql": partial(database_roles.roles, database_roles.POSTGRESQL),
    RANGER: ranger_policies.STYLE,
}
"""The style `gravitino`, by kind of target."""
