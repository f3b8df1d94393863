"""Styles of a service of Ranger: policies and roles by the names of a system's own plug-in."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import Any, NamedTuple

from lakewarden.engines.mapping import EngineMapping
from lakewarden.engines.ranger_service import RangerService
from lakewarden.kernel.errors import BadInput
from lakewarden.service.push_target import RANGER, PushTarget
from lakewarden.service.push_target_check import styles
from lakewarden.service.ranger.places import Naming
from lakewarden.service.residue import Residues
from lakewarden.service.state import RealmState


class RangerForm(NamedTuple):
    """Policies and roles in the form of Ranger's REST API, without ids, and what they leave out."""

    policies: Sequence[dict[str, Any]]
    roles: Sequence[dict[str, Any]]
    residues: Residues


Form = Callable[
    [RealmState, EngineMapping, RangerService, Naming, float, Residues, Collection[str]],
    RangerForm,
]
"""Computes the wanted state at a time, without roles whose names are taken by others.

The residues are those that are known before; the form adds to them.

Raises `StaleSnapshot` for a time outside the interval of the realm's snapshot.
"""


class RangerStyle(NamedTuple):
    """The forms by service type, and the `label` by which the plug-in recognizes its objects."""

    label: str
    forms: dict[str, Form]


def style_of(realm: RealmState, target: PushTarget) -> RangerStyle | None:
    """The style of a target; None without one. Raises `BadInput` if it does not exist."""
    if not target.style:
        return None
    model = realm.realm.model
    style: RangerStyle | None = styles(model, target.style).get(RANGER)
    if style is None:
        raise BadInput(f"there is no style `{target.style}` for Ranger in the model `{model}`")
    return style
