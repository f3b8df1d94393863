"""Two targets in one PostgreSQL: neither undoes the other's later changes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from lakewarden.pushdown import push
from lakewarden.pushdown.postgresql import connected
from lakewarden.testing.world_draft import NOW
from tests.pushdown.postgresql_estate import Estate, administrator, estate
from tests.pushdown.test_postgresql_escapes import BO, HIDDEN, READS, facts
from tests.pushdown.test_postgresql_owners import FILTER, MASK
from tests.pushdown.test_two_stores import ONE, OTHER, of_store

FILTERED = facts(READS, HIDDEN, FILTER)


@pytest.fixture
def made(postgres_url: str) -> Iterator[Estate]:
    with estate(postgres_url, FILTERED) as one:
        try:
            yield one
        finally:
            for name in ("one", "other"):
                named(one, name).with_facts(facts()).push()
            for store in (ONE, OTHER):
                of_store(one, store, facts()).push()


@pytest.fixture
def own(made: Estate) -> Iterator[psycopg.Connection[Any]]:
    with administrator(made.address.url) as connection:
        yield connection


def named(made: Estate, name: str) -> Estate:
    return replace(made, address=replace(made.address, target=name))


def rows_of_bo(made: Estate) -> int:
    with made.as_user(BO) as connection:
        ((count,),) = connection.execute("SELECT count(*) FROM s.orders").fetchall()
    return int(count)


def test_row_security_stays_where_another_target_needs_it_by_now(made: Estate) -> None:
    one, other = named(made, "one"), named(made, "other")
    one.push()
    open_to_all = one.with_facts(facts())
    with connected(one.address) as database:
        database.lock()
        plan = push.plan(database, open_to_all.state, open_to_all.target, NOW)
        assert any("DISABLE ROW LEVEL SECURITY" in said.text for said in plan.statements)
        other.push()
        assert rows_of_bo(other) == 1
        push.apply(database, plan)
    assert rows_of_bo(other) == 1
    assert other.push()[1] == 0


@pytest.mark.nightly
def test_row_security_stays_for_another_target_at_every_isolation_level(
    made: Estate, own: psycopg.Connection[Any]
) -> None:
    name = psycopg.sql.Identifier(own.info.dbname)
    own.execute(
        psycopg.sql.SQL(
            "ALTER DATABASE {} SET default_transaction_isolation = 'repeatable read'"
        ).format(name)
    )
    test_row_security_stays_where_another_target_needs_it_by_now(made)


def test_row_security_is_off_when_nobody_needs_it(
    made: Estate, own: psycopg.Connection[Any]
) -> None:
    one = named(made, "one")
    one.push()
    one.with_facts(facts()).push()
    asked = own.execute("SELECT relrowsecurity FROM pg_class WHERE oid = 's.orders'::regclass")
    assert asked.fetchall() == [(False,)]


def test_whose_the_schema_of_views_is_is_known_under_the_lock(made: Estate) -> None:
    """Another store created it after this one connected."""
    masked = made.with_facts(facts(READS, HIDDEN, MASK))
    one, other = of_store(masked, ONE), of_store(masked, OTHER)
    with connected(one.address) as database:
        other.push()
        database.lock()
        plan = push.plan(database, one.state, one.target, NOW)
        assert not any("was not created by lakewarden" in residue.why for residue in plan.residues)
        push.apply(database, plan)
        assert database.managed_roles() == plan.desired
    assert any(role.views for role in plan.desired.roles.values())
    assert other.managed_roles().roles
