"""Users who act as the same principals, as far as anything asks: they get the same answers."""

from __future__ import annotations

import numpy as np
from pyroaring import BitMap

from lakewarden.kernel.principal import SERVICE_ADMINS
from lakewarden.pipeline.review.audience import Audience, People


class RoleSets:
    """The role sets of a realm, numbered.

    `principals[s]` are those that the users of set s act as, of those that statements name;
    `users[s]` its users; `set_of[u]` is the set of a user.
    """

    def __init__(self, people: People, audience: Audience) -> None:
        memberships = people.memberships
        named = people.addressed() | {memberships.ids[SERVICE_ADMINS]}
        told = [audience.telling[one] for one in sorted(audience.telling, key=repr)]
        found: dict[tuple[frozenset[int], tuple[bool, ...]], list[int]] = {}
        for user in people.crowd.everyone:
            acts = memberships.acts_as(memberships.principals[user]) & named
            found.setdefault((acts, tuple(user in users for users in told)), []).append(user)
        keys = sorted(found, key=lambda key: found[key][0])
        self.principals = [acts for acts, _ in keys]
        self.users = [BitMap(found[key]) for key in keys]
        self.set_of = {user: s for s, users in enumerate(self.users) for user in users}
        self._sets = np.zeros(len(memberships.principals), dtype=np.uint32)
        for user, number in self.set_of.items():
            self._sets[user] = number

    def __len__(self) -> int:
        return len(self.users)

    def of(self, users: BitMap) -> BitMap:
        """The role sets of some users."""
        numbers = self._sets[np.asarray(users.to_array())]
        is_here = np.zeros(len(self), dtype=bool)
        is_here[numbers] = True
        return BitMap(np.flatnonzero(is_here).astype(np.uint32))
