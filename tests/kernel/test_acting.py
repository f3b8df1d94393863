"""Who acts as whom."""

from __future__ import annotations

from lakewarden.kernel.acting import Acting
from lakewarden.kernel.principal import ALL_USERS, ANY_GROUP, Principal

ANA, BEN = Principal("user", "ana"), Principal("user", "ben")
STAFF, ALL = Principal("group", "staff"), Principal("group", "all")
READER = Principal("role", "reader")
ACTING = Acting.build([ANA, BEN], [(ANA, STAFF), (STAFF, ALL), (ALL, READER)], [])


def acts(acting: Acting, principal: Principal, *extra: Principal) -> set[Principal]:
    return {acting.principals[id] for id in acting.acts_as(principal, extra)}


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
    acting = Acting.build([ANA], [(ALL_USERS, READER)], [])
    assert READER in acts(acting, BEN)


def test_two_ways_to_one_group_count_once() -> None:
    acting = Acting.build([ANA], [(ANA, STAFF), (ANA, ALL), (STAFF, ALL)], [])
    assert acts(acting, ANA) == {ANA, STAFF, ALL, ALL_USERS, ANY_GROUP}


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
