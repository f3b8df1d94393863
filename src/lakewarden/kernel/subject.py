"""The principal of a request, resolved against one snapshot: its memberships and ownership."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from pyroaring import BitMap

from lakewarden.kernel.errors import LimitExceeded
from lakewarden.kernel.hierarchy import MAX_LEVELS
from lakewarden.kernel.memberships import Memberships
from lakewarden.kernel.principal import ROLE, Principal
from lakewarden.kernel.tree import Tree

_SET_BYTES: Final = 216
_MEMBER_BYTES: Final = 32


@dataclass(frozen=True, slots=True)
class Subject:
    """A principal with its role sets.

    `deny` is everything it acts as; `allow` is that, without the roles it has deactivated. DENYs
    and ownership use `deny`, ALLOWs use `allow`. `owned` are the entities that it owns
    itself or through a group; `touched` are those and everything below them.
    """

    principal: Principal
    allow: frozenset[int]
    deny: frozenset[int]
    named: frozenset[Principal]
    owned: BitMap
    touched: BitMap
    key: tuple[frozenset[int], frozenset[int]] = field(init=False, repr=False, compare=False)
    """What every privilege depends on: subjects with equal keys share their rows."""

    def __post_init__(self) -> None:
        # One key for all plans that keep it; otherwise each plan would hold its own.
        object.__setattr__(self, "key", (self.allow, self.deny))

    @property
    def key_bytes(self) -> int:
        """The approximate size of the key in bytes, if nothing else keeps it."""
        return 2 * (_SET_BYTES + _MEMBER_BYTES * len(self.deny))


def resolve(
    principal: Principal,
    memberships: Memberships,
    tree: Tree,
    owned_by: Mapping[int, BitMap],
    groups: Iterable[Principal] = (),
    roles: frozenset[Principal] | None = None,
) -> Subject:
    """The subject; `groups` are sent with the request, `roles` narrows the ALLOW side.

    Raises `LimitExceeded` where the chain of memberships is too long.
    """
    if memberships.is_beyond(principal, groups):
        raise LimitExceeded(f"more than {MAX_LEVELS} memberships follow on one another")
    everything = memberships.acts_as(principal, groups)
    allow = everything
    if roles is not None:
        allow = frozenset(
            id
            for id in everything
            if memberships.principals[id].kind != ROLE or memberships.principals[id] in roles
        )
    owned = [owned_by[id] for id in everything if id in owned_by]
    entities = BitMap.union(*owned) if owned else BitMap()
    return Subject(
        principal=principal,
        allow=allow,
        deny=everything,
        named=frozenset({principal, *groups, *(memberships.principals[id] for id in everything)}),
        owned=entities,
        touched=tree.below(entities),
    )
