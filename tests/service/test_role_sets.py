"""Role sets: users share one exactly if they act as the same principals in statements."""

from __future__ import annotations

import pytest

from lakewarden.kernel.principal import USER
from lakewarden.service.role_sets import role_sets
from tests.service.worlds import MODELS, state, world


@pytest.mark.parametrize("realm", sorted(MODELS))
def test_users_are_together_where_they_act_as_the_same(realm: str) -> None:
    split = 0
    for seed in range(25):
        matrix = state({realm: world(realm, seed)}).realm(realm).matrix
        memberships = matrix.snapshot.coded.memberships
        statements = matrix.snapshot.table.statements.values()
        named = {p for s in statements for p in s.principals if p in memberships.ids}
        ids = frozenset(memberships.ids[one] for one in named)
        stored = [memberships.principals[id] for id in memberships.stored]
        users = [one for one in stored if one.kind == USER]
        expected: dict[frozenset[int], set[object]] = {}
        for user in users:
            expected.setdefault(memberships.acts_as(user) & ids, set()).add(user)
        found = role_sets(matrix)
        assert {frozenset(one.users) for one in found} == set(map(frozenset, expected.values()))
        split += len(found) > 1
    assert split > 10
