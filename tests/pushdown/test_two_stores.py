"""Two stores with a target of the same name in one server: each keeps its own objects."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import TypeVar

import pytest
import sqlalchemy as sa

from lakewarden.kernel.relations import Facts
from lakewarden.kernel.statement import On, Statement
from lakewarden.pushdown.grants import Roles, as_data, known_roles
from lakewarden.pushdown.mariadb_names import RoleNames
from tests.pushdown import mariadb_estate, postgresql_estate
from tests.pushdown.estate import TargetEstate
from tests.pushdown.test_postgresql_escapes import ANA, HIDDEN, READS, SECRET, facts
from tests.pushdown.test_postgresql_owners import MASK

E = TypeVar("E", bound=TargetEstate)
ONE, OTHER = "1f0c5a7ecc90ab12", "2a9b11c3de45f067"
USES = replace(READS, id="uses", privileges=READS.privileges - {"SELECT_TABLE"})
HERS = [
    replace(one, principals=frozenset({ANA}))
    for one in (USES, replace(READS, id="hers", privileges=frozenset({"SELECT_TABLE"}),
                              scope=On(SECRET)))
]  # fmt: skip
BOTH = facts(READS, HIDDEN, *HERS)


def of_store(made: E, store: str, other: Facts | None = None) -> E:
    """The same database as the target of a store."""
    own = replace(made, address=replace(made.address, store=store))
    return own if other is None else own.with_facts(other)


def held(made: TargetEstate, last: Roles) -> Roles:
    """The roles held by a store that knows its last push."""
    with made.connected() as database:
        database.claim(known_roles(as_data(last)))
        return database.managed_roles()


def of_users(roles: Roles) -> Mapping[str, int]:
    """The number of roles of each user."""
    members = [name for role in roles.roles.values() for name in role.members]
    return {name: members.count(name) for name in sorted(members)}


@contextmanager
def postgresql(server: str) -> Iterator[postgresql_estate.Estate]:
    with postgresql_estate.estate(server, facts(READS, HIDDEN)) as made:
        try:
            yield made
        finally:
            for store in (ONE, OTHER):
                of_store(made, store, facts()).push()


def test_roles_of_another_store_stay(postgres_url: str) -> None:
    with postgresql(postgres_url) as made:
        check_stays(made)


@pytest.mark.nightly
def test_roles_of_another_store_stay_in_mariadb(mariadb_url: str) -> None:
    with mariadb_estate.estate(mariadb_url, facts(READS, HIDDEN)) as made:
        check_stays(made)


def check_stays(made: TargetEstate) -> None:
    one, other = of_store(made, ONE), of_store(made, OTHER, facts(*HERS))
    one.push()
    own = one.managed_roles()
    assert set(of_users(own)) == {"bo"}
    other.push()
    theirs = other.managed_roles()
    assert set(of_users(theirs)) == {"ana"}
    assert one.managed_roles() == own
    assert not own.roles.keys() & theirs.roles.keys()
    assert one.push(own)[1] == other.push(theirs)[1] == 0
    with one.connected() as database:
        assert theirs.roles.keys() <= database.objects().roles
    of_store(made, ONE, facts()).push(own)
    assert not one.managed_roles().roles
    assert other.managed_roles() == theirs


def test_what_both_allow_alike_is_in_roles_of_each(postgres_url: str) -> None:
    with postgresql(postgres_url) as made:
        one, other = of_store(made, ONE), of_store(made, OTHER)
        for each in (one, other):
            each.push()
        assert {*one.managed_roles().roles.values()} == {*other.managed_roles().roles.values()}
        of_store(made, OTHER, facts()).push()
        with made.as_user(made.users()[1]) as own:
            own.execute("SELECT FROM s.orders")


def test_a_user_of_mariadb_has_roles_of_one_store(mariadb_url: str) -> None:
    with mariadb_estate.estate(mariadb_url, facts(READS, HIDDEN)) as made:
        of_store(made, ONE).push()
        wish, _ = of_store(made, OTHER).push()
        whys = {one.why for one in wish.residues if one.principal == "user:bo"}
        assert whys == {"the account has another default role, and can have only one"}
        assert not of_store(made, OTHER).managed_roles().roles


@pytest.mark.parametrize("server", ["postgres_url", "mariadb_url"])
def test_masking_views_are_each_stores_own(request: pytest.FixtureRequest, server: str) -> None:
    """Those of the second store have their own schema, and keep it."""
    url = request.getfixturevalue(server)
    kind = postgresql if server == "postgres_url" else _mariadb
    with kind(url) as made:
        bo, ana = facts(READS, HIDDEN, MASK), facts(*(of_ana(one) for one in (READS, MASK)))
        one, other = of_store(made, ONE, bo), of_store(made, OTHER, ana)
        one.push()
        own = one.managed_roles()
        wish, _ = other.push()
        assert not any("was not created by lakewarden" in residue.why for residue in wish.residues)
        assert one.managed_roles() == own
        theirs = other.managed_roles()
        assert seen_by(theirs) == {"ana"}
        assert (one.push(own)[1], other.push(theirs)[1]) == (0, 0)
        first, second = other.address.view_schemas
        assert views_in(made, first) == views_in(made, second) == 1
        of_store(made, ONE, facts()).push(own)
        assert (views_in(made, first), other.managed_roles()) == (0, theirs)
        assert other.push(theirs)[1] == 0
        of_store(made, OTHER, facts()).push(theirs)
        assert views_in(made, second) == 0


def of_ana(one: Statement) -> Statement:
    return replace(one, principals=frozenset({ANA}))


def seen_by(roles: Roles) -> set[str]:
    return {name for names in roles.readers().values() for name in names}


def views_in(made: TargetEstate, schema: str) -> int:
    engine = sa.create_engine(made.address.url.replace("mariadb://", "mysql+pymysql://"))
    count = "SELECT count(*) FROM information_schema.views WHERE table_schema = :schema"
    with engine.connect() as connection:
        found: int = connection.scalar(sa.text(count), {"schema": schema})
    engine.dispose()
    return found


@contextmanager
def _mariadb(server: str) -> Iterator[mariadb_estate.MariadbEstate]:
    with mariadb_estate.estate(server, facts(READS, HIDDEN)) as made:
        yield made


def test_what_a_store_pushed_before_marks_had_one_is_its_own(postgres_url: str) -> None:
    with postgresql(postgres_url) as made:
        masked = made.with_facts(facts(READS, HIDDEN, MASK))
        masked.push()
        old = made.managed_roles()
        one, other = of_store(masked, ONE), of_store(masked, OTHER)
        assert not held(one, Roles()).roles  # nothing marks it
        assert held(one, old) == old
        other.with_facts(facts()).push()
        assert held(one, old) == old
        assert one.push(old)[1] == 0
        assert one.managed_roles().roles.keys() == old.roles.keys()  # it is marked now
        assert not held(other, old).roles
        assert not made.managed_roles().roles
        one.with_facts(facts()).push(old)
        assert not held(one, old).roles


def test_what_a_store_pushed_before_marks_had_one_is_its_own_in_mariadb(mariadb_url: str) -> None:
    with mariadb_estate.estate(mariadb_url, facts(READS, HIDDEN, MASK)) as made:
        made.push()
        old = made.managed_roles()
        one, other = of_store(made, ONE), of_store(made, OTHER)
        assert not held(one, Roles()).roles
        other.with_facts(facts()).push()
        assert held(one, old) == old
        assert one.push(old)[1] == 0
        one.with_facts(facts(READS, HIDDEN, MASK, *HERS)).push(old)
        both = held(one, old)
        assert set(of_users(both)) == {"ana", "bo"}
        new = both.roles.keys() - old.roles.keys()
        assert new
        assert all(RoleNames("pg", ONE).is_shared(name) for name in new)
        one.with_facts(facts()).push(both)
        with mariadb_estate.administrator(made.address.url) as own:
            left = mariadb_estate.execute(own, "SELECT User FROM mysql.user WHERE User LIKE 'lw%'")
        assert not left


def test_names_of_roles_tell_the_store() -> None:
    one, other = RoleNames("shop", ONE), RoleNames("shop", OTHER)
    assert one.is_personal(one.personal("ana"))
    assert not other.is_personal(one.personal("ana"))
    old = RoleNames("shop").personal("ana")
    assert not one.is_personal(old)
    assert replace(one, kept=frozenset({old})).personal("ana") == old
    assert len(one.personal("ana")) == len(old)
