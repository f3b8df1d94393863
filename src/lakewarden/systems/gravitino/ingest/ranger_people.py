"""The principals of Ranger's policies, and how much is known about their members.

A group or role whose members are not all listed cannot be restricted as such: a member in Ranger
might not be a member here. Its restrictions then apply to everybody.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Final

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.principal import GROUP, ROLE, USER, Principal, members_of
from lakewarden.service.source_row import Row, membership_row, principal_row
from lakewarden.systems.gravitino import names as gravitino
from lakewarden.systems.gravitino.ingest.grants import stored
from lakewarden.systems.gravitino.ingest.ranger_policy import Item, Ranger

PUBLIC: Final = "public"
"""Ranger's group of all users."""

MACROS: Final = frozenset({"{USER}", "{OWNER}"})
"""User macros that Ranger resolves for each request."""


@dataclass(slots=True)
class People:
    """The principals of a metalake; `allowed_by` are all items that allow something."""

    metalake: str
    ranger: Ranger
    allowed_by: Iterable[Item]
    _known: dict[Principal, None] = field(default_factory=dict)
    _has_all_groups: bool = False

    def __post_init__(self) -> None:
        named = {user for item in self.allowed_by for user in item.users} - MACROS
        named |= {user for role in self.ranger.roles.values() for user in role.users}
        groups_by_user = self.ranger.groups_of
        self._has_all_groups = bool(groups_by_user) and named <= groups_by_user.keys()
        for user, groups in groups_by_user.items():
            self._principal(USER, user)
            for group in groups:
                self._principal(GROUP, group)
        for role in self.ranger.roles.values():
            self._principal(ROLE, role.name)
            for kind, names in ((USER, role.users), (GROUP, role.groups), (ROLE, role.roles)):
                for name in names:
                    self._principal(kind, name)

    def _principal(self, kind: str, name: str) -> Principal | None:
        """The principal; None if Gravitino could not have it."""
        full = f"{self.metalake}:{name}"
        try:
            gravitino.parse(kind, full)
        except BadInput:
            return None
        principal = Principal(kind, full if kind == ROLE else name)
        if (kind, name) != (GROUP, PUBLIC):
            self._known[principal] = None
        return principal

    def allowed(self, item: Item) -> list[Principal]:
        """The principals to whom an item allows something, as far as they can be named."""
        principals = [
            principal for principal in self._named_principals(item) if principal is not None
        ]
        return [*principals, members_of(self.metalake)] if PUBLIC in item.groups else principals

    def restricted(self, item: Item) -> tuple[list[Principal], list[str]]:
        """The principals of an item, and those not listed, which widen the item to everybody."""
        principals = list(self._named_principals(item))
        unknown = [f"who {user} is" for user in sorted(MACROS & set(item.users))]
        unknown += [f"who is in the group {g}" for g in item.groups if not self._is_listed(g)]
        unknown += [f"who holds the role {r}" for r in item.roles if not self._is_held(r, ())]
        if unknown or None in principals or PUBLIC in item.groups:
            return [members_of(self.metalake)], unknown
        return [principal for principal in principals if principal is not None], []

    def _named_principals(self, item: Item) -> Iterator[Principal | None]:
        for user in item.users:
            if user not in MACROS:
                yield self._principal(USER, user)
        for group in item.groups:
            if group != PUBLIC:
                yield self._principal(GROUP, group)
        for role in item.roles:
            yield self._principal(ROLE, role)

    def _is_listed(self, group: str) -> bool:
        """Whether all members of a group are known."""
        return group == PUBLIC or self._has_all_groups

    def _is_held(self, name: str, above: tuple[str, ...]) -> bool:
        """Whether all holders of a role are known."""
        role = self.ranger.roles.get(name)
        if role is None or name in above or PUBLIC in role.groups:
            return False
        inner = all(self._is_held(role, (*above, name)) for role in role.roles)
        return inner and all(map(self._is_listed, role.groups))

    def rows(self, place: str) -> Iterator[Row]:
        """All named principals; users are members of the metalake."""
        for principal in self._known:
            is_role = principal.kind == ROLE
            name = principal.name if is_role else f"{self.metalake}:{principal.name}"
            yield from stored(Entity(principal.kind, name), place)
            yield principal_row(principal, place)
            if principal.kind == USER:
                yield membership_row(principal, members_of(self.metalake), place)
        for member, of in dict.fromkeys(self._role_members()):
            if member in self._known and of in self._known:
                yield membership_row(member, of, place)

    def _role_members(self) -> Iterator[tuple[Principal, Principal]]:
        for user, groups in self.ranger.groups_of.items():
            for group in groups:
                yield Principal(USER, user), Principal(GROUP, group)
        for role in self.ranger.roles.values():
            of = Principal(ROLE, f"{self.metalake}:{role.name}")
            for user in role.users:
                yield Principal(USER, user), of
            for group in role.groups:
                yield Principal(GROUP, group), of
            for inner in role.roles:
                yield Principal(ROLE, f"{self.metalake}:{inner}"), of
