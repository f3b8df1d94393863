"""Styles of a target: the names and the division of roles that a system's own plug-in uses.

A style divides the wanted roles in another way. It cannot grant more: its result consists of its
input.
"""

from __future__ import annotations

from collections.abc import Callable

from lakewarden.kernel.errors import BadInput
from lakewarden.pushdown.desired_state import DesiredRoles
from lakewarden.pushdown.target_objects import Scope, TargetObjects
from lakewarden.service.push_target_check import styles
from lakewarden.service.state import RealmState

Style = Callable[[RealmState, Scope, DesiredRoles, TargetObjects], DesiredRoles]
"""The wanted roles, divided into those with the system's names (`Wanted.named`) and others."""

PLAIN = ""
"""The style of roles that are made from rows of the matrix alone."""


def style_of(model: str, kind: str, name: str) -> Style | None:
    """The style of that name for a kind of target; None for `PLAIN`. Raises `BadInput`."""
    if name == PLAIN:
        return None
    style: Style | None = styles(model, name).get(kind)
    if style is None:
        raise BadInput(f"there is no style `{name}` for `{kind}` in the model `{model}`")
    return style
