"""Models, rows and changes keep their meaning after pickling, as in jobs.

The results have their own strings: equal to the kernel's constants, but different objects.
"""

from __future__ import annotations

import pickle
from dataclasses import replace
from typing import TypeVar

import pytest

from lakewarden.kernel import listing as listing_module
from lakewarden.kernel.change import MembershipChanged
from lakewarden.kernel.incremental_compile import apply
from lakewarden.kernel.listing import listing
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.principal import ALL_USERS, IMPLIED, Principal
from lakewarden.kernel.relations import Facts, MembershipRow
from lakewarden.kernel.request import Request
from lakewarden.kernel.snapshot import compile
from lakewarden.kernel.who import who
from lakewarden.service.system import System
from tests.kernel.small import CATALOG_SYSTEM as CAT
from tests.kernel.small import LAKE_SYSTEM as LAKE
from tests.kernel.small import allowed, matrix
from tests.kernel.test_matrix import CAT_FACTS, LAKE_FACTS, U

Value = TypeVar("Value")


def pickled(value: Value) -> Value:
    copy: Value = pickle.loads(pickle.dumps(value))  # noqa: S301
    return copy


def test_texts_are_other_objects_afterwards() -> None:
    assert pickled(IMPLIED) == IMPLIED
    assert pickled(IMPLIED) is not IMPLIED


@pytest.mark.parametrize("few", [0, 8])
@pytest.mark.parametrize(("of", "facts"), [(LAKE, LAKE_FACTS), (CAT, CAT_FACTS)])
def test_a_pickled_model_decides_as_the_one_it_came_from(
    of: System, facts: Facts, few: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(listing_module, "FEW", few)
    other = Matrix(compile(pickled(facts), pickled(of.model), of.spelling, now=0.0, revision=1))
    one = matrix(of, facts)
    stored = [one.snapshot.coded.tree.entity(id) for id in one.snapshot.coded.tree.stored]
    for operation in of.model.operations.values():
        for principal in facts.principals:
            request = Request(principal, operation.name, now=0.0)
            assert listing(other, request) == listing(one, request)
            for entity in stored:
                if operation.rule_or_none(entity.type) is not None:
                    request = Request(principal, operation.name, entity, 0.0)
                    assert other.decide(request).allow is one.decide(request).allow
        for entity in stored:
            if operation.rule_or_none(entity.type) is not None:
                request = Request(Principal("user", ""), operation.name, entity, 0.0)
                assert list(who(other, request)) == list(who(one, request))


def test_a_pickled_change_of_an_implied_set_concerns_everybody() -> None:
    guests = MembershipRow(ALL_USERS, Principal("group", "guests"))
    facts = replace(LAKE_FACTS, memberships=[*LAKE_FACTS.memberships, guests])
    m = matrix(LAKE, pickled(facts))
    assert not allowed(m, LAKE, "cid", "load", U)
    change = MembershipChanged(MembershipRow(ALL_USERS, Principal("group", "staff")), True)
    later = apply(m, [pickled(change)], now=0.0, revision=2)
    assert allowed(later, LAKE, "cid", "load", U)
