"""PostgreSQL's access besides object grants: it opens none of ours, and drift reports it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa
from psycopg import sql

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.principal import ROLE, USER, Principal, members_of
from lakewarden.kernel.relations import EntityRow, Facts, MembershipRow
from lakewarden.kernel.statement import Effect, On, Statement
from lakewarden.pushdown import push
from lakewarden.pushdown.address import Address
from lakewarden.pushdown.drift import ADDED, MISSING, differences
from lakewarden.pushdown.grants import Grant, Roles, as_data
from lakewarden.pushdown.postgresql import connected
from lakewarden.pushdown.push import Drift
from lakewarden.testing.world_draft import NOW
from tests.pushdown.postgresql_estate import Estate, administrator, estate

LAKE, CATALOG, SCHEMA = Entity("metalake", "m"), Entity("catalog", "m:c"), Entity("schema", "m:c.s")
ORDERS, SECRET = (Entity("table", f"m:c.s.{name}") for name in ("orders", "secret"))
ANA, BO = (Principal(USER, name) for name in ("ana", "bo"))
READS = Statement(
    *("reads", Effect.ALLOW, frozenset({"USE_CATALOG", "USE_SCHEMA", "SELECT_TABLE"})),
    *(On(CATALOG), frozenset({BO})),
)
FILTER = Statement(
    *("eu", Effect.FILTER, frozenset(), On(ORDERS), frozenset()), expression="region = 'eu'"
)
HIDDEN = Statement("hidden", Effect.DENY, frozenset({"SELECT_TABLE"}), On(SECRET), frozenset({BO}))


def facts(*statements: Statement) -> Facts:
    above = {LAKE: None, CATALOG: LAKE, SCHEMA: CATALOG, ORDERS: SCHEMA, SECRET: SCHEMA}
    return Facts(
        entities=[EntityRow(one, parent) for one, parent in above.items()],
        principals=[ANA, BO],
        memberships=[MembershipRow(one, members_of("m")) for one in (ANA, BO)],
        statements=statements,
    )


@pytest.fixture
def made(postgres_url: str) -> Iterator[Estate]:
    """A database in which `bo` may read one of two tables, `ana` nothing."""
    with estate(postgres_url, facts(READS, HIDDEN)) as one:
        one.push()
        yield one


@pytest.fixture
def own(made: Estate) -> Iterator[psycopg.Connection[Any]]:
    with administrator(made.address.url) as connection:
        yield connection


def role(made: Estate) -> str:
    """The role by which `bo` may read."""
    ((name, _),) = made.managed_roles().roles.items()
    return name


def reads(made: Estate, user: Principal, table: str = "orders") -> bool:
    try:
        with made.as_user(user) as connection:
            connection.execute(f"SELECT FROM s.{table}")
    except (psycopg.errors.InsufficientPrivilege, psycopg.OperationalError):
        return False  # the second one without CONNECT
    return True


def drift(made: Estate, pushed: Roles) -> Drift:
    target = replace(made.target, pushed=as_data(pushed))
    with connected(made.address) as database:
        return push.drift(database, made.state, target, NOW)


def test_an_account_that_others_were_granted_is_left_out(
    made: Estate, own: psycopg.Connection[Any]
) -> None:
    before = made.managed_roles()
    own.execute("GRANT bo TO ana")
    assert reads(made, ANA)
    found = [(one.grantee, one.grant.privilege) for one in drift(made, before).foreign]
    assert ("ana", "MEMBER OF bo") in found
    wish, _ = made.push()
    assert not reads(made, ANA)
    assert not reads(made, BO)
    assert {one.principal: one.why for one in wish.residues}["user:bo"].startswith(
        "the account was"
    )
    own.execute("REVOKE bo FROM ana")
    made.push()
    assert reads(made, BO)


@pytest.mark.by_day(1)
@pytest.mark.parametrize("option", ["INHERIT FALSE, SET TRUE", "INHERIT TRUE, SET FALSE"])
def test_an_account_that_others_were_granted_in_any_way_is_left_out(
    made: Estate, own: psycopg.Connection[Any], option: str
) -> None:
    own.execute(f"GRANT bo TO ana WITH {option}")
    made.push()
    assert not made.managed_roles().roles


def test_whoever_made_an_account_has_nothing_of_it(
    made: Estate, own: psycopg.Connection[Any]
) -> None:
    own.execute("GRANT bo TO ana WITH ADMIN TRUE, INHERIT FALSE, SET FALSE")
    made.push()
    assert (reads(made, BO), reads(made, ANA)) == (True, False)


@pytest.mark.by_day(5)
@pytest.mark.parametrize(
    ("edit", "power"),
    [
        ("GRANT pg_read_all_data TO ana", "pg_read_all_data"),
        ("ALTER ROLE ana SUPERUSER", "SUPERUSER"),
        ("ALTER ROLE ana BYPASSRLS", "BYPASSRLS"),
        (
            "GRANT ALTER SYSTEM ON PARAMETER archive_command TO ana",
            "ALTER SYSTEM ON PARAMETER archive_command",
        ),
        (
            "GRANT EXECUTE ON FUNCTION pg_read_file(text) TO pg_monitor; GRANT pg_monitor TO ana",
            "EXECUTE ON SERVER FUNCTION pg_read_file(text)",
        ),
        ("ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO ana", "SELECT ON TABLES TO COME"),
        ("ALTER DEFAULT PRIVILEGES GRANT USAGE ON SCHEMAS TO ana", "USAGE ON SCHEMAS TO COME"),
        (
            "ALTER DEFAULT PRIVILEGES IN SCHEMA s GRANT INSERT ON TABLES TO PUBLIC",
            "INSERT ON TABLES TO COME",
        ),
    ],
)
def test_drift_names_what_no_grant_on_an_object_shows(
    made: Estate, own: psycopg.Connection[Any], edit: str, power: str
) -> None:
    before = made.managed_roles()
    assert all(one.grant.privilege != power for one in drift(made, before).foreign)
    own.execute(edit)
    (found,) = [one for one in drift(made, before).foreign if one.grant.privilege == power]
    assert "ana" in found.denied
    if "DEFAULT" in edit:
        own.execute(edit.replace("GRANT", "REVOKE").replace(" TO ", " FROM "))
    if "pg_read_file" in edit:
        own.execute("REVOKE EXECUTE ON FUNCTION pg_read_file(text) FROM pg_monitor")


def test_drift_names_every_predefined_role_that_shows_or_changes_data(
    made: Estate, own: psycopg.Connection[Any]
) -> None:
    before = made.managed_roles()
    query = "SELECT rolname FROM pg_roles WHERE rolname ~ '^pg_'"
    predefined = {name for (name,) in own.execute(query)}
    assert {"pg_monitor", "pg_read_all_data"} <= predefined
    own.execute("GRANT pg_monitor TO ana")
    assert powers_of_ana(made, before) == {"pg_read_all_stats", "pg_read_all_settings"}
    own.execute(f"GRANT {', '.join(sorted(predefined - {'pg_database_owner'}))} TO ana")
    assert predefined - powers_of_ana(made, before) == predefined & WITHOUT_DATA


WITHOUT_DATA = {
    *("pg_checkpoint", "pg_create_subscription", "pg_database_owner", "pg_monitor"),
    *("pg_signal_autovacuum_worker", "pg_signal_backend", "pg_stat_scan_tables"),
    "pg_use_reserved_connections",
}


def powers_of_ana(made: Estate, pushed: Roles) -> set[str]:
    """The powers on the database that the realm denies to `ana`."""
    foreign = drift(made, pushed).foreign
    return {one.grant.privilege for one in foreign if not one.grant.path and "ana" in one.denied}


def test_drift_names_grants_in_the_catalog_that_a_new_database_does_not_have(
    made: Estate, own: psycopg.Connection[Any]
) -> None:
    before = made.managed_roles()
    assert not granted_in_catalog(made, before)
    own.execute(
        "GRANT SELECT ON pg_statistic TO ana; GRANT SELECT (rolpassword) ON pg_authid TO PUBLIC;"
        # What everybody may do anyway is no news.
        " GRANT SELECT ON pg_class, pg_subscription TO ana;"
        " GRANT SELECT (subname) ON pg_subscription TO ana"
    )
    try:
        assert granted_in_catalog(made, before) == {
            ("ana", "pg_catalog.pg_statistic", "SELECT"),
            ("ana", "pg_catalog.pg_subscription", "SELECT"),
            ("PUBLIC", "pg_catalog.pg_authid.rolpassword", "SELECT"),
        }
    finally:
        own.execute("REVOKE SELECT (rolpassword) ON pg_authid FROM PUBLIC")


def granted_in_catalog(made: Estate, pushed: Roles) -> set[tuple[str, str, str]]:
    """The grants on tables of the server, with columns, that the realm denies to `ana`."""
    return {
        (one.grantee, ".".join(one.grant.path), one.grant.privilege)
        for one in drift(made, pushed).foreign
        if one.grant.path[:1] == ("pg_catalog",) and "ana" in one.denied
    }


def test_the_owner_of_the_database_is_the_member_of_its_role(
    made: Estate, own: psycopg.Connection[Any]
) -> None:
    before = made.managed_roles()
    database = sql.Identifier(own.info.dbname)
    own.execute("GRANT SELECT ON s.secret TO pg_database_owner")
    own.execute(sql.SQL("ALTER DATABASE {} OWNER TO ana").format(database))
    try:
        found = [one for one in drift(made, before).foreign if one.grantee == "pg_database_owner"]
        assert {(one.grant.path, one.denied) for one in found} >= {
            (("s", "secret"), ("ana",)),
            (("public",), ("ana",)),
        }
    finally:
        own.execute(sql.SQL("ALTER DATABASE {} OWNER TO CURRENT_USER").format(database))


def test_drift_names_what_a_role_of_ours_was_made(
    made: Estate, own: psycopg.Connection[Any]
) -> None:
    before = made.managed_roles()
    own.execute(sql.SQL("ALTER ROLE {} SUPERUSER").format(sql.Identifier(role(made))))
    (found,) = [one for one in drift(made, before).foreign if one.grant.privilege == "SUPERUSER"]
    assert found.denied == ("bo",)


@pytest.mark.by_day(3)
@pytest.mark.parametrize(
    "edit",
    [
        "ALTER DEFAULT PRIVILEGES FOR ROLE {role} GRANT SELECT ON TABLES TO bo",
        "ALTER DEFAULT PRIVILEGES IN SCHEMA s GRANT SELECT ON TABLES TO {role}",
        "CREATE FUNCTION s.f() RETURNS int LANGUAGE sql AS 'SELECT 1';"
        " GRANT EXECUTE ON FUNCTION s.f() TO {role}",
        "CREATE TYPE s.colour AS ENUM ('red'); GRANT USAGE ON TYPE s.colour TO {role}",
        "GRANT CREATE ON SCHEMA s TO {role}; ALTER TABLE s.secret OWNER TO {role}",
        "GRANT SET ON PARAMETER log_statement TO {role}",
    ],
)
def test_nothing_that_hangs_on_a_role_keeps_its_rights(
    made: Estate, own: psycopg.Connection[Any], edit: str
) -> None:
    name = sql.Identifier(role(made)).as_string(own)
    own.execute(edit.format(role=name))
    made.with_facts(facts()).push()
    assert not reads(made, BO)
    assert not reads(made, BO, "secret")


def test_nothing_that_hangs_on_a_role_in_another_database_keeps_its_rights(
    made: Estate, own: psycopg.Connection[Any]
) -> None:
    name = role(made)
    with psycopg.connect(own.info.dsn, dbname="postgres", autocommit=True) as other:
        other.execute("CREATE TABLE IF NOT EXISTS public.lw_beside ()")
        other.execute(
            sql.SQL("GRANT SELECT ON public.lw_beside TO {}").format(sql.Identifier(name))
        )
        try:
            made.with_facts(facts()).push()
            assert not reads(made, BO)
            assert not made.managed_roles().roles
            made.push()
            assert role(made) != name
        finally:
            other.execute("DROP TABLE public.lw_beside")
            own.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(name)))


@pytest.mark.by_day(1)
@pytest.mark.parametrize("option", ["ADMIN TRUE", "SET TRUE", "INHERIT FALSE"])
def test_a_membership_with_other_options_is_made_anew(
    made: Estate, own: psycopg.Connection[Any], option: str
) -> None:
    before = made.managed_roles()
    own.execute(
        sql.SQL("GRANT {} TO bo WITH {}").format(sql.Identifier(role(made)), sql.SQL(option))
    )
    assert ADDED in {one.kind for one in differences(before, made.managed_roles())}
    made.push(before)
    assert made.managed_roles() == before
    assert reads(made, BO)


def amounts(made: Estate) -> list[int]:
    """The amounts of the orders that `bo` sees."""
    with made.as_user(BO) as connection:
        return [row[0] for row in connection.execute("SELECT amount FROM s.orders")]


def filtered(made: Estate) -> Estate:
    """The same, with a filter on the orders for `bo`."""
    region = EntityRow(Entity("column", f"{ORDERS.name}.region"), ORDERS)
    whole = facts(READS, HIDDEN, FILTER)
    return made.with_facts(replace(whole, entities=[*whole.entities, region]))


def test_a_column_that_is_dropped_takes_the_rows_along_that_a_filter_on_it_left(
    made: Estate, own: psycopg.Connection[Any]
) -> None:
    """PostgreSQL drops the policies that name it, and row security stays enabled."""
    some = filtered(made)
    some.push()
    assert amounts(some) == [1]
    with pytest.raises(psycopg.errors.DependentObjectsStillExist):
        own.execute("ALTER TABLE s.orders DROP COLUMN region")
    before = some.managed_roles()
    own.execute("ALTER TABLE s.orders DROP COLUMN region CASCADE")
    assert amounts(some) == []
    assert MISSING in {one.kind for one in differences(before, some.managed_roles()) if one.policy}
    some.push(before)
    assert amounts(some) == []


@pytest.mark.parametrize("is_native", [True, False])
def test_row_security_that_was_there_stays(
    made: Estate, own: psycopg.Connection[Any], is_native: bool
) -> None:
    """Without any policy it closes the table to all other grantees."""
    own.execute(f"GRANT CONNECT ON DATABASE {own.info.dbname} TO ana")
    own.execute("GRANT USAGE ON SCHEMA s TO ana; GRANT SELECT ON s.orders TO ana")
    if is_native:
        own.execute("ALTER TABLE s.orders ENABLE ROW LEVEL SECURITY")
    for state in (filtered(made), made, filtered(made), made.with_facts(facts())):
        state.push()
        is_filtered = any(one.policies for one in state.managed_roles().roles.values())
        with made.as_user(ANA) as connection:
            seen = connection.execute("SELECT FROM s.orders").fetchall()
        assert bool(seen) is not (is_native or is_filtered)
        with connected(made.address) as database:
            closed = [one for one in database.warnings() if "DISABLE ROW LEVEL SECURITY" in one]
        assert bool(closed) == (is_native and state is made)


def test_policies_of_before_are_made_anew(made: Estate, own: psycopg.Connection[Any]) -> None:
    """The one that admitted the role had no condition."""
    some = filtered(made)
    some.push()
    before, policy = some.managed_roles(), sql.Identifier(f"{role(some)}_all")
    ((note,),) = own.execute(
        "SELECT json_build_object('condition', obj_description(oid)::json -> 'condition',"
        " 'is', 'true') FROM pg_policy WHERE polpermissive"
    ).fetchall()
    own.execute(sql.SQL("ALTER POLICY {} ON s.orders USING (true)").format(policy))
    said = sql.Literal(json.dumps(note))
    own.execute(sql.SQL("COMMENT ON POLICY {} ON s.orders IS {}").format(policy, said))
    assert {one.kind for one in differences(before, some.managed_roles())} == {MISSING, ADDED}
    some.push(before)
    assert some.managed_roles() == before
    assert amounts(some) == [1]


def test_the_account_that_pushes_is_told_nothing(
    made: Estate, own: psycopg.Connection[Any]
) -> None:
    """It has the owners' rights, and is a member of each role that it creates."""
    made.with_facts(facts()).push()
    mine = as_account(made, "bo")
    database = sql.Identifier(own.info.dbname)
    own.execute(sql.SQL("ALTER DATABASE {} OWNER TO bo").format(database))
    own.execute("ALTER ROLE bo CREATEROLE")
    try:
        wish, _ = mine.push()
        assert {one.principal for one in wish.residues} == {"user:bo"}
        assert not mine.managed_roles().roles
    finally:
        own.execute(sql.SQL("ALTER DATABASE {} OWNER TO CURRENT_USER").format(database))


def test_what_the_realm_allows_and_a_push_leaves_out_is_not_adopted(
    made: Estate, own: psycopg.Connection[Any]
) -> None:
    """It needs no statement; the plan reports why it is left out."""
    ending = made.with_facts(facts(replace(READS, valid_until=NOW + 5)))
    own.execute("GRANT SELECT ON s.orders TO bo; CREATE ROLE team; GRANT team TO ana, bo;"
                " GRANT SELECT ON s.secret TO team")  # fmt: skip
    try:
        with connected(ending.address) as database:
            proposed = push.proposal(database, ending.state, ending.target, NOW)
        left = {one.grantee: one.why for one in proposed.left}
        assert left["bo"].startswith("the realm allows it")
        assert "team" not in left
        given = [one.scope for one in proposed.statements.values()]
        assert given == [On(CATALOG), On(SCHEMA), On(SECRET)]
    finally:
        own.execute("DROP OWNED BY team; DROP ROLE team")


def as_account(made: Estate, name: str) -> Estate:
    """The same target, pushed by another account."""
    url = sa.make_url(made.address.url).set(username=name, password=None)
    return replace(made, address=Address(url.render_as_string(hide_password=False), "pg"))


@pytest.mark.by_day(1)
@pytest.mark.parametrize("made_by", ["an account", "a superuser"])
def test_an_account_that_did_not_make_our_roles_is_told_what_it_lacks(
    made: Estate, own: psycopg.Connection[Any], made_by: str
) -> None:
    database = sql.Identifier(own.info.dbname).as_string(own)
    own.execute(
        "CREATE ROLE app; CREATE ROLE first LOGIN CREATEROLE IN ROLE app;"
        f" CREATE ROLE second LOGIN CREATEROLE IN ROLE app; ALTER DATABASE {database} OWNER TO app;"
        " ALTER SCHEMA s OWNER TO app; ALTER TABLE s.orders OWNER TO app;"
        " ALTER TABLE s.secret OWNER TO app"
    )
    if made_by == "an account":
        made.with_facts(facts()).push()
        as_account(made, "first").push()
    mine = as_account(made, "second")
    (lack,) = mine.missing_rights()
    assert "1 of lakewarden's roles" in lack
    with pytest.raises(BadInput, match="permission denied"):
        mine.with_facts(facts()).push()
    own.execute(sql.SQL(lack.partition(": ")[2]))
    assert mine.missing_rights() == []
    mine.push()
    assert reads(made, BO)
    mine.with_facts(facts()).push()
    assert not made.managed_roles().roles
    own.execute("REASSIGN OWNED BY app TO CURRENT_USER")
    for name in ("second", "first", "app"):
        own.execute(f"DROP OWNED BY {name}; DROP ROLE {name}")


def test_a_role_that_is_called_public_is_not_everybody(
    made: Estate, own: psycopg.Connection[Any]
) -> None:
    own.execute('CREATE ROLE "PUBLIC"; GRANT SELECT ON s.secret TO "PUBLIC"; GRANT "PUBLIC" TO ana')
    try:
        found = {
            one.grantee: one for one in drift(made, made.managed_roles()).foreign if one.grant.path
        }
        assert found["PUBLIC"].users == ("ana",)
        assert found["public"].users == ("ana", "bo")
        with connected(made.address) as database:
            proposed = push.proposal(database, made.state, made.target, NOW)
        assert {row.of for row in proposed.members} == {Principal(ROLE, "m:pg-PUBLIC")}
        assert all(one.principals != {members_of("m")} for one in proposed.statements.values())
    finally:
        own.execute('DROP OWNED BY "PUBLIC"; DROP ROLE "PUBLIC"')


@pytest.mark.by_day(1)
@pytest.mark.parametrize("options", ["LOGIN", "LOGIN SUPERUSER"])
def test_nobody_may_log_in_as_a_role(
    made: Estate, own: psycopg.Connection[Any], options: str
) -> None:
    before, name = made.managed_roles(), sql.Identifier(role(made))
    own.execute(sql.SQL("ALTER ROLE {} " + options).format(name))
    found = drift(made, before)
    assert [one.grant.privilege for one in found.differences if one.grant] == ["LOGIN"]
    assert not [one for one in found.foreign if one.grant.privilege.startswith("MEMBER OF")]
    made.push(before)
    assert made.managed_roles() == before
    ((may,),) = own.execute("SELECT rolcanlogin FROM pg_roles WHERE rolname ~ '^lw_pg_'").fetchall()
    assert not may


def test_what_a_role_was_made_the_owner_of_is_taken_over(
    made: Estate, own: psycopg.Connection[Any]
) -> None:
    """Its members could grant it to themselves."""
    before, name = made.managed_roles(), sql.Identifier(role(made)).as_string(own)
    own.execute(f"ALTER TABLE s.secret OWNER TO {name}; CREATE TYPE s.colour AS ENUM ();"
                f" ALTER TYPE s.colour OWNER TO {name}")  # fmt: skip
    assert reads(made, BO, "secret")
    found = [one.grant for one in drift(made, before).differences if one.grant]
    assert found == [Grant((), "OWNER")]
    made.push(before)
    assert made.managed_roles() == before
    assert not reads(made, BO, "secret")
    with made.as_user(BO) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute("GRANT SELECT ON s.secret TO bo")


def test_members_own_nothing_as_a_role(made: Estate) -> None:
    with made.as_user(BO) as connection, pytest.raises(psycopg.errors.InsufficientPrivilege):
        connection.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(role(made))))


def test_a_foreign_table_with_a_filter_is_read_by_a_view(
    made: Estate, own: psycopg.Connection[Any]
) -> None:
    own.execute("DROP TABLE s.orders; CREATE FOREIGN DATA WRAPPER lw_none")
    own.execute("CREATE SERVER lw_none FOREIGN DATA WRAPPER lw_none")
    own.execute("CREATE FOREIGN TABLE s.orders (region text, amount int) SERVER lw_none")
    bound = Statement(
        "eu", Effect.FILTER, frozenset(), On(ORDERS), frozenset(), expression="region = 'eu'"
    )
    limited = made.with_facts(facts(READS, HIDDEN, bound))
    limited.push()
    assert len(limited.views()) == 1
    asked = own.execute("SELECT has_table_privilege('bo', 's.orders', 'SELECT')")
    assert asked.fetchall() == [(False,)]


IBAN, REGION = (Entity("column", f"{ORDERS.name}.{name}") for name in ("iban", "region"))
WRITES = frozenset({"SELECT_TABLE", "INSERT_ROWS", "UPDATE_ROWS", "DELETE_ROWS"})


@pytest.mark.by_day(1)
@pytest.mark.parametrize(
    ("right", "act"), [("UPDATE_ROWS", "UPDATE s.orders SET {} = 'x'"),
                       ("INSERT_ROWS", "INSERT INTO s.orders ({}) VALUES ('x')")],
)  # fmt: skip
def test_a_denied_column_is_not_written_with_its_table(
    made: Estate, own: psycopg.Connection[Any], right: str, act: str
) -> None:
    told = facts(
        READS,
        Statement("writes", Effect.ALLOW, WRITES, On(CATALOG), frozenset({BO})),
        Statement("iban", Effect.DENY, frozenset({right}), On(IBAN), frozenset({BO})),
    )
    columns = [EntityRow(one, ORDERS) for one in (IBAN, REGION)]
    there = made.with_facts(replace(told, entities=[*told.entities, *columns]))
    wish, _ = there.push()
    (left,) = (one for one in wish.residues if one.access == act.partition(" ")[0])
    assert (left.entity, left.principal) == (f"table:{ORDERS.name}", "user:bo")
    ways = {name: _writes(made, act.format(name)) for name in ("region", "iban", "note")}
    assert ways == {"region": True, "iban": False, "note": False}
    assert _writes(made, "DELETE FROM s.orders")
    # The denial also holds for a column that is added after the push.
    own.execute("ALTER TABLE s.orders DROP COLUMN iban")
    there.push()
    own.execute("ALTER TABLE s.orders ADD COLUMN iban text")
    assert not _writes(made, act.format("iban"))
    assert _writes(made, act.format("region"))


def _writes(made: Estate, statement: str) -> bool:
    with made.as_user(BO) as connection:
        try:
            connection.execute(sql.SQL(statement))
        except psycopg.errors.InsufficientPrivilege:
            return False
    return True
