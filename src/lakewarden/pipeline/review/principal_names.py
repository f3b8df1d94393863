"""How a review names principals, and what a row of it is about."""

from __future__ import annotations

from typing import Final

from lakewarden.kernel.principal import Principal

EXACT: Final = "exact"
COARSE: Final = "coarse"
"""What a row is about: a class, or a group of entities that need not be alike."""


def words(principal: Principal) -> str:
    """The principal as people write it.

    >>> words(Principal("group", "staff"))
    'group:staff'
    """
    return ":".join(principal)
