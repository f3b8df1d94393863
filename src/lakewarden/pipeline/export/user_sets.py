"""Sets of users as rows: principals whose users are all in the set, and the remaining users.

A statement often names a large group, and a set of users is that group or a few of them. The
remaining users are listed by role set, if all users of the role set are in the set, or one by one.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from hashlib import blake2b
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from pyroaring import BitMap

from lakewarden.kernel.principal import ALL_USERS
from lakewarden.pipeline.index.matching import canonical
from lakewarden.pipeline.index.task_context import TaskContext
from lakewarden.pipeline.review.audience import Audience, People, RoleSets, people_of
from lakewarden.pipeline.review.residue import DIGEST_BYTES, Compared, Residues

Numbers = NDArray[np.int64]


class UserSet(NamedTuple):
    """A set of users; its name is its digest."""

    name: str
    principals: list[int]
    role_sets: Numbers
    users: Numbers


class UserSets:
    """The role sets of an estate, and sets of its users described by them."""

    def __init__(self, people: People, telling: Mapping[Compared, BitMap]) -> None:
        self.people = people
        self.telling = telling
        self.sets = RoleSets(people, Audience(people, Residues(), telling))
        self._sizes = np.array([len(users) for users in self.sets.users], dtype=np.int64)
        self._set_of = np.full(len(people.memberships.principals), -1, dtype=np.int64)
        for user, number in self.sets.set_of.items():
            self._set_of[user] = number
        self._acting_as: dict[int, BitMap] = {}

    def of(self, users: BitMap, spoken_to: Iterable[int], known: dict[str, UserSet]) -> UserSet:
        """The rows of a set of users; `spoken_to` are principals that may describe parts of it.

        A set whose name is in `known` is reused; a new one is added to `known`.
        """
        name = blake2b(canonical(users), digest_size=DIGEST_BYTES).hexdigest()
        user_set = known.get(name)
        if user_set is None:
            user_set = known[name] = self._make(name, users, spoken_to)
        return user_set

    def _make(self, name: str, users: BitMap, spoken_to: Iterable[int]) -> UserSet:
        chosen, left = self._whole(users, spoken_to)
        numbers = np.asarray(left.to_array(), dtype=np.int64)
        sets = self._set_of[numbers]
        counts = np.bincount(sets, minlength=len(self._sizes))
        is_whole = counts == self._sizes
        return UserSet(name, chosen, np.flatnonzero(is_whole), numbers[~is_whole[sets]])

    def _whole(self, users: BitMap, spoken_to: Iterable[int]) -> tuple[list[int], BitMap]:
        """The principals, largest first, whose users are all in the set; and the rest."""
        chosen, left = [], users.copy()
        candidates = {*spoken_to, self.people.memberships.ids[ALL_USERS]}
        for principal in sorted(
            candidates, key=lambda principal: (-len(self._users(principal)), principal)
        ):
            memberships = self._users(principal)
            if left.intersect(memberships) and memberships.issubset(users):
                chosen.append(principal)
                left -= memberships
        return sorted(chosen), left

    def _users(self, principal: int) -> BitMap:
        known = self._acting_as.get(principal)
        if known is None:
            known = self._acting_as[principal] = self.people.of([principal])
        return known


def user_sets_of(context: TaskContext, telling: Mapping[Compared, BitMap]) -> UserSets:
    """The role sets of an estate, computed once in each process."""
    known = _CROWDS.get(context.key)
    if known is None:
        _CROWDS.clear()
        known = _CROWDS[context.key] = UserSets(people_of(context), telling)
    return known


_CROWDS: dict[str, UserSets] = {}
