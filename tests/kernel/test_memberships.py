"""The principals that each user acts as."""

from __future__ import annotations

from itertools import pairwise

import pytest

from lakewarden.kernel.errors import BadInput, LimitExceeded
from lakewarden.kernel.memberships import Memberships
from lakewarden.kernel.principal import ALL_USERS, ANY_GROUP, Principal

ANA, BEN = Principal("user", "ana"), Principal("user", "ben")
STAFF, ALL = Principal("group", "staff"), Principal("group", "all")
READER = Principal("role", "reader")
ACTING = Memberships.build([ANA, BEN], [(ANA, STAFF), (STAFF, ALL), (ALL, READER)], [])


def acts(memberships: Memberships, principal: Principal, *extra: Principal) -> set[Principal]:
    return {memberships.principals[id] for id in memberships.acts_as(principal, extra)}


def test_groups_nest_and_carry_their_roles() -> None:
    assert acts(ACTING, ANA) == {ANA, STAFF, ALL, READER, ALL_USERS, ANY_GROUP}


def test_everybody_who_asks_is_one_of_all_users_even_when_never_stored() -> None:
    assert acts(ACTING, Principal("user", "nobody")) == {ALL_USERS}


def test_only_who_has_a_group_is_in_some_group() -> None:
    assert acts(ACTING, BEN) == {BEN, ALL_USERS}
    assert acts(ACTING, BEN, STAFF) == {BEN, STAFF, ALL, READER, ALL_USERS, ANY_GROUP}


def test_a_group_sent_with_the_request_counts_although_nobody_knows_it() -> None:
    assert acts(ACTING, BEN, Principal("group", "new")) == {BEN, ALL_USERS, ANY_GROUP}


def test_a_group_that_asks_is_no_user() -> None:
    assert acts(ACTING, ALL) == {ALL, READER, ANY_GROUP}


def test_memberships_of_an_implied_set_reach_everybody() -> None:
    memberships = Memberships.build([ANA], [(ALL_USERS, READER)], [])
    assert READER in acts(memberships, BEN)


def test_two_ways_to_one_group_count_once() -> None:
    memberships = Memberships.build([ANA], [(ANA, STAFF), (ANA, ALL), (STAFF, ALL)], [])
    assert acts(memberships, ANA) == {ANA, STAFF, ALL, ALL_USERS, ANY_GROUP}


def test_who_acts_as_a_principal_is_the_inverse() -> None:
    reader = ACTING.ids[READER]
    assert {ACTING.principals[id] for id in ACTING.acting_as(reader)} == {READER, ALL, STAFF, ANA}


def test_a_membership_comes_and_goes_without_changing_the_original() -> None:
    joined = ACTING.with_membership(BEN, STAFF, present=True)
    assert READER in acts(joined, BEN)
    assert READER not in acts(ACTING, BEN)
    left = joined.with_membership(BEN, STAFF, present=False)
    assert acts(left, BEN) == acts(ACTING, BEN)


def test_a_principal_is_stored_and_unstored() -> None:
    eve = Principal("user", "eve")
    stored = ACTING.with_stored(eve, stored=True)
    assert stored.ids[eve] in stored.stored
    gone = stored.with_stored(eve, stored=False)
    assert gone.ids[eve] not in gone.stored
    assert eve not in ACTING.ids


def groups(count: int) -> list[Principal]:
    return [Principal("group", f"g{n:02}") for n in range(count)]


def chain(*principals: Principal) -> list[tuple[Principal, Principal]]:
    return list(pairwise(principals))


def test_groups_on_a_cycle_reach_only_themselves() -> None:
    one, two, three = groups(3)
    memberships = Memberships.build(
        [ANA], [(ANA, one), *chain(one, two, three, one), (one, STAFF)], []
    )
    assert acts(memberships, ANA) == {ANA, one, ALL_USERS, ANY_GROUP}
    assert acts(memberships, two) == {two, ANY_GROUP}
    assert memberships.acting_as(memberships.ids[two]) == {memberships.ids[two]}
    assert len(memberships.inert) == 4
    mended = memberships.with_membership(three, one, present=False)
    assert acts(mended, ANA) == {ANA, one, two, three, STAFF, ALL_USERS, ANY_GROUP}
    assert not mended.inert


def test_the_edges_are_all_memberships_in_order_also_those_that_are_not_followed() -> None:
    one, two = groups(2)
    rows = [(ANA, one), (ANA, one), (BEN, STAFF), *chain(one, two, one)]
    memberships = Memberships.build([ANA, BEN], rows, [])
    assert memberships.inert
    edges = memberships.edges()
    assert edges == sorted({(memberships.ids[m], memberships.ids[g]) for m, g in rows})
    again = Memberships.numbered_as(
        memberships.principals,
        memberships.stored,
        [member for member, _ in edges],
        [group for _, group in edges],
    )
    assert again == memberships


def test_who_leaves_a_group_that_they_are_not_in_changes_nothing() -> None:
    assert ACTING.with_membership(BEN, STAFF, present=False).edges() == ACTING.edges()


def test_a_membership_of_who_is_on_a_cycle_is_not_followed_either() -> None:
    one, two = groups(2)
    memberships = Memberships.build([], chain(one, two, one), []).with_membership(
        one, STAFF, present=True
    )
    assert acts(memberships, one) == {one, ANY_GROUP}


def test_a_cycle_is_not_closed() -> None:
    one, two, three = groups(3)
    memberships = Memberships.build([ANA], [(ANA, one), *chain(one, two)], [three])
    memberships.check_membership(one, two)
    memberships.check_membership(two, three)
    for member, group in ((two, one), (one, one)):
        with pytest.raises(BadInput, match="would be a member of itself"):
            memberships.check_membership(member, group)
    looped = Memberships.build([], [*chain(one, two, one), (two, three)], [])
    looped.check_membership(one, two)
    with pytest.raises(BadInput):
        looped.check_membership(three, one)


def test_64_memberships_follow_on_one_another_and_no_65th() -> None:
    many = groups(65)
    memberships = Memberships.build([ANA], chain(ANA, *many[:64]), [many[64], STAFF])
    assert not memberships.is_too_nested(ANA)
    assert many[63] in acts(memberships, ANA)
    memberships.check_membership(STAFF, many[0])
    with pytest.raises(LimitExceeded, match="more than 64 memberships would follow"):
        memberships.check_membership(many[63], many[64])
    stored = Memberships.build([ANA], chain(ANA, *many), [])
    assert stored.is_too_nested(ANA)
    assert stored.is_too_nested(BEN, [ANA])
    assert not stored.is_too_nested(many[0])
    shorter = stored.with_membership(many[63], many[64], present=False)
    assert not shorter.is_too_nested(ANA)


@pytest.mark.parametrize(("below", "above", "is_refused"), [(32, 31, False), (33, 31, True)])
def test_a_membership_joins_what_is_below_it_and_above_it(
    below: int, above: int, *, is_refused: bool
) -> None:
    members, of = groups(below + 1), [Principal("group", f"h{n:02}") for n in range(above + 1)]
    memberships = Memberships.build([], [*chain(*members), *chain(*of)], [])
    if is_refused:
        with pytest.raises(LimitExceeded):
            memberships.check_membership(members[-1], of[0])
    else:
        memberships.check_membership(members[-1], of[0])
