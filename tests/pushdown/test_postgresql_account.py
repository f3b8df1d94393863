"""The rights that `doctor` requires suffice for an account without superuser, and are needed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa
from psycopg import sql

from lakewarden.kernel.errors import BadInput
from lakewarden.pushdown import push
from lakewarden.pushdown.address import Address
from lakewarden.pushdown.plan import Act
from lakewarden.pushdown.postgresql import connected
from lakewarden.testing.world_draft import NOW
from tests.pushdown.estate import SMALL, altered, facts_of
from tests.pushdown.limits import limited
from tests.pushdown.postgresql_estate import Estate, administrator, estate

SEED = 3
KEEPER, APP = "lw-keeper", "lw app"
RIGHTS = ("CREATEROLE", "OWNER TO", "GRANT")


@pytest.fixture
def made(postgres_url: str) -> Iterator[Estate]:
    """A database of an application's account, and an account that pushes, without rights so far."""
    with estate(postgres_url, limited(facts_of(SEED, SMALL), SEED)) as one:
        url = sa.make_url(one.address.url).set(username=KEEPER, password=None)
        own = replace(one, address=Address(url.render_as_string(hide_password=False), "pg"))
        with administrator(one.address.url) as admin:
            execute(admin, "CREATE ROLE {} LOGIN", KEEPER)
            execute(admin, "CREATE ROLE {}", APP)
            execute(admin, "GRANT CONNECT ON DATABASE {} TO {}", admin.info.dbname, KEEPER)
            for path in sorted(own.objects()):
                kind = {1: "SCHEMA", 2: "TABLE"}.get(len(path))
                if kind is not None:
                    execute(admin, f"ALTER {kind} {{}} OWNER TO {{}}", path, APP)
            try:
                yield own
            finally:
                for role in one.managed_roles().roles:
                    execute(admin, "DROP OWNED BY {0} CASCADE", role)
                    execute(admin, "DROP ROLE {}", role)
                for role in (KEEPER, APP):
                    execute(admin, "REASSIGN OWNED BY {} TO CURRENT_USER", role)
                    execute(admin, "DROP OWNED BY {} CASCADE", role)
                    execute(admin, "DROP ROLE {}", role)


def execute(admin: psycopg.Connection[Any], text: str, *names: str | tuple[str, ...]) -> None:
    parts = [sql.Identifier(*((one,) if isinstance(one, str) else one)) for one in names]
    admin.execute(sql.SQL(text).format(*parts))


def superuser(made: Estate) -> psycopg.Connection[Any]:
    url = sa.make_url(made.address.url).set(username="postgres")
    return administrator(url.render_as_string(hide_password=False))


def gives(admin: psycopg.Connection[Any]) -> list[tuple[str, tuple[str, ...]]]:
    """The output of `doctor`, one statement for each missing right."""
    return [
        ("ALTER ROLE {} CREATEROLE", (KEEPER,)),
        ("ALTER DATABASE {} OWNER TO {}", (admin.info.dbname, KEEPER)),
        ("GRANT {} TO {}", (APP, KEEPER)),
    ]


def test_the_rights_that_it_asks_for_are_enough_and_each_is_needed(made: Estate) -> None:
    with superuser(made) as admin:
        asked = [words for one in made.missing_rights() for words in RIGHTS
                 if words in one.partition(": ")[2]]  # fmt: skip
        assert asked == [*RIGHTS]
        # It requires no rights outside the catalog.
        for kind, name in (("SCHEMA", ("beside",)), ("TABLE", ("beside", "notes"))):
            execute(admin, f"CREATE {kind} {{}}" + " ()" * (kind == "TABLE"), name)
        assert len(made.missing_rights()) == len(asked)
        for given, (text, names) in enumerate(gives(admin)):
            assert len(made.missing_rights()) == len(asked) - given
            with pytest.raises(BadInput, match=r"permission denied|must be"):
                made.push()
            execute(admin, text, *names)
        assert made.missing_rights() == []
    with connected(made.address) as database:
        assert database.warnings() == []
        plan = push.plan(database, made.state, made.target, NOW)
        assert {Act.ADD_POLICY, Act.ADD_VIEW, Act.ADD_MEMBER, Act.GRANT} <= {
            step.act for step in plan.steps
        }
        push.apply(database, plan)
    other = made.with_facts(altered(limited(facts_of(SEED, SMALL), SEED), SEED))
    assert other.push()[1] > 0
    assert other.push()[1] == 0
    with connected(made.address) as database:
        push.apply(database, push.reset_plan(database, made.target))
    assert not made.managed_roles().roles


def member_edits(made: Estate) -> list[str]:
    """Possible changes of our role by a superuser that the account cannot undo."""
    (name, role), *_ = sorted(made.managed_roles().roles.items())
    of = sql.Identifier(name).as_string(None)
    there, beside = (
        sql.Identifier(one).as_string(None)
        for one in (
            min(role.members),
            min({made.name(user) for user in made.users()} - role.members),
        )
    )
    return [
        f"GRANT {of} TO {beside}",
        f"GRANT {of} TO {beside} WITH ADMIN TRUE, INHERIT FALSE",
        f"GRANT {of} TO {there} WITH SET TRUE",
        f"GRANT pg_read_all_data TO {of}",
        f'GRANT "{APP}" TO {of}; GRANT {of} TO {beside}',
    ]


def _left_beside(made: Estate, admin: psycopg.Connection[Any]) -> None:
    """A role with other dependent objects of the server remains, without our grants."""
    name, before = min(made.managed_roles().roles), made.managed_roles()
    role = sql.Identifier(name).as_string(None)
    admin.execute(f"GRANT SET ON PARAMETER log_statement TO {role}; {member_edits(made)[3]}")
    with connected(made.address) as database:
        push.apply(database, push.plan(database, made.state, made.target, NOW))
    assert {*made.managed_roles().roles.values()} == {*before.roles.values()}
    members = admin.execute(
        "SELECT rolname FROM pg_auth_members JOIN pg_roles r ON r.oid = member"
        " WHERE roleid = %s::regrole AND rolname <> %s",
        [f'"{name}_left1"', KEEPER],
    ).fetchall()
    assert members == []
    admin.execute(f'DROP OWNED BY "{name}_left1"; DROP ROLE "{name}_left1"')


@pytest.mark.nightly  # by day test_postgresql_grantors.py
def test_what_a_superuser_adds_to_a_role_is_taken_back(made: Estate) -> None:
    """The role is recreated: the account cannot revoke a superuser's grants."""
    with superuser(made) as admin:
        for text, names in gives(admin):
            execute(admin, text, *names)
        made.push()
        before = made.managed_roles()
        for number in range(len(member_edits(made))):
            edit = member_edits(made)[number]
            admin.execute(edit)
            assert made.managed_roles() != before, edit
            with connected(made.address) as database:
                assert database.irrevocable(database.managed_roles()).roles, edit
                push.apply(database, push.plan(database, made.state, made.target, NOW))
                assert {*database.managed_roles().roles.values()} == {*before.roles.values()}, edit
                assert not database.irrevocable(database.managed_roles()).roles, edit
        _left_beside(made, admin)
        for edit in member_edits(made):
            admin.execute(edit)
        other = made.with_facts(altered(limited(facts_of(SEED, SMALL), SEED), SEED))
        assert other.push()[1] > 0
        assert other.push()[1] == 0
        for edit in member_edits(other):
            admin.execute(edit)
        with connected(made.address) as database:
            push.apply(database, push.reset_plan(database, made.target))
            assert not database.managed_roles().roles
