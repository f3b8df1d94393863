"""A foreign key changes rows of another table: it must not do there what is denied to the user."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pymysql
import pytest

from lakewarden.kernel.statement import Effect, Statement
from lakewarden.pushdown import push
from lakewarden.pushdown.foreign_keys import ForeignKey, effects
from lakewarden.pushdown.grants import as_data
from lakewarden.pushdown.postgresql import connected
from lakewarden.testing.world_draft import NOW
from tests.pushdown import mariadb_estate
from tests.pushdown.postgresql_estate import Estate, administrator, estate
from tests.pushdown.test_postgresql_inheritance import (
    ANA,
    BO,
    SECRET,
    bound,
    denied,
    facts,
    may,
    whys,
)

KEY = """
ALTER TABLE {orders} ADD PRIMARY KEY (amount);
ALTER TABLE {secret} ADD CONSTRAINT of_order FOREIGN KEY (amount) REFERENCES {orders} (amount)
ON DELETE CASCADE ON UPDATE SET NULL
"""
CHANGES = {"DELETE": "DELETE FROM s.orders", "UPDATE": "UPDATE s.orders SET amount = amount + 9"}
CASES = (
    (denied("DELETE_ROWS", SECRET), {"DELETE"}),
    (denied("UPDATE_ROWS", SECRET), {"UPDATE"}),
    (bound(Effect.FILTER, SECRET, "region = 'eu'"), {"DELETE", "UPDATE"}),
)


def test_effects_reach_further_tables_and_partitions() -> None:
    a, b, c, part = (("s", name) for name in ("a", "b", "c", "part"))
    keys = [ForeignKey("k", b, a, "DELETE", ""), ForeignKey("l", c, b, "UPDATE", "UPDATE")]
    keys.append(ForeignKey("own", c, c, "DELETE", ""))
    assert effects(keys, {b: frozenset({part})}) == {
        (a, "DELETE"): {(b, "DELETE"), (part, "DELETE"), (c, "UPDATE")},
        (b, "DELETE"): {(c, "UPDATE")},
        (b, "UPDATE"): {(c, "UPDATE")},
        (c, "DELETE"): {(c, "DELETE")},
    }
    assert effects(keys[:1], {c: frozenset({a})})[c, "DELETE"] == {(b, "DELETE")}


@pytest.fixture
def made(postgres_url: str) -> Iterator[Estate]:
    """A database in which rows of `secret` go with those of `orders`."""
    with estate(postgres_url, facts()) as one:
        with administrator(one.address.url) as own:
            own.execute(KEY.format(orders="s.orders", secret="s.secret"))
        yield one


def test_a_table_is_not_changed_by_whom_a_foreign_key_would_do_more(made: Estate) -> None:
    wish, _ = made.push()
    assert not wish.residues.count
    for statement, closed in CASES:
        wish, _ = made.with_facts(facts(statement)).push()
        for act, change in CHANGES.items():
            assert may(made, ANA, change) == (act not in closed), (statement.id, act)
            assert may(made, BO, change)
            assert bool(whys(wish, act)) == (act in closed)
    assert may(made, ANA, "SELECT FROM s.orders")


def test_drift_names_what_grants_of_others_do_by_foreign_keys(made: Estate) -> None:
    wish = facts(denied("DELETE_ROWS", SECRET))
    made.with_facts(wish).push()
    with administrator(made.address.url) as own:
        own.execute("GRANT DELETE ON s.orders TO ana")
    target = replace(made.target, pushed=as_data(made.managed_roles()))
    with connected(made.address) as database:
        found = push.drift(database, made.with_facts(wish).state, target, NOW).foreign
    through = "DELETE THROUGH FOREIGN KEY s.secret.of_order"
    (one,) = [one for one in found if one.grant.privilege == through]
    assert (one.grantee, one.grant.path, one.denied) == ("ana", ("s", "secret"), ("ana",))


OF_PART = """
ALTER TABLE s.orders ADD PRIMARY KEY (amount);
CREATE TABLE s.hidden () INHERITS (s.secret);
ALTER TABLE s.hidden ADD FOREIGN KEY (amount) REFERENCES s.orders ON DELETE CASCADE
"""


def test_a_key_of_a_partition_that_is_not_stored_is_one_of_its_table(postgres_url: str) -> None:
    with estate(postgres_url, facts()) as made:
        with administrator(made.address.url) as own:
            own.execute(OF_PART)
        made.push()
        assert may(made, ANA, CHANGES["DELETE"])
        wish, _ = made.with_facts(facts(denied("DELETE_ROWS", SECRET))).push()
        assert not may(made, ANA, CHANGES["DELETE"])
        assert may(made, BO, CHANGES["DELETE"])
        assert whys(wish, "DELETE")


ONWARD = """
ALTER TABLE s.orders ADD PRIMARY KEY (amount);
ALTER TABLE s.part ADD UNIQUE (amount), ADD CONSTRAINT first FOREIGN KEY (amount)
REFERENCES s.orders ON DELETE CASCADE;
ALTER TABLE s.secret ADD CONSTRAINT second FOREIGN KEY (amount)
REFERENCES s.part (amount) ON DELETE SET NULL;
CREATE VIEW public.shown AS SELECT * FROM s.orders
"""


@pytest.mark.parametrize(
    "change",
    [
        "GRANT DELETE ON s.orders TO ana",
        "GRANT DELETE ON public.shown TO ana",
        "ALTER TABLE s.orders OWNER TO ana",
    ],
)
def test_drift_follows_foreign_keys_from_views_owners_and_tables_between(
    postgres_url: str, change: str
) -> None:
    with estate(postgres_url, facts(denied("UPDATE_ROWS", SECRET))) as made:
        made.push()
        with administrator(made.address.url) as own:
            own.execute(ONWARD)
            own.execute(change)
        target = replace(made.target, pushed=as_data(made.managed_roles()))
        with connected(made.address) as database:
            found = push.drift(database, made.state, target, NOW).foreign
        with administrator(made.address.url) as own:
            own.execute("ALTER TABLE s.orders OWNER TO CURRENT_ROLE")
        through = "UPDATE THROUGH FOREIGN KEY s.part.first"
        assert [
            (one.grantee, one.grant.path, one.denied)
            for one in found
            if one.grant.privilege == through
        ] == [("ana", ("s", "secret"), ("ana",))]


@pytest.mark.nightly
@pytest.mark.parametrize(("statement", "closed"), CASES)
def test_mariadb_does_not_either(mariadb_url: str, statement: Statement, closed: set[str]) -> None:
    with mariadb_estate.estate(mariadb_url, facts(statement)) as made:
        with mariadb_estate.administrator(made.address.url) as own:
            for part in KEY.format(orders="s.orders", secret="s.secret").split(";"):
                mariadb_estate.execute(own, part)
        made.push()
        for act, change in CHANGES.items():
            for user in (ANA, BO):
                with made.as_user(user) as connection:
                    connection.begin()
                    try:
                        mariadb_estate.execute(connection, change)
                        is_done = True
                    except pymysql.MySQLError:
                        is_done = False
                    connection.rollback()
                assert is_done == (user == BO or act not in closed), (user, act)
