"""A real MySQL never allows more than the kernel, and less only if that is reported."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pymysql
import pytest

from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.principal import ROLE, Principal
from lakewarden.kernel.relations import Facts, MembershipRow
from lakewarden.names.mysql_account import account_of
from lakewarden.pushdown import push
from lakewarden.pushdown.address import Address
from lakewarden.pushdown.drift import ADDED, MISSING, differences
from lakewarden.pushdown.grants import Roles
from lakewarden.pushdown.mariadb import connected
from lakewarden.pushdown.mariadb_names import RoleNames, grantee, quoted
from lakewarden.pushdown.plan import steps
from lakewarden.testing.world_draft import NOW
from tests.pushdown.estate import SMALL, STORE, altered, facts_of
from tests.pushdown.mariadb_estate import MariadbEstate, administrator, estate, execute
from tests.pushdown.test_mariadb import (
    CUT,
    NIGHT,
    SHARD,
    _has_no_more,
    check,
    compare,
    cut,
    hostile,
)
from tests.pushdown.test_postgresql_escapes import BO, READS, facts

NAME_CHARACTERS = 32
DAY = (2, 5)


def test_the_server_allows_what_the_kernel_allows(mysql_url: str) -> None:
    counts = check(mysql_url, DAY[0], bound=True)
    assert counts["True True"] > 50, counts
    assert counts["False False"] > 80, counts


@pytest.mark.nightly
@pytest.mark.parametrize("bound", [False, True])
@pytest.mark.parametrize("first", NIGHT)
def test_the_server_allows_what_the_kernel_allows_in_many_worlds(
    mysql_url: str, first: int, bound: bool
) -> None:
    for number in SHARD:
        check(mysql_url, first + number, bound=bound, size=SMALL)


def short_names() -> Facts:
    """The hostile names that a MySQL account can have."""
    facts = hostile()
    gone = {one for one in facts.principals if len(one.name) > NAME_CHARACTERS}
    return replace(
        facts,
        principals=[one for one in facts.principals if one not in gone],
        memberships=[row for row in facts.memberships if row.member not in gone],
        statements=[
            replace(one, principals=one.principals - gone)
            for one in facts.statements
            if one.principals - gone
        ],
    )


@pytest.mark.nightly  # by day in a MariaDB
def test_hostile_names_are_exact_or_left_out(mysql_url: str) -> None:
    with estate(mysql_url, short_names()) as made:
        wish, _ = made.push()
        local = [one for one in made.users() if account_of(made.name(one)).host == "%"]
        counts = compare(made, wish, local)
        assert counts["True True"] > 10
        why = "with this name, a MySQL role would get a grant on another database"
        assert (why, "schema:lk:c.b\\c") in {(one.why, one.entity) for one in wish.residues}


@pytest.mark.nightly
def test_a_push_that_is_cut_off_opens_nothing_and_goes_on(mysql_url: str) -> None:
    """Also between the creation and the marking of a role."""
    check_cuts(mysql_url, DAY[1], 5, most=1, is_back=False)


@pytest.mark.nightly
@pytest.mark.parametrize("is_back", [False, True])
@pytest.mark.parametrize("seed", CUT)
def test_a_push_that_is_cut_off_at_any_statement_opens_nothing_and_goes_on(
    mysql_url: str, seed: int, is_back: bool
) -> None:
    check_cuts(mysql_url, seed, 1, most=1_000, is_back=is_back)


def check_cuts(server: str, seed: int, step: int, *, most: int, is_back: bool) -> None:
    """Interrupted between the creation and the marking of a role, too."""
    facts = facts_of(seed)
    with estate(server, facts, store=STORE) as first, administrator(first.address.url) as admin:
        second = first.with_facts(altered(facts, seed))
        made, other = (second, first) if is_back else (first, second)
        made.push()
        number, is_over = 1, False
        while not is_over and number <= most:
            with connected(made.address) as database:
                agreed = push.plan(database, other.state, made.target, NOW)
            begun = agreed.target_during_push()
            assert begun is not None
            try:
                with cut(made, admin, number * step) as database:
                    push.apply(database, agreed)
                    is_over = True
            except pymysql.MySQLError:
                pass
            _has_no_more(made, other)
            with connected(made.address) as database:
                rest = push.plan(database, other.state, begun, NOW)
                assert rest.resumes(agreed.digest)
                push.apply(database, rest)
                assert database.managed_roles() == agreed.desired
            made.push()
            number += 1


@pytest.fixture
def made(mysql_url: str) -> Iterator[MariadbEstate]:
    """A realm that has been pushed."""
    with estate(mysql_url, facts_of(DAY[1])) as made:
        made.push()
        yield made


def edits(made: MariadbEstate) -> Iterator[str]:
    """Possible changes of our objects by others."""
    table = next(path for path, one in made.objects().items() if one.type == "table")
    for name, role in sorted(made.managed_roles().roles.items()):
        user = min(role.members)
        own = quoted(RoleNames("pg").personal(user))
        account = grantee(account_of(user))
        yield f"REVOKE {quoted(name)} FROM {own}"
        yield f"REVOKE {own} FROM {account}"
        yield f"SET DEFAULT ROLE NONE TO {account}"
        yield f"DROP ROLE {own}"
        yield f"DROP ROLE {quoted(name)}"
        yield f"GRANT {quoted(name)} TO {account}"
        yield f"GRANT {own} TO stranger WITH ADMIN OPTION"
        yield f"GRANT readers TO {quoted(name)}"
        for whom in (own, quoted(name)):
            yield f"GRANT SELECT ON `%`.* TO {whom}"
            yield f"GRANT TRIGGER ON {'.'.join(map(quoted, table))} TO {whom} WITH GRANT OPTION"
            yield f"GRANT SELECT (region) ON {'.'.join(map(quoted, table))} TO {whom}"
            yield f"GRANT FILE, SELECT ON *.* TO {whom}"
            yield f"GRANT SET_USER_ID ON *.* TO {whom}"
            yield f"ALTER USER {whom} ACCOUNT UNLOCK"
        return


@pytest.mark.nightly
def test_what_others_change_is_named_and_repaired(made: MariadbEstate) -> None:
    before = made.managed_roles()
    with administrator(made.address.url) as admin:
        execute(admin, "CREATE USER stranger")
        execute(admin, "CREATE ROLE readers")
        for edit in edits(made):
            execute(admin, edit)
            found = list(differences(before, made.managed_roles()))
            assert found, edit
            assert {one.kind for one in found} <= {MISSING, ADDED}
            assert made.push(before)[1] > 0, edit
            assert made.managed_roles() == before, edit


@pytest.mark.nightly  # by day in a MariaDB
def test_roles_and_default_roles_of_others_stay(made: MariadbEstate) -> None:
    before = made.managed_roles()
    user, other = sorted({name for role in before.roles.values() for name in role.members})[:2]
    account = grantee(account_of(user))
    with administrator(made.address.url) as admin:
        execute(admin, "CREATE ROLE theirs")
        execute(admin, f"GRANT theirs TO {account}")
        execute(admin, f"SET DEFAULT ROLE theirs TO {account}")
        execute(admin, f"GRANT {grantee(account_of(other))} TO {account}")
        wish, _ = made.push()
        whys = {one.principal: one.why for one in wish.residues if one.principal}
        assert "another default role" in str([*whys.values()])
        assert "was granted to others" in str([*whys.values()])
        held = {name for role in made.managed_roles().roles.values() for name in role.members}
        assert not {user, other} & held
        compare(made, wish, [one for one in made.users() if made.name(one) not in (user, other)])
        with connected(made.address) as database:
            database.execute(database.statements(steps(database.managed_roles(), Roles())))
            assert not database.managed_roles().roles
        ((left,),) = execute(admin, "SELECT DEFAULT_ROLE_USER FROM mysql.default_roles")
        assert left == "theirs"


def test_a_role_of_our_name_that_somebody_made_is_theirs(made: MariadbEstate) -> None:
    before = made.managed_roles()
    foreign = "lw_pg_0123456789abcdef"
    with administrator(made.address.url) as admin:
        execute(admin, "CREATE USER stranger")
        execute(admin, f"CREATE ROLE {foreign}")
        execute(admin, f"GRANT SELECT ON *.* TO {foreign}")
        execute(admin, f"GRANT {foreign} TO stranger")
        assert made.managed_roles() == before
        assert made.push(before)[1] == 0


def test_no_role_has_the_name_of_an_account(mysql_url: str) -> None:
    """A role is an account there, so a realm's role with such a name is one of ours."""
    role = Principal(ROLE, "m:ana")
    own = facts(replace(READS, principals=frozenset({role})))
    own = replace(
        own,
        principals=[*own.principals, role],
        memberships=[*own.memberships, MembershipRow(BO, role)],
    )
    with estate(mysql_url, own) as plain:
        made = replace(plain, style="gravitino")
        made.push()
        (name,) = made.managed_roles().roles
        assert name.startswith("lw_pg_")
        with made.as_user(BO) as session:
            assert execute(session, "SELECT region FROM s.secret")


def test_what_everybody_has_by_mandatory_roles_is_shown(made: MariadbEstate) -> None:
    with administrator(made.address.url) as admin:
        execute(admin, "CREATE ROLE common, near@localhost")
        execute(admin, "GRANT SELECT ON *.* TO common")
        execute(admin, "GRANT INSERT ON *.* TO near@localhost")
        execute(admin, "SET GLOBAL mandatory_roles = '`common`, near@localhost'")
        try:
            with connected(made.address) as database:
                holdings = database.holdings()
        finally:
            execute(admin, "SET GLOBAL mandatory_roles = ''")
    everybody = {grant.privilege for whose, grant in holdings.grants if whose == holdings.everyone}
    assert everybody >= {"SELECT", "INSERT"}


@pytest.mark.nightly
def test_an_account_is_told_what_it_lacks(made: MariadbEstate) -> None:
    with administrator(made.address.url) as admin:
        execute(admin, "CREATE USER pusher IDENTIFIED WITH mysql_native_password BY 'secret'")
        url = made.address.url.replace(
            made.address.url.partition("@")[0], "mariadb://pusher:secret"
        )
        address = Address(url, "two")
        execute(admin, "GRANT SELECT ON mysql.* TO pusher")
        own = MariadbEstate(made.state, made.scope, address)
        while missing := own.missing_rights():
            execute(admin, missing[0].partition(": ")[2])
        with connected(made.address) as database:
            database.execute(database.statements(steps(database.managed_roles(), Roles())))
        wish, _ = own.push()
        assert own.managed_roles().roles
        compare(own, wish)


def test_a_name_that_is_too_long_for_its_roles_is_refused(mysql_url: str) -> None:
    url = mysql_url.replace("mysql+pymysql", "mariadb")
    with pytest.raises(BadInput, match="at most 12 characters"), connected(Address(url, "a" * 13)):
        raise AssertionError
