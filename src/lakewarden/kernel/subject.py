"""The principal of a request, resolved against one snapshot: its memberships and ownership."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from pyroaring import BitMap

from lakewarden.kernel.errors import LimitExceeded
from lakewarden.kernel.hierarchy import MAX_LEVELS
from lakewarden.kernel.memberships import Memberships
from lakewarden.kernel.principal import ROLE, SERVICE_ADMINS, Principal
from lakewarden.kernel.tree import Tree

RoleSets = tuple[frozenset[int], frozenset[int]]
"""Ids of principals: those of the ALLOW side and those of the DENY side."""

NO_ROLE_SETS: Final[RoleSets] = (frozenset(), frozenset())

_SET_BYTES: Final = 216
_MEMBER_BYTES: Final = 32


@dataclass(frozen=True, slots=True)
class Subject:
    """A principal with its role sets.

    `deny` is everything it acts as; `allow` is that, without the roles it has deactivated. DENYs
    and ownership use `deny`, ALLOWs use `allow`. `owned` are the entities that it owns
    itself or through a group; `owned_subtree` are those and everything below them.
    """

    principal: Principal
    allow: frozenset[int]
    deny: frozenset[int]
    named: frozenset[Principal]
    owned: BitMap
    owned_subtree: BitMap
    key: RoleSets = field(repr=False, compare=False)
    """What every privilege depends on: of `allow` and `deny` at least what statements name.

    Subjects with equal keys share their rows.
    """

    @property
    def key_bytes(self) -> int:
        """The approximate size of the key in bytes, if nothing else keeps it."""
        return 2 * (_SET_BYTES + _MEMBER_BYTES * len(self.key[1]))


def nobody(principal: Principal) -> Subject:
    """The subject of that principal without any membership, not even in itself."""
    none: frozenset[int] = frozenset()
    return Subject(principal, none, none, frozenset(), BitMap(), BitMap(), NO_ROLE_SETS)


def resolve(
    principal: Principal,
    memberships: Memberships,
    tree: Tree,
    owned_by: Mapping[int, BitMap],
    named: Container[int],
    groups: Iterable[Principal] = (),
    roles: frozenset[Principal] | None = None,
) -> Subject:
    """The subject; `groups` are sent with the request, `roles` narrows the ALLOW side.

    `named` contains every principal that a statement in force names. Raises `LimitExceeded` where
    the chain of memberships is too long.
    """
    if memberships.is_too_nested(principal, groups):
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
        owned_subtree=tree.below(entities),
        key=_key(allow, everything, named, memberships.ids.get(SERVICE_ADMINS)),
    )


def _key(
    allow: frozenset[int], deny: frozenset[int], named: Container[int], administrators: int | None
) -> RoleSets:
    """The part of the role sets that some row depends on: most users are in no statement."""

    def needed(ids: frozenset[int]) -> frozenset[int]:
        return frozenset(id for id in ids if id in named or id == administrators)

    of_denies = needed(deny)
    return (of_denies if allow is deny else needed(allow)), of_denies
