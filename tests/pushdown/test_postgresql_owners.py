"""Objects of others with their owner's rights: drift reports the users who get access by them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import psycopg
import pytest

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.statement import Effect, On, Statement
from lakewarden.pushdown import push
from lakewarden.pushdown.grants import as_data
from lakewarden.pushdown.plan import Act
from lakewarden.pushdown.postgresql import connected
from lakewarden.testing.world_draft import NOW
from tests.pushdown.postgresql_estate import Estate, administrator, estate
from tests.pushdown.test_postgresql_escapes import BO, HIDDEN, READS, facts

FILTER = Statement(
    *("eu", Effect.FILTER, frozenset(), On(Entity("table", "m:c.s.orders")), frozenset({BO})),
    expression="region = 'eu'",
)


MASK = replace(FILTER, id="mask", effect=Effect.MASK, expression="null")


@pytest.fixture(scope="module")
def made(postgres_url: str) -> Iterator[Estate]:
    """`bo` may read the European rows of one of two tables, `ana` nothing."""
    with estate(postgres_url, facts(READS, HIDDEN, FILTER)) as one:
        with administrator(one.address.url) as own:
            own.execute("CREATE SCHEMA lib; CREATE ROLE app; CREATE ROLE writer")
            own.execute("GRANT USAGE ON SCHEMA s TO app; GRANT SELECT ON s.secret TO app")
        one.push()
        yield one
        with administrator(one.address.url) as own:
            own.execute("DROP OWNED BY app, writer CASCADE; DROP ROLE app, writer")


@pytest.fixture
def own(made: Estate) -> Iterator[psycopg.Connection[Any]]:
    """A connection whose changes last until the end of the test."""
    with administrator(made.address.url) as connection:
        yield connection
        connection.execute("DROP SCHEMA lib CASCADE; CREATE SCHEMA lib")
        connection.execute("DROP TRIGGER IF EXISTS seen ON s.secret")
        connection.execute("DROP FOREIGN DATA WRAPPER IF EXISTS away CASCADE")


def through(made: Estate) -> set[tuple[str, str, str, tuple[str, ...]]]:
    """Access by others' rights: the user, the object, the way, and those to whom it is denied."""
    target = replace(made.target, pushed=as_data(made.managed_roles()))
    with connected(made.address) as database:
        found = push.drift(database, made.state, target, NOW)
    assert not found.differences
    return {
        (one.grantee, ".".join(one.grant.path), one.grant.privilege, one.denied)
        for one in found.foreign
        if " THROUGH " in one.grant.privilege
    }


BOTH = ("ana", "bo")
READ, BY = "SELECT THROUGH ", "CREATE FUNCTION lib.f() RETURNS bigint LANGUAGE sql"


@pytest.mark.by_day(8)
@pytest.mark.parametrize(
    ("edit", "found"),
    [
        (
            "CREATE FOREIGN DATA WRAPPER away; CREATE SERVER far FOREIGN DATA WRAPPER away;"
            " CREATE USER MAPPING FOR PUBLIC SERVER far; GRANT USAGE ON FOREIGN SERVER far TO ana",
            {("ana", "", f"{READ}SERVER far", ("ana",))},
        ),
        (
            "CREATE FOREIGN DATA WRAPPER away; CREATE SERVER far FOREIGN DATA WRAPPER away;"
            " CREATE USER MAPPING FOR bo SERVER far; GRANT USAGE ON FOREIGN SERVER far TO ana",
            set(),
        ),
        (
            "CREATE VIEW lib.v AS SELECT * FROM s.orders; GRANT SELECT ON lib.v TO PUBLIC",
            {("PUBLIC", "s.orders", f"{READ}VIEW lib.v", BOTH)},
        ),
        (
            "CREATE VIEW lib.v WITH (security_invoker) AS SELECT * FROM s.orders;"
            " GRANT SELECT ON lib.v TO PUBLIC",
            set(),
        ),
        ("CREATE VIEW lib.v AS SELECT * FROM s.orders", set()),
        (
            "CREATE VIEW lib.v AS SELECT region FROM s.secret;"
            " CREATE VIEW lib.w AS SELECT * FROM lib.v; GRANT SELECT (region) ON lib.w TO ana",
            {("ana", "s.secret", f"{READ}VIEW lib.w", ("ana",))},
        ),
        (
            "CREATE VIEW lib.v WITH (security_invoker) AS SELECT * FROM s.secret;"
            " CREATE VIEW lib.w AS SELECT * FROM lib.v; GRANT SELECT ON lib.w TO ana",
            set(),
        ),
        (
            "CREATE VIEW lib.v WITH (security_invoker) AS SELECT * FROM s.secret;"
            " CREATE MATERIALIZED VIEW lib.w AS SELECT * FROM lib.v; GRANT SELECT ON lib.w TO ana",
            {("ana", "s.secret", f"{READ}VIEW lib.w", ("ana",))},
        ),
        (
            "CREATE VIEW lib.v AS SELECT * FROM s.secret; ALTER VIEW lib.v OWNER TO writer;"
            " GRANT SELECT ON lib.v TO ana",
            set(),  # its owner may not read the table
        ),
        (
            "CREATE VIEW lib.v AS SELECT * FROM s.secret; GRANT UPDATE ON lib.v TO ana",
            {("ana", "s.secret", "UPDATE THROUGH VIEW lib.v", ("ana",))},
        ),
        (
            "CREATE TABLE lib.t (); CREATE RULE r AS ON DELETE TO lib.t DO ALSO"
            " INSERT INTO s.orders SELECT * FROM s.secret; GRANT DELETE ON lib.t TO ana",
            {
                ("ana", "s.secret", f"{READ}RULE lib.t.r", ("ana",)),
                ("ana", "s.orders", f"{READ}RULE lib.t.r", ("ana",)),
            },
        ),
        (
            "CREATE TABLE lib.t (LIKE s.secret); CREATE RULE r AS ON INSERT TO s.secret DO ALSO"
            " INSERT INTO lib.t VALUES (NEW.*); GRANT SELECT ON lib.t TO bo",
            {("bo", "s.secret", f"{READ}RULE s.secret.r", ("bo",))},
        ),
        (
            f"{BY} SECURITY DEFINER AS 'SELECT 1::bigint'",
            {("PUBLIC", "", f"{READ}FUNCTION lib.f()", BOTH)},
        ),
        (f"{BY} AS 'SELECT 1::bigint'", set()),
        (
            f"{BY} SECURITY DEFINER AS 'SELECT 1::bigint'; ALTER FUNCTION lib.f() OWNER TO app",
            {("PUBLIC", "s.secret", f"{READ}FUNCTION lib.f()", BOTH)},
        ),
        (
            f"{BY} SECURITY DEFINER AS 'SELECT 1::bigint'; ALTER FUNCTION lib.f() OWNER TO writer",
            set(),
        ),
        (
            "DO $$ BEGIN FOR i IN 1..51 LOOP EXECUTE format('CREATE TABLE lib.t%s ()', i);"
            " EXECUTE format('GRANT SELECT ON lib.t%s TO app', i); END LOOP; END $$;"
            f" CREATE TABLE lib.x (); {BY} SECURITY DEFINER AS 'SELECT 1::bigint';"
            " ALTER FUNCTION lib.f() OWNER TO app",
            {("PUBLIC", one, f"{READ}FUNCTION lib.f()", BOTH) for one in ("lib", "s.secret")},
        ),
        (
            "CREATE PROCEDURE lib.p(x int) SECURITY DEFINER LANGUAGE sql AS 'SELECT x';"
            " REVOKE ALL ON PROCEDURE lib.p FROM PUBLIC; GRANT EXECUTE ON PROCEDURE lib.p TO bo;"
            " ALTER PROCEDURE lib.p OWNER TO app",
            {("bo", "s.secret", f"{READ}PROCEDURE lib.p(integer)", ("bo",))},
        ),
        (
            "CREATE FUNCTION lib.t() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN RETURN NEW; END';"
            " ALTER FUNCTION lib.t() OWNER TO ana;"
            " CREATE TRIGGER seen BEFORE INSERT ON s.secret EXECUTE FUNCTION lib.t();"
            " ALTER FUNCTION lib.t() OWNER TO ana",
            {("ana", "s.secret", f"{READ}TRIGGER s.secret.seen", ("ana",))},
        ),
        (
            "CREATE FUNCTION lib.t() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER"
            " AS 'BEGIN RETURN NEW; END'; ALTER FUNCTION lib.t() OWNER TO app;"
            " REVOKE ALL ON FUNCTION lib.t() FROM PUBLIC; CREATE TABLE lib.x ();"
            " GRANT INSERT ON lib.x TO bo;"
            " CREATE TRIGGER fires BEFORE INSERT ON lib.x EXECUTE FUNCTION lib.t()",
            {("bo", "s.secret", f"{READ}TRIGGER lib.x.fires", ("bo",))},
        ),
    ],
)
def test_drift_names_who_reaches_what(
    made: Estate,
    own: psycopg.Connection[Any],
    edit: str,
    found: set[tuple[str, str, str, tuple[str, ...]]],
) -> None:
    own.execute(edit)
    assert through(made) == found


def test_what_is_held_so_is_neither_touched_nor_adopted(
    made: Estate, own: psycopg.Connection[Any]
) -> None:
    own.execute("CREATE VIEW lib.v AS SELECT * FROM s.secret; GRANT SELECT ON lib.v TO ana")
    before = through(made)
    with connected(made.address) as database:
        plan = push.adoption_plan(database, push.plan(database, made.state, made.target, NOW))
        adopted = push.proposal(database, made.state, made.target, NOW)
    assert not [one for one in plan.steps if one.act is Act.REVOKE_FOREIGN]
    whys = {one.why for one in adopted.left if " THROUGH " in one.grant.privilege}
    assert whys == {"it comes from the rights of another account, not from a grant"}
    made.push(made.managed_roles())
    assert through(made) == before


def test_masking_views_of_ours_are_not_named(made: Estate, own: psycopg.Connection[Any]) -> None:
    masked = made.with_facts(facts(READS, HIDDEN, MASK))
    masked.push()
    assert made.views()
    own.execute(f"GRANT SELECT ON ALL TABLES IN SCHEMA {made.address.view_schema} TO ana")
    target = replace(made.target, pushed=as_data(made.managed_roles()))
    with connected(made.address) as database:
        found = push.drift(database, masked.state, target, NOW)
    assert not [one for one in found.foreign if " THROUGH " in one.grant.privilege]
    made.push()
