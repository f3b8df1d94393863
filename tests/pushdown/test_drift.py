"""Changes of a target by others: drift reports them, a push repairs ours, theirs stay."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import psycopg
import pytest
import sqlalchemy as sa
from psycopg import sql

from lakewarden.kernel.errors import Busy, Unavailable
from lakewarden.pushdown import push
from lakewarden.pushdown.drift import ADDED, MISSING, differences, foreign
from lakewarden.pushdown.grants import Grant, Path, Role, Roles
from lakewarden.pushdown.postgresql import connected
from lakewarden.pushdown.push import PushPlan
from lakewarden.testing.world_draft import NOW
from lakewarden.testing.worlds import Size
from tests.pushdown.estate import SIZE, SMALL, STORE, altered, facts_of
from tests.pushdown.limits import limited
from tests.pushdown.postgresql_estate import (
    MAPPING,
    Estate,
    administrator,
    estate,
)

Edit = tuple[str, sql.Composed]


def edits(made: Estate, rng: random.Random) -> Iterator[Edit]:
    """Manual edits of every kind, of our objects (`ours`) and of others (`theirs`)."""
    roles = sorted(made.managed_roles().roles.items())
    users = [made.name(user) for user in made.users()]
    tables = sorted(path for path, one in made.objects().items() if one.type == "table")
    database = str(sa.make_url(made.address.url).database)
    for name, role in roles:
        is_in, is_out = sorted(role.members), sorted({*users} - role.members)
        if is_in:
            yield "ours", sql.SQL("REVOKE {} FROM {}").format(_id(name), _id(rng.choice(is_in)))
        if is_out:
            yield "ours", sql.SQL("GRANT {} TO {}").format(_id(name), _id(rng.choice(is_out)))
        of_tables = sorted(one for one in role.grants if one.level == "table")
        if of_tables:
            one = rng.choice(of_tables)
            yield (
                "ours",
                sql.SQL("REVOKE {} ON {} FROM {}").format(
                    sql.SQL(one.privilege), _id(*one.path), _id(name)
                ),
            )
        new = [path for path in tables if Grant(path, "TRIGGER") not in role.grants]
        if new:
            yield (
                "ours",
                sql.SQL("GRANT TRIGGER, SELECT (region) ON {} TO {}").format(
                    _id(*rng.choice(new)), _id(name)
                ),
            )
        for policy in sorted(role.policies):
            yield (
                "ours",
                sql.SQL("ALTER TABLE {} DISABLE ROW LEVEL SECURITY").format(_id(*policy.path)),
            )
            yield (
                "ours",
                sql.SQL("ALTER POLICY {} ON {} USING (true OR region IS NULL)").format(
                    _id(f"{name}_rows"), _id(*policy.path)
                ),
            )
            yield (
                "ours",
                sql.SQL("ALTER POLICY {} ON {} WITH CHECK (false)").format(
                    _id(f"{name}_{rng.choice(['all', 'rows'])}"), _id(*policy.path)
                ),
            )
        for view in sorted(role.views):
            yield from _of_view(made, view.path, name, rng)
        yield "ours", sql.SQL("GRANT pg_read_all_data TO {}").format(_id(name))
        yield "ours", sql.SQL("ALTER ROLE {} LOGIN").format(_id(name))
        yield from _by_others(name, role, rng.choice(users), rng.choice(tables), database, rng)
    grantor, user = rng.sample(users, 2)
    for path in tables[:1]:
        given = "GRANT SELECT ON {at} TO {by} WITH GRANT OPTION; SET ROLE {by};"
        yield (
            "theirs",
            sql.SQL(f"{given} GRANT SELECT ON {{at}} TO {{to}}").format(
                at=_id(*path), by=_id(grantor), to=_id(user)
            ),
        )
        default = "ALTER DEFAULT PRIVILEGES GRANT SELECT ON TABLES TO {}"
        yield "theirs", sql.SQL(default).format(_id(user))
    for path in tables:
        yield (
            "theirs",
            sql.SQL("GRANT SELECT ON {} TO {}").format(_id(*path), _id(rng.choice(users))),
        )
        yield "theirs", sql.SQL("GRANT DELETE ON {} TO PUBLIC").format(_id(*path))


def _by_others(
    name: str, role: Role, grantor: str, path: Path, database: str, rng: random.Random
) -> Iterator[Edit]:
    """Grants to the role by a grantor who is not the owner, and further grants by its members."""
    objects = {
        "TRIGGER": sql.SQL("TABLE {}").format(_id(*path)),
        "REFERENCES (note)": sql.SQL("TABLE {}").format(_id(*path)),
        "CREATE": sql.SQL("SCHEMA {}").format(_id(path[0])),
        "TEMPORARY": sql.SQL("DATABASE {}").format(_id(database)),
        "USAGE": sql.SQL("SEQUENCE lw_beside.numbers"),
        "EXECUTE": sql.SQL("FUNCTION lw_beside.one()"),
    }
    by, to = _id(grantor), _id(name)
    for what, on in objects.items():
        given = "GRANT {what} ON {on} TO {by} WITH GRANT OPTION; SET ROLE {by};"
        yield (
            "ours",
            sql.SQL(f"{given} GRANT {{what}} ON {{on}} TO {{to}}").format(
                what=sql.SQL(what), on=on, by=by, to=to
            ),
        )
    for member in sorted(role.members - {grantor})[:1]:
        handed = "SET ROLE {member}; GRANT {what} ON {on} TO {by}"
        what = rng.choice(["TRIGGER", "REFERENCES (note)"])
        yield (
            "ours",
            sql.SQL(f"GRANT {{what}} ON {{on}} TO {{to}} WITH GRANT OPTION; {handed}").format(
                what=sql.SQL(what), on=objects[what], by=by, to=to, member=_id(member)
            ),
        )
        administered = "GRANT {to} TO {by} WITH ADMIN OPTION; SET ROLE {by}; GRANT {to} TO {member}"
        gone = "RESET ROLE; REVOKE {to} FROM {member}"
        yield (
            "ours",
            sql.SQL(f"{administered}; {gone}").format(by=by, to=to, member=_id(member)),
        )


def _id(*names: str) -> sql.Identifier:
    return sql.Identifier(*names)


def _of_view(made: Estate, path: Path, role: str, rng: random.Random) -> Iterator[Edit]:
    """Possible changes of a masking view."""
    at, (schema, _) = _id(*rng.choice(made.views()[path])), made.views()[path][0]
    for edit in (
        "ALTER VIEW {at} RESET (security_barrier)",
        "GRANT SELECT ON {at} TO PUBLIC",
        "GRANT INSERT ON {at} TO {role}",
        "GRANT UPDATE (region) ON {at} TO {role}",
        "CREATE OR REPLACE RULE more AS ON INSERT TO {at} DO INSTEAD NOTHING",
        "REVOKE USAGE ON SCHEMA {schema} FROM {role}",
        "GRANT CREATE ON SCHEMA {schema} TO {role}",
    ):
        yield "ours", sql.SQL(edit).format(at=at, role=_id(role), schema=_id(schema))


def check(server: str, seed: int, most: int, size: Size = SIZE) -> int:
    """The number of tried edits, each alone and then all edits of ours together."""
    with estate(server, limited(facts_of(seed, size), seed), store=STORE) as made:
        made.push()
        pushed = made.managed_roles()
        rng = random.Random(seed)
        whole = list(edits(made, rng))
        whole = [*rng.sample(whole[:-2], min(most, len(whole)) - 2), *whole[-2:]]
        with administrator(made.address.url) as connection:
            _is_beside(made, connection)
            for whose, edit in whole:
                connection.execute(edit)
                connection.execute("RESET ROLE")
                _is_named(made, pushed, whose, edit, connection)
                _is_repaired(made, pushed)
            others = {(one.grantee, one.grant) for one in _foreign(made)}
            for whose, edit in whole:
                if whose == "ours":
                    # By then, some have lost the right to grant, or others depend on it.
                    with suppress(
                        psycopg.errors.InsufficientPrivilege,
                        psycopg.errors.DependentObjectsStillExist,
                    ):
                        connection.execute(edit)
                    connection.execute("RESET ROLE")
            others |= _handed_on(made, connection)
        _is_repaired(made, pushed)
        assert {(one.grantee, one.grant) for one in _foreign(made)} == others
        theirs = {(one.grantee, one.grant.privilege) for one in _foreign(made)}
        assert ("PUBLIC", "DELETE") in theirs
        return len(whole)


def _handed_on(made: Estate, connection: psycopg.Connection[Any]) -> set[tuple[str, Grant]]:
    """Grants between users by their own grant option, which a push must not revoke."""
    rows = connection.execute(
        """
        WITH lists AS (
            SELECT oid, NULL AS attname, relacl AS acl FROM pg_class
            UNION ALL SELECT attrelid, attname, attacl FROM pg_attribute
        )
        SELECT n.nspname, c.relname, l.attname, pg_get_userbyid(a.grantee), a.privilege_type
        FROM lists l JOIN pg_class c USING (oid) JOIN pg_namespace n ON n.oid = c.relnamespace
        CROSS JOIN LATERAL aclexplode(l.acl) a
        WHERE pg_get_userbyid(a.grantor) = ANY(%(users)s)
        AND pg_get_userbyid(a.grantee) = ANY(%(users)s)
        """,
        {"users": [made.name(user) for user in made.users()]},
    )
    return {
        (grantee, Grant((schema, table, column) if column else (schema, table), privilege))
        for schema, table, column, grantee, privilege in rows
    }


def _is_beside(made: Estate, connection: psycopg.Connection[Any]) -> None:
    """Objects other than tables, and everybody's access to what they are granted."""
    connection.execute(
        "CREATE SCHEMA lw_beside; CREATE SEQUENCE lw_beside.numbers;"
        " CREATE FUNCTION lw_beside.one() RETURNS int LANGUAGE sql AS 'SELECT 1'"
    )
    schemas = {path[:1] for path in made.objects() if path} | {("lw_beside",)}
    users = sql.SQL(", ").join(_id(made.name(user)) for user in made.users())
    for path in sorted(schemas):
        connection.execute(sql.SQL("GRANT USAGE ON SCHEMA {} TO {}").format(_id(*path), users))


def _is_named(
    made: Estate, before: Roles, whose: str, edit: sql.Composed, connection: psycopg.Connection[Any]
) -> None:
    text = edit.as_string(connection)
    found = list(differences(before, made.managed_roles()))
    if whose == "ours":
        assert found, text
        assert {one.kind for one in found} <= {MISSING, ADDED}
    else:
        assert not found, text
        who, what = text.rpartition(" TO ")[2].strip('"'), text.split()[1]
        what = "SELECT ON TABLES TO COME" if what == "DEFAULT" else what
        assert any(
            one.grantee.replace('"', '""') == who and one.grant.privilege == what
            for one in _foreign(made)
        ), text


def _foreign(made: Estate) -> list[Any]:
    users = frozenset(made.name(user) for user in made.users())
    with connected(made.address) as database:
        return list(
            foreign(
                database.holdings(), users, database.managed_roles().holders(), MAPPING.engine.acts
            )
        )


def _is_repaired(made: Estate, pushed: Roles) -> None:
    made.push(pushed)
    assert made.managed_roles() == pushed


def test_hand_edits_are_named_and_repaired(postgres_url: str) -> None:
    assert check(postgres_url, 2, 12, SMALL) > 10


def dies_after(made: Estate, plan: PushPlan, count: int) -> None:
    """A push whose connection is closed after so many statements."""

    def push_that_dies() -> None:
        with administrator(made.address.url) as other, connected(made.address) as database:
            database.execute(plan.statements[:count])
            other.execute("SELECT pg_terminate_backend(%s, 60000)", [database.process])
            database.execute(plan.statements[count:])

    with pytest.raises(Unavailable):
        push_that_dies()


def check_deaths(server: str, seed: int, tries: int, size: Size = SIZE) -> None:
    """If a push dies at any statement, the target is unchanged, and the next push succeeds."""
    facts = limited(facts_of(seed, size), seed)
    with estate(server, facts, store=STORE) as made:
        made.push()
        other = made.with_facts(altered(facts, seed))
        before = made.managed_roles()
        with connected(made.address) as database:
            plan = push.plan(database, other.state, made.target, NOW)
        assert plan.statements
        rng = random.Random(seed)
        for _ in range(tries):
            dies_after(made, plan, rng.randrange(len(plan.statements)))
            assert made.managed_roles() == before
        with connected(made.address) as database:
            push.apply(database, plan)
        assert made.managed_roles() == plan.desired


def test_a_push_that_dies_changes_nothing(postgres_url: str) -> None:
    check_deaths(postgres_url, 2, 3, SMALL)


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(2, 7))
def test_pushes_that_die_anywhere_change_nothing(postgres_url: str, seed: int) -> None:
    check_deaths(postgres_url, seed, 100)


def test_of_two_pushers_one_is_refused(postgres_url: str) -> None:
    with estate(postgres_url, facts_of(2)) as made, connected(made.address) as first:
        with connected(made.address) as looking:
            looking.require_free()
            looking.begin_snapshot()
            first.lock()  # a read-only session holds no lock
        for act in ("lock", "require_free"):
            with connected(made.address) as second, pytest.raises(Busy, match="another push"):
                getattr(second, act)()


@pytest.mark.nightly
@pytest.mark.parametrize("seed", range(100, 160))
def test_hand_edits_of_many_worlds_are_named_and_repaired(postgres_url: str, seed: int) -> None:
    check(postgres_url, seed, 100)
