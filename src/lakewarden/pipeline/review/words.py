"""How a review names principals."""

from __future__ import annotations

from lakewarden.kernel.principal import Principal


def words(principal: Principal) -> str:
    """The principal as people write it.

    >>> words(Principal("group", "staff"))
    'group:staff'
    """
    return ":".join(principal)
