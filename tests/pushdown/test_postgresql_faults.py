"""Faults during a push: the target keeps its state, and the error states the cause."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from dataclasses import replace

import psycopg
import pytest
import sqlalchemy as sa
from psycopg import sql

from lakewarden.kernel.errors import BadInput, StaleSnapshot, Unavailable, WardenError
from lakewarden.pushdown import push
from lakewarden.pushdown.address import Address
from lakewarden.pushdown.desired_state import desired_roles
from lakewarden.pushdown.drift import ADDED, MISSING, differences
from lakewarden.pushdown.grants import Path
from lakewarden.pushdown.plan import Act
from lakewarden.pushdown.postgresql import connected
from lakewarden.pushdown.push import PushPlan
from lakewarden.pushdown.statement import Statement
from lakewarden.service.system import load_system
from lakewarden.testing.world_draft import NOW
from tests.pushdown.estate import SMALL, facts_of, state_of
from tests.pushdown.frozen_process import frozen
from tests.pushdown.limits import limited
from tests.pushdown.postgresql_estate import (
    MAPPING,
    Estate,
    administrator,
    estate,
)

SEED = 3


@pytest.fixture
def made(postgres_url: str) -> Iterator[Estate]:
    """A target before its first push, with pending filters and masks."""
    with estate(postgres_url, limited(facts_of(SEED, SMALL), SEED)) as one:
        yield one


def planned(made: Estate) -> PushPlan:
    with connected(made.address) as database:
        plan = push.plan(database, made.state, made.target, NOW)
    acts = {step.act for step in plan.steps}
    assert {Act.ADD_POLICY, Act.ADD_VIEW, Act.GRANT} <= acts
    return plan


def fails(made: Estate, plan: PushPlan, error: type[WardenError], says: str) -> None:
    """The push ends with that error, and has no effect."""
    with pytest.raises(error, match=says), connected(made.address, timeout_s=1) as database:
        push.apply(database, plan)
    assert not made.managed_roles().roles
    assert not made.views()


def limited_tables(plan: PushPlan) -> list[Path]:
    """The tables that get row policies, in order."""
    return [step.policy.path for step in plan.steps if step.policy is not None]


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://ops:pa/geheim@127.0.0.1:1/d",
        "postgresql://ops:p@geheim@127.0.0.1:1/d",
        "postgresql://ops:p%zzgeheim@127.0.0.1:1/d",
        "postgresql://ops:geheim@[127.0.0.1/d",
        "postgresql+psycopg2://ops:geheim@127.0.0.1:1/d",
    ],
)
def test_an_address_that_cannot_be_read_is_not_repeated(url: str) -> None:
    """It contains a password, and errors appear in API responses, in logs and with targets."""
    with pytest.raises((BadInput, Unavailable)) as refused, connected(Address(url, "pg")):
        pass
    assert "geheim" not in str(refused.value)
    is_read = url.startswith("postgresql+")
    assert isinstance(refused.value, Unavailable if is_read else BadInput)


def test_an_old_server_is_refused_with_the_version_that_a_push_needs(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(psycopg.ConnectionInfo, "server_version", 150_018)
    needs = "is PostgreSQL 15: a push needs PostgreSQL 16 or newer"
    with pytest.raises(BadInput, match=needs), connected(Address(postgres_url, "pg")):
        pass


def test_a_server_that_is_frozen(made: Estate) -> None:
    """The push waits once, for the statement timeout."""
    with (
        pytest.raises(Unavailable, match="no response within 2 seconds"),
        connected(made.address, timeout_s=1, answer_s=1) as database,
        frozen(database.process),
    ):
        database.managed_roles()
    assert not made.managed_roles().roles


def test_a_statement_that_takes_too_long(made: Estate) -> None:
    with (
        pytest.raises(Unavailable, match="statement timeout"),
        connected(made.address, answer_s=1) as database,
    ):
        database.execute([Statement("wait", "SELECT pg_sleep(60)")])


def test_a_database_for_reading_only(made: Estate) -> None:
    plan = planned(made)
    with administrator(made.address.url) as own:
        name = sql.Identifier(own.info.dbname)
        own.execute(
            sql.SQL("ALTER DATABASE {} SET default_transaction_read_only = on").format(name)
        )
        fails(made, plan, Unavailable, "read-only")
        own.execute("SET default_transaction_read_only = off")
        own.execute(sql.SQL("ALTER DATABASE {} RESET default_transaction_read_only").format(name))
    made.push()


def test_a_table_that_somebody_locks(made: Estate) -> None:
    plan = planned(made)
    with administrator(made.address.url) as own, own.transaction():
        own.execute(_locking(limited_tables(plan)[0]))
        fails(made, plan, Unavailable, "lock timeout")
    made.push()


def _locking(path: Path) -> sql.Composed:
    return sql.SQL("LOCK TABLE {} IN ACCESS EXCLUSIVE MODE").format(sql.Identifier(*path))


def test_a_deadlock(made: Estate) -> None:
    plan = planned(made)
    first, *_, last = dict.fromkeys(limited_tables(plan))
    locking = f"ALTER TABLE {sql.Identifier(*first).as_string()} "
    until = [one.text.startswith(locking) for one in plan.statements].index(True) + 1

    def push_beside(waiting: threading.Thread) -> None:
        with connected(made.address) as database:
            database.execute(plan.statements[:until])
            waiting.start()
            database.execute(plan.statements[until:])

    with administrator(made.address.url) as own, own.transaction():
        own.execute("SET LOCAL deadlock_timeout = '1h'")
        own.execute(_locking(last))
        waiting = threading.Thread(target=lambda: own.execute(_locking(first)))
        with pytest.raises(Unavailable, match="deadlock"):
            push_beside(waiting)
        waiting.join()
    assert not made.managed_roles().roles
    made.push()


def test_a_disk_that_is_full(made: Estate) -> None:
    plan = planned(made)
    with administrator(made.address.url) as own:
        own.execute(
            "CREATE FUNCTION public.full_disk() RETURNS event_trigger LANGUAGE plpgsql AS"
            " $$ BEGIN RAISE 'no space left on device' USING ERRCODE = 'disk_full'; END $$;"
            " CREATE EVENT TRIGGER full_disk ON ddl_command_end WHEN TAG IN ('CREATE VIEW')"
            " EXECUTE FUNCTION public.full_disk()"
        )
        fails(made, plan, Unavailable, "no space left")
        own.execute("DROP EVENT TRIGGER full_disk")
    made.push()


def test_an_account_that_lacks_rights(made: Estate) -> None:
    """It can create roles, but does not own the objects to grant."""
    plan = planned(made)
    url = sa.make_url(made.address.url).set(username="lw-keeper", password=None)
    keeper = replace(made, address=Address(url.render_as_string(hide_password=False), "pg"))
    with administrator(made.address.url) as own:
        own.execute('CREATE ROLE "lw-keeper" LOGIN CREATEROLE')
        own.execute(
            sql.SQL('GRANT ALL ON DATABASE {} TO "lw-keeper"').format(
                sql.Identifier(own.info.dbname)
            )
        )
        try:
            fails(keeper, plan, BadInput, "must be owner|permission denied")
            assert len(keeper.missing_rights()) == 2
        finally:
            own.execute('DROP OWNED BY "lw-keeper"; DROP ROLE "lw-keeper"')


def test_a_schema_of_our_name_that_is_not_ours(made: Estate) -> None:
    plan = planned(made)
    with administrator(made.address.url) as own:
        own.execute("CREATE SCHEMA lw_pg_masked")
        with connected(made.address) as database:
            other = push.plan(database, made.state, made.target, NOW)
        assert any("was not created by lakewarden" in residue.why for residue in other.residues)
        assert Act.ADD_VIEW not in {step.act for step in other.steps}
        fails(made, plan, BadInput, "already exists")
        own.execute("DROP SCHEMA lw_pg_masked")
    made.push()


def test_a_realm_whose_setting_is_off(made: Estate) -> None:
    off = replace(made.state, system=load_system("gravitino", {}))
    with (
        connected(made.address) as database,
        pytest.raises(BadInput, match=r"`on`.*a reset of `pg`"),
    ):
        push.plan(database, off, made.target, NOW)


def test_a_clock_that_is_set_back(made: Estate) -> None:
    """A realm that was compiled for a later time is not valid now."""
    facts = limited(facts_of(SEED, SMALL), SEED)
    later = replace(
        facts, statements=[replace(one, valid_from=NOW - 10) for one in facts.statements]
    )
    with connected(made.address) as database, pytest.raises(StaleSnapshot):
        desired_roles(state_of(later, made.kind), MAPPING, made.scope, database.objects(), NOW - 20)


def test_columns_that_come_and_go_are_not_opened(made: Estate) -> None:
    """A masking view has the planned columns, until the next push."""
    made.push()
    path, views = next((path, views) for path, views in sorted(made.views().items())
                       if made.objects()[path].type == "table")  # fmt: skip
    table, before = sql.Identifier(*path), made.managed_roles()
    with administrator(made.address.url) as own:
        own.execute(sql.SQL("ALTER TABLE {} ADD COLUMN secret text DEFAULT 'x'").format(table))
        assert made.managed_roles() == before
        for view in views:
            seen = own.execute(sql.SQL("SELECT * FROM {}").format(sql.Identifier(*view)))
            assert "secret" not in [column.name for column in seen.description or ()]
        with pytest.raises(psycopg.errors.DependentObjectsStillExist):
            own.execute(sql.SQL("ALTER TABLE {} DROP COLUMN mail").format(table))
        own.execute(sql.SQL("ALTER TABLE {} DROP COLUMN mail CASCADE").format(table))
        lost = list(differences(before, made.managed_roles()))
        assert {one.kind for one in lost if one.view is not None} == {MISSING}
        assert not set(views) & set(made.views().get(path, ()))
        made.push(before)
        for view in made.views()[path]:
            seen = own.execute(sql.SQL("SELECT * FROM {}").format(sql.Identifier(*view)))
            names = [column.name for column in seen.description or ()]
            assert ("secret" in names, "mail" in names) == (True, False)


def test_a_way_to_views_that_others_gave_does_not_count(made: Estate) -> None:
    """The push revokes it, so it grants the role its own access again."""
    made.push()
    before = made.managed_roles()
    name = next(name for name, role in before.roles.items() if role.views)
    role = sql.Identifier(name)
    with administrator(made.address.url) as own:
        own.execute(sql.SQL("REVOKE USAGE ON SCHEMA lw_pg_masked FROM {}").format(role))
        own.execute(sql.SQL("GRANT pg_read_all_data TO {}").format(role))
    assert {one.kind for one in differences(before, made.managed_roles())} == {ADDED, MISSING}
    made.push(before)
    assert made.managed_roles() == before


def test_a_view_that_somebody_took_over_is_replaced(made: Estate) -> None:
    """Without its comment it is no longer ours: it stays, and our role reads a new one."""
    made.push()
    before = made.managed_roles()
    ((view, *_), *_) = made.views().values()
    with administrator(made.address.url) as own:
        own.execute(sql.SQL("COMMENT ON VIEW {} IS NULL").format(sql.Identifier(*view)))
        own.execute("ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO PUBLIC")
        made.push(before)
        assert made.managed_roles() == before
        (left,) = own.execute(
            "SELECT relacl::text FROM pg_class WHERE relname = %s", [view[1]]
        ).fetchone() or [""]
        assert "lw_pg" not in left
        open_to_all = own.execute(
            "SELECT relname FROM pg_class c, aclexplode(relacl) acl"
            " WHERE relnamespace = 'lw_pg_masked'::regnamespace AND acl.grantee = 0"
        )
        assert not open_to_all.fetchall()
        own.execute(sql.SQL("DROP VIEW {}").format(sql.Identifier(*view)))
        with connected(made.address) as database:
            push.apply(database, push.reset_plan(database, made.target))
        assert not own.execute(
            "SELECT 1 FROM pg_namespace WHERE nspname = 'lw_pg_masked'"
        ).fetchall()
