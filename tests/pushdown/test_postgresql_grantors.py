"""Grants to our roles by others than the owner are reported and revoked, for all grantors."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa
from psycopg import sql

from lakewarden.kernel.errors import Conflict
from lakewarden.pushdown import push
from lakewarden.pushdown.address import Address
from lakewarden.pushdown.drift import ADDED, differences
from lakewarden.pushdown.grants import Grant, Roles, as_data
from lakewarden.pushdown.plan import NOTHING
from lakewarden.pushdown.postgresql import connected
from lakewarden.testing.world_draft import NOW
from tests.pushdown.postgresql_estate import Estate, administrator, estate
from tests.pushdown.test_postgresql_escapes import ANA, BO, HIDDEN, READS, facts, reads, role
from tests.pushdown.test_postgresql_owners import MASK

KEEPER = "lw-keeper"
BY_ANA = (
    ("SELECT", "ON s.secret"),
    ("SELECT (region)", "ON s.secret"),
    ("CREATE", "ON SCHEMA s"),
    ("TEMPORARY", "ON DATABASE {database}"),
    ("USAGE", "ON SEQUENCE s.numbers"),
    ("EXECUTE", 'ON FUNCTION s."f(""x"(int, text)'),
    ("USAGE", "ON TYPE s.colour"),
    ("USAGE", "ON FOREIGN DATA WRAPPER away"),
    ("USAGE", "ON FOREIGN SERVER far"),
    ("SELECT", "ON LARGE OBJECT 4711"),
    ("USAGE", "ON LANGUAGE lw_lang"),
)
"""What ana may grant, and grants to our role."""

THERE = """
CREATE SEQUENCE s.numbers; CREATE TYPE s.colour AS ENUM ('red'); SELECT lo_create(4711);
CREATE FUNCTION s."f(""x"(int, text) RETURNS int LANGUAGE sql AS 'SELECT 1';
CREATE FOREIGN DATA WRAPPER away; CREATE SERVER far FOREIGN DATA WRAPPER away;
CREATE TRUSTED LANGUAGE lw_lang HANDLER plpgsql_call_handler; GRANT USAGE ON SCHEMA s TO ana
"""
HANDED_ON = (
    "GRANT SELECT ON s.secret TO {role} WITH GRANT OPTION; SET ROLE bo;"
    " GRANT SELECT ON s.secret TO ana",
    "GRANT SELECT ON s.secret TO {role}; GRANT SELECT (note) ON s.secret TO {role}"
    " WITH GRANT OPTION; SET ROLE bo; GRANT SELECT (note) ON s.secret TO ana",
    "GRANT {role} TO ana WITH ADMIN OPTION; SET ROLE ana; GRANT {role} TO bo; RESET ROLE;"
    " REVOKE {role} FROM bo",
    "GRANT pg_read_all_data TO {role} WITH ADMIN OPTION; SET ROLE bo;"
    " GRANT pg_read_all_data TO ana",
)
"""Grants by a member of our role, or by its administrator."""


def by_night(cases: Sequence[str | tuple[str, str]], *day: int) -> list[Any]:
    """The cases, all of them nightly except for these."""
    return [
        one
        if number in day
        else pytest.param(*(one if isinstance(one, tuple) else (one,)), marks=pytest.mark.nightly)
        for number, one in enumerate(cases)
    ]


@pytest.fixture
def made(postgres_url: str) -> Iterator[Estate]:
    """A database in which `bo` may read one of two tables, and `ana` may grant her rights."""
    with estate(postgres_url, facts(READS, HIDDEN)) as one:
        with administrator(one.address.url) as own:
            own.execute(THERE)
        one.push()
        yield one


@pytest.fixture
def own(made: Estate) -> Iterator[psycopg.Connection[Any]]:
    with administrator(made.address.url) as connection:
        yield connection


@pytest.fixture
def kept(made: Estate, own: psycopg.Connection[Any]) -> Iterator[Estate]:
    """The same target, of an account without superuser, with the rights of `doctor`."""
    push_all(made.with_facts(facts()))
    url = sa.make_url(made.address.url).set(username=KEEPER, password=None)
    text = url.render_as_string(hide_password=False)
    keeper = sql.Identifier(KEEPER)
    own.execute(sql.SQL("CREATE ROLE {} LOGIN CREATEROLE").format(keeper))
    own.execute(sql.SQL("ALTER DATABASE {} OWNER TO {}").format(_database(own), keeper))
    own.execute(sql.SQL("ALTER SCHEMA s OWNER TO {0}; ALTER TABLE s.orders OWNER TO {0};"
                        " ALTER TABLE s.secret OWNER TO {0}").format(keeper))  # fmt: skip
    one = replace(made, address=Address(text, "pg"))
    one.push()
    try:
        yield one
    finally:
        roles = own.execute("SELECT rolname FROM pg_roles WHERE starts_with(rolname, 'lw_pg_')")
        own.execute("RESET ROLE")
        for (name,) in roles.fetchall():
            own.execute("DROP OWNED BY ana CASCADE")
            own.execute(sql.SQL("DROP OWNED BY {0} CASCADE; DROP ROLE {0}").format(
                sql.Identifier(name)))  # fmt: skip
        own.execute(sql.SQL("REASSIGN OWNED BY {0} TO CURRENT_USER; DROP OWNED BY {0} CASCADE;"
                            " DROP ROLE {0}").format(keeper))  # fmt: skip


def _database(own: psycopg.Connection[Any]) -> sql.Identifier:
    return sql.Identifier(own.info.dbname)


def push_all(made: Estate, last: Roles = NOTHING) -> push.PushPlan:
    """Plans and applies like a session that knows the last push."""
    target = replace(made.target, pushed=as_data(last))
    with connected(made.address) as database:
        database.lock()
        plan = push.plan(database, made.state, target, NOW)
        push.apply(database, plan)
    return plan


def hand_on(own: psycopg.Connection[Any], made: Estate, privilege: str, on: str) -> None:
    """Ana gets it with the grant option, and grants it to the role."""
    at = on.replace("{database}", _database(own).as_string(own))
    name = sql.Identifier(role(made)).as_string(own)
    own.execute(f"GRANT {privilege} {at} TO ana WITH GRANT OPTION; SET ROLE ana;"
                f" GRANT {privilege} {at} TO {name}; RESET ROLE")  # fmt: skip


def given_to_ana(own: psycopg.Connection[Any]) -> int:
    """The number of objects on which she has a right with the grant option."""
    ((count,),) = own.execute(
        "SELECT count(*) FROM (SELECT relacl FROM pg_class UNION ALL SELECT attacl FROM"
        " pg_attribute UNION ALL SELECT nspacl FROM pg_namespace UNION ALL SELECT datacl FROM"
        " pg_database UNION ALL SELECT proacl FROM pg_proc UNION ALL SELECT typacl FROM pg_type"
        " UNION ALL SELECT fdwacl FROM pg_foreign_data_wrapper UNION ALL SELECT srvacl FROM"
        " pg_foreign_server UNION ALL SELECT lomacl FROM pg_largeobject_metadata UNION ALL SELECT"
        " lanacl FROM pg_language) held (acls), aclexplode(acls) acl"
        " WHERE acl.grantee = 'ana'::regrole AND acl.is_grantable"
    ).fetchall()
    return int(count)


def test_what_ana_hands_on_is_named_and_taken_back(
    made: Estate, own: psycopg.Connection[Any]
) -> None:
    """She keeps her rights, and no other right depends on it."""
    before = made.managed_roles()
    for number, (privilege, on) in enumerate(BY_ANA, 1):
        hand_on(own, made, privilege, on)
        found = [(one.kind, one.grant) for one in differences(before, made.managed_roles())]
        assert [kind for kind, _ in found] == [ADDED] * number, on
        for _, named in found:
            assert named is not None
            assert named.privilege.endswith(" GRANTED BY ana")
    assert reads(made, BO, "secret")
    plan = push_all(made)
    assert made.managed_roles() == before
    assert plan.statements[0].text == 'SET LOCAL ROLE "ana"'
    assert given_to_ana(own) == len(BY_ANA)
    assert not reads(made, BO, "secret")
    assert reads(made, BO)


@pytest.mark.parametrize("edit", by_night(HANDED_ON, 1, 2))
def test_what_members_hand_on_goes_with_it(
    made: Estate, own: psycopg.Connection[Any], edit: str
) -> None:
    before = made.managed_roles()
    own.execute(edit.format(role=sql.Identifier(role(made)).as_string(own)) + "; RESET ROLE")
    assert ADDED in {one.kind for one in differences(before, made.managed_roles())}
    push_all(made, before)
    assert made.managed_roles() == before
    assert not reads(made, ANA)
    assert not reads(made, ANA, "secret")
    assert not reads(made, BO, "secret")
    assert reads(made, BO)


def test_the_whole_server_is_looked_at(made: Estate, own: psycopg.Connection[Any]) -> None:
    before, name = made.managed_roles(), sql.Identifier(role(made)).as_string(own)
    edits = (
        f"GRANT SET ON PARAMETER log_statement TO {name}",
        f"GRANT CREATE ON TABLESPACE pg_default TO {name}",
        f"GRANT CONNECT ON DATABASE template1 TO {name}",
    )
    for number, edit in enumerate(edits, 1):
        own.execute(edit)
        assert [one.kind for one in differences(before, made.managed_roles())] == [
            ADDED
        ] * number, edit
    push_all(made)
    assert made.managed_roles() == before


def test_what_was_given_by_an_owner_of_now_makes_the_role_anew(
    made: Estate, own: psycopg.Connection[Any]
) -> None:
    """An account with the owner's rights cannot revoke its own earlier grants."""
    before, name = made.managed_roles(), role(made)
    hand_on(own, made, "SELECT", "ON s.secret")
    own.execute("ALTER ROLE ana SUPERUSER")
    try:
        with connected(made.address) as database:
            assert database.irrevocable(database.managed_roles()).roles.keys() == {name}
            assert any('cannot revoke what "ana"' in one for one in database.warnings())
        push_all(made)
        assert {*made.managed_roles().roles.values()} == {*before.roles.values()}
        assert role(made) == name
        assert not reads(made, BO, "secret")
        assert reads(made, BO)
    finally:
        own.execute("ALTER ROLE ana NOSUPERUSER; DROP OWNED BY ana CASCADE")
        own.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(f"{name}_left1")))


@pytest.mark.nightly
def test_what_an_owner_without_access_gave_makes_the_role_anew(
    made: Estate, own: psycopg.Connection[Any]
) -> None:
    name = role(made)
    hand_on(own, made, "SELECT", "ON s.secret")
    own.execute("REVOKE USAGE ON SCHEMA s FROM ana")
    push_all(made)
    assert not reads(made, BO, "secret")
    assert reads(made, BO)
    own.execute("DROP OWNED BY ana CASCADE")
    own.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(f"{name}_left1")))


def test_an_account_that_may_not_act_as_her_makes_the_role_anew(
    kept: Estate, own: psycopg.Connection[Any]
) -> None:
    before = kept.managed_roles()
    own.execute("CREATE SCHEMA hers AUTHORIZATION ana; CREATE TABLE hers.notes ();"
                " ALTER TABLE hers.notes OWNER TO ana")  # fmt: skip
    edits = [("SELECT (region)", "ON s.secret")]
    for privilege, on in [*edits, ("SELECT", "ON hers.notes")]:
        hand_on(own, kept, privilege, on)
        with connected(kept.address) as database:
            assert database.irrevocable(database.managed_roles()).roles
            assert any('cannot revoke what "ana"' in one for one in database.warnings())
        push_all(kept)
        assert {*kept.managed_roles().roles.values()} == {*before.roles.values()}
        assert not reads(kept, BO, "secret")
        assert reads(kept, BO)
        with connected(kept.address) as database:
            assert not database.warnings()
    left = own.execute(
        "SELECT count(*) FROM pg_roles r WHERE rolname ~ '_left[0-9]+$' AND NOT EXISTS"
        " (SELECT FROM pg_auth_members m WHERE m.roleid = r.oid AND m.member = 'bo'::regrole)"
    ).fetchall()
    assert left == [(len(edits) + 1,)]


def test_one_that_may_revokes_as_her(kept: Estate, own: psycopg.Connection[Any]) -> None:
    own.execute(sql.SQL("GRANT ana TO {} WITH INHERIT FALSE, SET TRUE").format(
        sql.Identifier(KEEPER)))  # fmt: skip
    before = kept.managed_roles()
    hand_on(own, kept, "SELECT", "ON s.secret")
    push_all(kept)
    assert kept.managed_roles() == before
    assert own.execute("SELECT FROM pg_roles WHERE rolname ~ '_left1$'").fetchall() == []
    assert given_to_ana(own) == 1


def test_grants_of_others_that_stay_are_not_adopted(
    made: Estate, own: psycopg.Connection[Any]
) -> None:
    """Such a REVOKE would leave them, or remove dependent ones."""
    own.execute("GRANT SELECT ON s.orders TO bo; GRANT USAGE ON SCHEMA s TO bo;"
                " GRANT SELECT ON s.orders TO ana WITH GRANT OPTION; SET ROLE ana;"
                " GRANT SELECT ON s.orders TO bo; RESET ROLE")  # fmt: skip
    with connected(made.address) as database:
        plan = push.adoption_plan(database, push.plan(database, made.state, made.target, NOW))
        assert plan.adopted == (("bo", Grant(("s",), "USAGE")),)
        push.apply(database, plan)
    assert made.managed_roles() == plan.desired


def test_grants_of_an_account_unknown_to_the_realm_are_not_adopted(
    made: Estate, own: psycopg.Connection[Any]
) -> None:
    """It is not a group: it has all rights of its members itself."""
    own.execute(
        "CREATE ROLE carl LOGIN; CREATE ROLE team; GRANT carl, team TO bo;"
        " GRANT SELECT ON s.orders TO carl, team"
    )
    try:
        with connected(made.address) as database:
            plan = push.adoption_plan(database, push.plan(database, made.state, made.target, NOW))
        assert plan.adopted == (("team", Grant(("s", "orders"), "SELECT")),)
    finally:
        own.execute("DROP OWNED BY carl, team; DROP ROLE carl, team")


# --- masking views ---


@pytest.fixture
def masked(made: Estate, own: psycopg.Connection[Any]) -> Estate:
    """The target, in which `bo` reads a table by a masking view, and has a schema."""
    own.execute("CREATE SCHEMA lib AUTHORIZATION bo")
    one = made.with_facts(facts(READS, HIDDEN, MASK))
    one.push()
    return one


def view_of(made: Estate) -> str:
    (((path,),),) = (list(made.views().values()),)
    return sql.Identifier(*path).as_string(None)


NEEDS = (
    ("VIEW lib.mine AS SELECT * FROM {view}", "SELECT FROM lib.mine"),
    (
        "TABLE lib.mine (one {view}, several {view}[])",
        "INSERT INTO lib.mine SELECT v FROM {view} v",
    ),
    (
        "FUNCTION lib.mine() RETURNS bigint LANGUAGE sql"
        " BEGIN ATOMIC SELECT count(*) FROM {view}; END",
        "SELECT lib.mine()",
    ),
)
"""Changes of a view by `bo`, and how they reveal rows."""


@pytest.mark.parametrize(("needs", "asks"), by_night(NEEDS, 0))
def test_a_view_that_others_need_stays_and_shows_nothing(
    masked: Estate, own: psycopg.Connection[Any], needs: str, asks: str
) -> None:
    view = view_of(masked)
    with masked.as_user(BO) as connection:
        connection.execute(f"CREATE {needs.format(view=view)}")
        assert connection.execute(f"SELECT count(*) FROM {view}").fetchall() == [(4,)]
        own.execute(f"GRANT SELECT ON {view} TO ana, PUBLIC")
        push_all(masked)
        assert masked.managed_roles().roles
        assert view_of_others(own, masked) == [view]
        again = view_of(masked)
        assert again != view
        assert connection.execute(f"SELECT count(*) FROM {again}").fetchall() == [(4,)]
        push_all(masked.with_facts(facts()))
        own.execute("GRANT USAGE ON SCHEMA lw_pg_masked TO bo")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            connection.execute(asks.format(view=view))
    assert not masked.managed_roles().roles
    own.execute(f"DROP SCHEMA lib CASCADE; DROP VIEW {view}")
    push_all(masked)
    push_all(masked.with_facts(facts()))
    assert not own.execute("SELECT FROM pg_namespace WHERE nspname = 'lw_pg_masked'").fetchall()


def view_of_others(own: psycopg.Connection[Any], made: Estate) -> list[str]:
    """The views in our schema that are no longer ours."""
    rows = own.execute(
        "SELECT c.oid::regclass::text FROM pg_class c WHERE relkind = 'v'"
        " AND relnamespace = 'lw_pg_masked'::regnamespace AND obj_description(oid) IS NULL"
    )
    return [name.replace("lw_pg_masked", '"lw_pg_masked"') for (name,) in rows]


def test_a_view_whose_role_was_dropped_stays_and_shows_nothing(
    masked: Estate, own: psycopg.Connection[Any]
) -> None:
    view = view_of(masked)
    name = sql.Identifier(
        next(name for name, one in masked.managed_roles().roles.items() if one.views)
    )
    own.execute(f"SET ROLE bo; CREATE VIEW lib.mine AS SELECT * FROM {view}; RESET ROLE")
    own.execute(f"GRANT SELECT ON {view} TO ana")
    own.execute(sql.SQL("DROP OWNED BY {0}; DROP ROLE {0}").format(name))
    push_all(masked.with_facts(facts()))
    assert view_of_others(own, masked) == [view]
    asked = own.execute("SELECT has_table_privilege('ana', %s, 'SELECT')", [view])
    assert asked.fetchall() == [(False,)]


OTHERS = (
    "FUNCTION lw_pg_masked.f() RETURNS int LANGUAGE sql AS 'SELECT 1'",
    "SEQUENCE lw_pg_masked.n",
    "TABLE lw_pg_masked.t ()",
)


@pytest.mark.parametrize("what", by_night(OTHERS, 0))
def test_a_schema_in_which_others_made_something_stays(
    masked: Estate, own: psycopg.Connection[Any], what: str
) -> None:
    own.execute(f"CREATE {what}")
    push_all(masked.with_facts(facts()))
    assert not masked.managed_roles().roles
    push_all(masked)
    assert masked.managed_roles().roles


WAYS = (
    "GRANT USAGE ON SCHEMA lw_pg_masked TO {role} WITH GRANT OPTION; SET ROLE bo;"
    " GRANT USAGE ON SCHEMA lw_pg_masked TO ana",
    "GRANT USAGE ON SCHEMA lw_pg_masked TO ana WITH GRANT OPTION; SET ROLE ana;"
    " GRANT USAGE ON SCHEMA lw_pg_masked TO {role}",
    "GRANT USAGE ON SCHEMA lw_pg_masked TO ana; GRANT SELECT ON {view} TO ana WITH GRANT"
    " OPTION; SET ROLE ana; GRANT SELECT ON {view} TO {role}",
)


@pytest.mark.parametrize("edit", by_night(WAYS, 0, 1))
@pytest.mark.parametrize("is_over", [False, pytest.param(True, marks=pytest.mark.nightly)])
def test_the_way_to_views_is_of_ours(
    masked: Estate, own: psycopg.Connection[Any], edit: str, is_over: bool
) -> None:
    before, view = masked.managed_roles(), view_of(masked)
    (name,) = (name for name, one in before.roles.items() if one.views)
    own.execute(edit.format(role=sql.Identifier(name).as_string(own), view=view) + "; RESET ROLE")
    assert [*differences(before, masked.managed_roles())]
    after = masked.with_facts(facts(READS, HIDDEN)) if is_over else masked
    plan = push_all(after, before)
    assert after.managed_roles() == plan.desired
    assert is_over or plan.desired == before


def test_default_privileges_that_come_meanwhile_open_no_view(
    made: Estate, own: psycopg.Connection[Any]
) -> None:
    """A view created by a push has only the push's grants."""
    masked = made.with_facts(facts(READS, HIDDEN, MASK))
    with connected(made.address) as database:
        plan = push.plan(database, masked.state, masked.target, NOW)
    own.execute("ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO PUBLIC")
    with pytest.raises(Conflict), connected(made.address) as database:
        push.apply(database, plan)
    push_all(masked)
    acls = own.execute("SELECT relacl::text FROM pg_class WHERE relkind = 'v'"
                       " AND relnamespace = 'lw_pg_masked'::regnamespace").fetchall()  # fmt: skip
    assert len(acls) == 1
    assert ",=r/" not in acls[0][0]
    target = replace(masked.target, pushed=as_data(masked.managed_roles()))
    with connected(masked.address) as database:
        assert not push.drift(database, masked.state, target, NOW).differences
