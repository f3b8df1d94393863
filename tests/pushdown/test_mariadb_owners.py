"""Objects of others with definer rights, and accounts as which others may act.

Drift reports the users who get access by them, in MariaDB and MySQL.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
import sqlalchemy as sa

from lakewarden.pushdown import push
from lakewarden.pushdown.address import Address
from lakewarden.pushdown.grants import Grant, as_data
from lakewarden.pushdown.mariadb import connected
from lakewarden.pushdown.push import Drift
from lakewarden.testing.world_draft import NOW
from tests.pushdown.mariadb_estate import (
    Connection,
    MariadbEstate,
    administrator,
    connection_of,
    estate,
    execute,
)
from tests.pushdown.test_postgresql_escapes import HIDDEN, READS, facts
from tests.pushdown.test_postgresql_owners import MASK

SERVERS = ("mariadb_url", pytest.param("mysql_url", marks=pytest.mark.nightly))
READ = "SELECT THROUGH "
SEES = "CREATE DEFINER = root@localhost SQL SECURITY DEFINER VIEW lib.v AS SELECT * FROM"

EDITS: list[tuple[str, set[tuple[str, str, str]]]] = [
    (f"{SEES} s.secret; GRANT SELECT ON lib.v TO ana", {("ana", "s.secret", f"{READ}VIEW lib.v")}),
    (
        f"SET sql_quote_show_create = 0; {SEES} s.secret; SET sql_quote_show_create = 1;"
        " GRANT SELECT ON lib.v TO ana",  # the view's text has no quotes
        {("ana", "s.secret", f"{READ}VIEW lib.v")},
    ),
    (
        f"{SEES} s.secret; CREATE SQL SECURITY INVOKER VIEW lib.w AS SELECT * FROM lib.v;"
        " GRANT SELECT ON lib.w TO ana",
        set(),
    ),
    (
        "CREATE SQL SECURITY INVOKER VIEW lib.w AS SELECT * FROM s.secret; CREATE DEFINER ="
        " root@localhost VIEW lib.v AS SELECT * FROM lib.w; GRANT SELECT ON `li_`.* TO ana",
        {("ana", "s.secret", f"{READ}VIEW lib.v")},
    ),
    (f"{SEES} s.secret; GRANT SELECT ON *.* TO ana", set()),  # has access without the view
    (
        f"{SEES} s.secret; GRANT UPDATE (region) ON lib.v TO ana",
        {("ana", "s.secret", "UPDATE THROUGH VIEW lib.v")},
    ),
    (
        "CREATE DEFINER = root@localhost FUNCTION lib.f() RETURNS int READS SQL DATA"
        " RETURN (SELECT count(*) FROM `s`.secret); GRANT EXECUTE ON FUNCTION lib.f TO ana",
        {("ana", "s.secret", f"{READ}FUNCTION lib.f")},
    ),
    (
        "CREATE FUNCTION lib.f() RETURNS int READS SQL DATA SQL SECURITY INVOKER"
        " RETURN (SELECT count(*) FROM s.secret); GRANT EXECUTE ON lib.* TO ana",
        set(),
    ),
    (
        "CREATE FUNCTION lib.f() RETURNS int READS SQL DATA SQL SECURITY INVOKER"
        " RETURN (SELECT count(*) FROM s.secret);"
        " CREATE DEFINER = root@localhost PROCEDURE lib.p() SELECT lib.f();"
        " GRANT EXECUTE ON PROCEDURE lib.p TO ana",
        {("ana", "s.secret", f"{READ}PROCEDURE lib.p")},
    ),
    (
        "CREATE DEFINER = root@localhost PROCEDURE lib.p() PREPARE y FROM @q;"
        " GRANT EXECUTE ON PROCEDURE lib.p TO ana",
        {("ana", "", f"{READ}PROCEDURE lib.p")},
    ),
    (
        "CREATE DEFINER = root@localhost TRIGGER lib.r BEFORE INSERT ON lib.t FOR EACH ROW"
        " INSERT INTO lib.leak SELECT region FROM s.secret; GRANT INSERT ON lib.t TO ana",
        {
            ("ana", "s.secret", f"{READ}TRIGGER lib.r"),
            ("ana", "lib.leak", f"{READ}TRIGGER lib.r"),
        },
    ),
    (
        "CREATE DEFINER = root@localhost TRIGGER s.r BEFORE INSERT ON s.secret FOR EACH ROW"
        " INSERT INTO lib.leak VALUES (NEW.region); GRANT SELECT ON lib.* TO ana",
        {("ana", "s.secret", f"{READ}TRIGGER s.r")},
    ),
    (
        "CREATE DEFINER = root@localhost EVENT lib.e ON SCHEDULE EVERY 1 DAY DO"
        " INSERT INTO lib.leak SELECT region FROM s.secret; GRANT SELECT ON lib.leak TO ana",
        {("ana", "s.secret", f"{READ}EVENT lib.e")},
    ),
    (
        "CREATE DEFINER = root@localhost EVENT lib.e ON SCHEDULE EVERY 1 DAY DO"
        " DELETE FROM lib.leak; GRANT SELECT ON lib.leak TO ana",
        set(),
    ),
]


@pytest.fixture(params=SERVERS)
def made(request: pytest.FixtureRequest) -> Iterator[MariadbEstate]:
    """`bo` may read one of two tables, `ana` nothing."""
    with estate(request.getfixturevalue(request.param), facts(READS, HIDDEN)) as one:
        one.push()
        yield one


@pytest.fixture
def own(made: MariadbEstate) -> Iterator[Connection]:
    with administrator(made.address.url) as connection:
        execute(connection, "SET GLOBAL log_bin_trust_function_creators = 1")
        yield connection


def drift(made: MariadbEstate) -> Drift:
    target = replace(made.target, pushed=as_data(made.managed_roles()))
    with connected(made.address) as database:
        return push.drift(database, made.state, target, NOW)


def furnish(own: Connection) -> None:
    for statement in (
        "DROP DATABASE IF EXISTS lib",
        "CREATE DATABASE lib",
        "CREATE TABLE lib.t (a int)",
        "CREATE TABLE lib.leak (region varchar(80))",
        "DROP TRIGGER IF EXISTS s.r",
        "REVOKE ALL, GRANT OPTION FROM ana",
    ):
        execute(own, statement)


def test_drift_names_who_reaches_what(made: MariadbEstate, own: Connection) -> None:
    for edit, expected in EDITS:
        furnish(own)
        for statement in edit.split(";"):
            execute(own, statement)
        assert through(made) == expected, edit


POWERS = ("FILE", "CREATE USER", "REPLICATION SLAVE")
OF_EACH = {
    "mariadb_url": (
        *("SET USER", "FEDERATED ADMIN", "CONNECTION ADMIN"),
        *("BINLOG REPLAY", "REPLICATION SLAVE ADMIN"),
    ),
    "mysql_url": ("SET_USER_ID", "ROLE_ADMIN", "REPLICATION_SLAVE_ADMIN"),
}


def test_drift_names_what_opens_everything(made: MariadbEstate, own: Connection) -> None:
    ((version,),) = execute(own, "SELECT VERSION()")
    more = OF_EACH["mariadb_url" if "MariaDB" in version else "mysql_url"]
    for power in (*POWERS, *more):
        furnish(own)
        execute(own, f"GRANT {power} ON *.* TO ana")
        found = [one for one in drift(made).foreign if one.grant == Grant((), power)]
        assert [(one.grantee, one.denied) for one in found] == [("ana", ("ana",))], power


def test_drift_names_who_may_make_tables_of_a_stored_server(
    made: MariadbEstate, own: Connection
) -> None:
    """The account stored with the server reads such a table."""
    create = frozenset({"USE_CATALOG", "USE_SCHEMA", "CREATE_TABLE"})
    made = made.with_facts(facts(READS, HIDDEN, replace(READS, id="makes", privileges=create)))
    made.push()
    furnish(own)
    execute(own, "GRANT CREATE ON lib.* TO ana")
    assert not through(made)
    wrapper = "FOREIGN DATA WRAPPER mysql OPTIONS (HOST 'far', USER 'root', PASSWORD 'x')"
    execute(own, f"CREATE SERVER far {wrapper}")
    try:
        assert through(made) == {(name, "", f"{READ}SERVER far") for name in ("ana", "bo")}
    finally:
        execute(own, "DROP SERVER far")


BY_HOST = "CREATE USER ana@'127.0.0.1'; GRANT SELECT {} ON s.{} TO ana@'%'"
HELD: list[tuple[str, tuple[str, ...], str, set[str]]] = [
    ("GRANT SELECT ON `s%`.* TO ana", ("s%",), "SELECT ON PATTERN", {"ana"}),
    ("CREATE USER ''@'%'; GRANT SELECT ON *.* TO ''@'%'", (), "SELECT", {"ana", "bo"}),
    (
        "CREATE USER ''@'%'; GRANT SELECT ON s.secret TO ''@'%'",
        *(("s", "secret"), "SELECT", {"ana", "bo"}),
    ),
    (
        "CREATE ROLE lib; GRANT SELECT ON s.secret TO lib; CREATE USER ''@'%'; GRANT lib TO ''@'%'",
        *(("s", "secret"), "SELECT", {"ana", "bo"}),
    ),
    ("GRANT SELECT (region) ON s.orders TO ana", ("s", "orders", "region"), "SELECT", {"ana"}),
    ("GRANT SELECT (region) ON s.orders TO bo", ("s", "orders", "region"), "SELECT", set()),
]
"""Grants of others, their place, their effect, and the users to whom the realm denies it."""

MADE = ("USER IF EXISTS ''@'%', ana@'127.0.0.1'", "ROLE IF EXISTS lib")


@contextmanager
def granted(own: Connection, edit: str) -> Iterator[None]:
    """A grant of another account, which is revoked at the end."""
    furnish(own)
    for statement in edit.split(";"):
        execute(own, statement)
    yield
    for one in MADE:
        execute(own, f"DROP {one}")
    execute(own, "REVOKE ALL, GRANT OPTION FROM bo")


def test_drift_names_whom_the_realm_denies_what_others_grant(
    made: MariadbEstate, own: Connection
) -> None:
    for edit, path, privilege, denied in HELD:
        with granted(own, edit):
            found = [one for one in drift(made).foreign if one.grant == Grant(path, privilege)]
            assert {user for one in found for user in one.denied} == denied, edit
            assert found, edit


@pytest.mark.parametrize(("columns", "on"), [("", "secret"), ("(region)", "secret"), ("", "*")])
def test_what_an_account_for_more_hosts_has_is_had_from_each(
    made: MariadbEstate, own: Connection, columns: str, on: str
) -> None:
    """Every user from there has it, with any account of the name."""
    with granted(own, BY_HOST.format(columns, on)):
        with connection_of(made.address.url, "ana", "") as session:
            assert execute(session, "SELECT CURRENT_USER()") == [("ana@127.0.0.1",)]
            assert execute(session, "SELECT region FROM s.secret")
        with connected(made.address) as database:
            holdings = database.holdings()
    own_grants = {grant for whose, grant in holdings.grants if whose == "ana"}
    there = {grant for whose, grant in holdings.grants if whose == "ana@127.0.0.1"}
    assert there == {one for one in own_grants if one.path}
    assert holdings.kept == {(name, one) for one in there for name in ("ana", "ana@127.0.0.1")}


def test_the_account_that_pushes_is_told_nothing(made: MariadbEstate, own: Connection) -> None:
    """It has no restrictions, so its own role would change nothing."""
    at = sa.make_url(made.address.url).set(username="bo", password="secret")
    address = Address(at.render_as_string(hide_password=False), "two")
    pusher = MariadbEstate(made.state, made.scope, address)
    for statement in ("DROP USER bo", "CREATE USER bo IDENTIFIED BY 'secret'"):
        execute(own, statement)
    execute(own, "GRANT SELECT ON mysql.* TO bo")
    while missing := pusher.missing_rights():
        execute(own, missing[0].partition(": ")[2])
    wish, _ = pusher.push()
    assert "it is the target's own account" in str({one.why for one in wish.residues})
    assert not pusher.managed_roles().roles


def through(made: MariadbEstate) -> set[tuple[str, str, str]]:
    found = [one for one in drift(made).foreign if " THROUGH " in one.grant.privilege]
    assert all(one.denied for one in found)
    return {(one.grantee, ".".join(one.grant.path), one.grant.privilege) for one in found}


@contextmanager
def proxy(own: Connection, as_whom: str) -> Iterator[None]:
    """Allows `ana` to act as another account; only a permitted account can grant this."""
    execute(
        own,
        "INSERT INTO mysql.proxies_priv (Host, User, Proxied_host, Proxied_user)"
        " VALUES ('%%', 'ana', %s, %s)",
        *("%" if as_whom else "", as_whom),
    )
    execute(own, "FLUSH PRIVILEGES")
    yield
    execute(own, "DELETE FROM mysql.proxies_priv WHERE User = 'ana'")
    execute(own, "FLUSH PRIVILEGES")


@pytest.mark.parametrize(("as_whom", "named"), [("bo", "bo"), ("", "any account")])
def test_an_account_that_others_may_act_as_is_left_out(
    made: MariadbEstate, own: Connection, as_whom: str, named: str
) -> None:
    assert made.managed_roles().roles
    with proxy(own, as_whom):
        found = [one for one in drift(made).foreign if one.grant.privilege == f"PROXY OF {named}"]
        assert [(one.grantee, one.denied) for one in found] == [("ana", ("ana",))]
        wish, _ = made.push()
        assert not made.managed_roles().roles
        assert {one.principal: one.why for one in wish.residues}["user:bo"].startswith(
            "the account was granted to others"
        )
    made.push()
    assert made.managed_roles().roles


def test_masking_views_of_ours_are_not_named(mariadb_url: str) -> None:
    with estate(mariadb_url, facts(READS, HIDDEN, MASK)) as made:
        made.push()
        assert made.views()
        with administrator(made.address.url) as own:
            execute(own, f"GRANT SELECT ON {made.address.view_schema}.* TO ana")
        assert not [one for one in drift(made).foreign if " THROUGH " in one.grant.privilege]
