"""Rights that a MariaDB or MySQL account may not revoke are removed anyway, or no grant is made."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pymysql
import pytest
import sqlalchemy as sa

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import Unavailable
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.statement import On, Statement
from lakewarden.pushdown import push
from lakewarden.pushdown.mariadb import connected
from lakewarden.pushdown.mariadb_names import RoleNames, quoted
from lakewarden.testing.world_draft import NOW
from tests.pushdown.mariadb_estate import (
    Connection,
    MariadbEstate,
    administrator,
    connection_of,
    estate,
    execute,
)
from tests.pushdown.test_mariadb_owners import SERVERS
from tests.pushdown.test_postgresql_escapes import ANA, BO, HIDDEN, ORDERS, READS, SECRET, facts

USES = replace(READS, id="uses", privileges=READS.privileges - {"SELECT_TABLE"})


def reads(user: Principal, table: Entity) -> tuple[Statement, Statement]:
    """The statements that a user needs to read a table."""
    own = frozenset({user})
    select = replace(READS, privileges=frozenset({"SELECT_TABLE"}), scope=On(table))
    return (
        replace(USES, id=f"uses-{user.name}", principals=own),
        replace(select, id=f"{user.name}-{table.name}", principals=own),
    )


@pytest.fixture(params=SERVERS)
def made(request: pytest.FixtureRequest) -> Iterator[MariadbEstate]:
    """A server whose target is pushed to by an account with only the required rights."""
    with estate(request.getfixturevalue(request.param), facts(READS, HIDDEN)) as one:
        at = sa.make_url(one.address.url).set(username="pusher", password="s3cret")
        url = at.render_as_string(hide_password=False)
        own = replace(one, address=replace(one.address, url=url))
        with administrator(one.address.url) as admin:
            with_password = "IDENTIFIED BY 's3cret'"
            if "MariaDB" not in execute(admin, "SELECT VERSION()")[0][0]:
                with_password = "IDENTIFIED WITH mysql_native_password BY 's3cret'"
            execute(admin, f"CREATE USER pusher {with_password}")
            execute(admin, "GRANT SELECT ON mysql.* TO pusher")
            execute(admin, "CREATE DATABASE beside")
            while missing := own.missing_rights():
                execute(admin, missing[0].partition(": ")[2])
            own.push()
            yield own


@pytest.fixture
def admin(made: MariadbEstate, request: pytest.FixtureRequest) -> Iterator[Connection]:
    """The account with every right."""
    with administrator(request.getfixturevalue(request.node.callspec.params["made"])) as own:
        yield own


def may_read(made: MariadbEstate, user: str, table: str) -> bool:
    with connection_of(made.address.url, user, "") as own:
        try:
            execute(own, f"SELECT * FROM s.{table}")
        except pymysql.MySQLError:
            return False
    return True


def test_what_others_granted_beyond_the_account_goes_with_the_role(
    made: MariadbEstate, admin: Connection
) -> None:
    before = made.managed_roles()
    ((name, _),) = before.roles.items()
    personal = quoted(RoleNames("pg").personal("bo"))
    execute(admin, "CREATE ROLE readers")
    for edit in (
        f"GRANT FILE, SELECT ON *.* TO {quoted(name)}",
        f"GRANT SELECT ON beside.* TO {quoted(name)}",
        f"GRANT readers TO {quoted(name)}",
        f"GRANT FILE ON *.* TO {personal}",
    ):
        execute(admin, edit)
        assert made.managed_roles() != before, edit
        assert made.push(before)[1] > 0, edit
        assert made.managed_roles() == before, edit
        assert (may_read(made, "bo", "orders"), may_read(made, "ana", "orders")) == (True, False)


def applied(made: MariadbEstate) -> str:
    """The message of an incomplete push."""
    with connected(made.address) as database, pytest.raises(Unavailable) as caught:
        push.apply(database, push.plan(database, made.state, made.target, NOW))
    return str(caught.value)


def test_a_grant_that_is_refused_keeps_no_other_one_away(
    made: MariadbEstate, admin: Connection
) -> None:
    other = made.with_facts(facts(*reads(ANA, ORDERS), *reads(BO, SECRET)))
    execute(admin, r"REVOKE GRANT OPTION ON `s`.* FROM pusher")
    execute(admin, "GRANT SELECT ON s.secret TO pusher WITH GRANT OPTION")
    said = applied(other)
    assert "the others were executed; the journal is kept" in said
    assert "GRANT SELECT ON `s`.`orders`" in said
    assert "secret" not in said.partition("doctor")[2]
    assert [may_read(made, user, table) for user in ("ana", "bo") for table in ("orders", "secret")
            ] == [False, False, False, True]  # fmt: skip
    execute(admin, r"GRANT SELECT ON `s`.* TO pusher WITH GRANT OPTION")
    assert other.push()[1] > 0
    assert may_read(made, "ana", "orders")


def test_where_something_cannot_be_taken_away_nothing_is_given(
    made: MariadbEstate, admin: Connection
) -> None:
    both = made.with_facts(facts(READS, HIDDEN, *reads(ANA, ORDERS), *reads(ANA, SECRET)))
    both.push()
    assert may_read(made, "ana", "secret")
    other = made.with_facts(facts(*reads(BO, SECRET), *reads(ANA, ORDERS)))
    execute(admin, "REVOKE CREATE USER ON *.* FROM pusher")
    said = applied(other)
    assert "may not revoke everything, so nothing was granted" in said
    assert "DROP ROLE" in said
    assert not may_read(made, "bo", "secret")
    execute(admin, "GRANT CREATE USER ON *.* TO pusher")
    assert other.push()[1] > 0
    assert [may_read(made, user, table) for user in ("ana", "bo") for table in ("orders", "secret")
            ] == [True, False, False, True]  # fmt: skip
