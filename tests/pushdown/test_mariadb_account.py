"""The rights that `doctor` requires suffice for a separate account, and each is needed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace

import pytest
import sqlalchemy as sa

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import WardenError
from lakewarden.kernel.principal import USER, Principal, members_of
from lakewarden.kernel.relations import EntityRow, Facts, MembershipRow, OwnerRow
from lakewarden.kernel.statement import Effect, On, Statement
from lakewarden.pushdown import push
from lakewarden.pushdown.address import Address
from lakewarden.pushdown.mariadb_names import quoted
from tests.pushdown.mariadb_estate import (
    Connection,
    MariadbEstate,
    administrator,
    estate,
    execute,
)

OWNER = "GRANT OPTION"
LAKE, CATALOG, SCHEMA = Entity("metalake", "m"), Entity("catalog", "m:c"), Entity("schema", "m:c.s")
ORDERS, NOTES = (Entity("table", f"m:c.s.{name}") for name in ("orders", "notes"))
ANA, BO = (Principal(USER, name) for name in ("ana", "bo"))
RIGHTS = frozenset({"USE_CATALOG", "USE_SCHEMA", "SELECT_TABLE"})


def facts(region: str = "eu") -> Facts:
    """A user who owns a schema, and one who may read some rows of a table."""
    above = {LAKE: None, CATALOG: LAKE, SCHEMA: CATALOG, ORDERS: SCHEMA, NOTES: SCHEMA}
    condition = f"region = '{region}'"
    return Facts(
        entities=[EntityRow(one, parent) for one, parent in above.items()],
        principals=[ANA, BO],
        memberships=[MembershipRow(one, members_of("m")) for one in (ANA, BO)],
        owners=[OwnerRow(SCHEMA, ANA), OwnerRow(NOTES, ANA)],
        statements=[
            Statement("reads", Effect.ALLOW, RIGHTS, On(CATALOG), frozenset({ANA, BO})),
            Statement("rows", Effect.FILTER, frozenset(), On(ORDERS), frozenset({BO}),
                      expression=condition),
        ],
    )  # fmt: skip


@pytest.fixture(params=["mariadb_url", pytest.param("mysql_url", marks=pytest.mark.nightly)])
def server(request: pytest.FixtureRequest) -> str:
    url: str = request.getfixturevalue(request.param)
    return url


@pytest.fixture
def made(server: str) -> Iterator[MariadbEstate]:
    """A server with a catalog, a database outside it, and an account without rights."""
    with estate(server, facts()) as one:
        url = sa.make_url(one.address.url).set(username="keeper", password="secret")
        own = replace(one, address=Address(url.render_as_string(hide_password=False), "pg"))
        with administrator(one.address.url) as admin:
            ((version,),) = execute(admin, "SELECT VERSION()")
            way = "BY" if "MariaDB" in version else "WITH mysql_native_password BY"
            execute(admin, f"CREATE USER keeper IDENTIFIED {way} 'secret'")
            execute(admin, "CREATE DATABASE beside")
            execute(admin, "CREATE TABLE beside.notes (a int)")
        yield own


def given(admin: Connection) -> set[tuple[str, str]]:
    """Each right of the account and its object, as in a statement."""
    found = set()
    for (text,) in execute(admin, "SHOW GRANTS FOR keeper"):
        rights, _, rest = text.removeprefix("GRANT ").partition(" ON ")
        place = rest.partition(" TO ")[0]
        found |= {(right, place) for right in rights.split(", ") if right != "USAGE"}
        if "WITH GRANT OPTION" in rest:
            found.add((OWNER, place))
    return found


def left_out(made: MariadbEstate) -> set[tuple[str, str]] | None:
    """What pushes and a reset leave out, with reasons; None if one is refused."""
    other = made.with_facts(facts("us"))
    try:
        wishes = [one.push()[0] for one in (made, other, made)]
        with made.connected() as database:
            push.apply(database, push.reset_plan(database, made.target))
    except WardenError:
        return None
    return {(one.why, one.entity) for wish in wishes for one in wish.residues}


def cleared(admin: Connection) -> None:
    """Removes the remains of a failed push."""
    for (name,) in execute(admin, "SELECT User FROM mysql.user WHERE User LIKE 'lw\\_pg%'"):
        with suppress(Exception):
            execute(admin, f"DROP ROLE {quoted(name)}")
    execute(admin, "DROP DATABASE IF EXISTS lw_pg_masked")


def test_a_limit_on_rows_of_the_server_hides_nothing(server: str) -> None:
    with estate(server, facts()) as made, administrator(server) as admin:
        execute(admin, "SET GLOBAL sql_select_limit = 1")
        try:
            wish, _ = made.push()
        finally:
            execute(admin, "SET GLOBAL sql_select_limit = DEFAULT")
        assert (wish.residues.count, made.push(made.managed_roles())[1]) == (0, 0)


@pytest.mark.parametrize("every", [5, pytest.param(1, marks=pytest.mark.nightly)])
def test_the_rights_that_it_asks_for_are_enough_and_each_is_needed(
    made: MariadbEstate, server: str, every: int
) -> None:
    """By day, only some of the rights are tested."""
    with administrator(server) as admin:
        while missing := made.missing_rights():
            execute(admin, missing[0].partition(": ")[2])
        with made.connected() as database:
            (unseen,) = database.warnings()
            assert unseen.startswith("drift does not see everything that runs")
        rights = given(admin)
        assert not any("beside" in place for _, place in rights)
        whole = left_out(made)
        assert whole is not None
        needless = []
        for right, place in sorted(rights)[::every]:
            execute(admin, f"REVOKE {right} ON {place} FROM keeper")
            assert made.missing_rights(), (right, place)
            if left_out(made) == whole:
                needless.append((right, place))
            if right == OWNER:
                execute(admin, f"GRANT USAGE ON {place} TO keeper WITH GRANT OPTION")
            else:
                execute(admin, f"GRANT {right} ON {place} TO keeper")
            cleared(admin)
        assert needless == []
        assert made.missing_rights() == []
        assert left_out(made) == whole


def test_an_account_that_may_do_everything_is_warned_about(
    made: MariadbEstate, server: str
) -> None:
    at = sa.make_url(server).set(drivername="mariadb")
    strong = replace(made, address=Address(at.render_as_string(hide_password=False), "pg"))
    assert strong.missing_rights() == []
    with strong.connected() as database:
        (said,) = database.warnings()
    assert "has all rights on the server" in said
