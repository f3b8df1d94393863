"""Targets in the forms of Gravitino's own plug-ins, for those who come from there."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from lakewarden.pushdown.style import Style
from lakewarden.systems.gravitino.push import database_roles

STYLES: Final[Mapping[str, Style]] = {"postgresql": database_roles.roles}
"""The style `gravitino`, by kinds of targets."""
