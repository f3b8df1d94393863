"""Masking views of a real MariaDB and a real MySQL: their readers and rows in all situations."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

import pymysql
import pytest
import sqlalchemy as sa

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.principal import USER, Principal, members_of
from lakewarden.kernel.relations import EntityRow, Facts, MembershipRow
from lakewarden.kernel.statement import Effect, On, Statement
from lakewarden.pushdown import push
from lakewarden.pushdown.address import Address
from lakewarden.pushdown.drift import ADDED, MISSING, Difference, differences
from lakewarden.pushdown.grants import MASKED_READ, Path, as_data
from lakewarden.pushdown.mariadb import connected
from lakewarden.pushdown.mariadb_names import object_sql, quoted
from lakewarden.pushdown.masking_views import NAME_DIGITS
from lakewarden.testing.world_draft import NOW
from tests.pushdown.estate import COLUMN_ORDER, STORE, altered, facts_of
from tests.pushdown.limits import limited, masks_of, rows_left
from tests.pushdown.mariadb_acts import may, places
from tests.pushdown.mariadb_estate import (
    Connection,
    MariadbEstate,
    administrator,
    estate,
    execute,
)
from tests.pushdown.test_mariadb import cut

VIEWS = "lw_pg_masked"
SERVERS = ("mariadb_url", pytest.param("mysql_url", marks=pytest.mark.nightly))
DAY, NIGHT = (13, 16), range(400, 700)


@pytest.fixture(params=SERVERS)
def server(request: pytest.FixtureRequest) -> str:
    """A real server of each kind; MySQL nightly, except for one world by day."""
    url: str = request.getfixturevalue(request.param)
    return url


# --- rows and cells of random worlds ---


def check_rows(server: str, seed: int) -> Counter[str]:
    """A reader of a table sees exactly the rows and values that filters and masks leave."""
    counts: Counter[str] = Counter()
    with estate(server, limited(facts_of(seed), seed), store=STORE) as made:
        made.push()
        assert made.push()[1] == 0
        held, views = made.managed_roles(), made.views()
        for user in made.users():
            counts += _compare_rows(made, user, made.held_privileges(user, held), views)
    return counts


def _compare_rows(
    made: MariadbEstate,
    user: Principal,
    privileges: set[tuple[Path, str]],
    views: Mapping[Path, list[Path]],
) -> Counter[str]:
    counts: Counter[str] = Counter()
    tables = {path: one for path, one in made.objects().items() if one.type == "table"}
    with made.as_user(user) as own:
        for path, table in tables.items():
            ways = [one for one in (path, *views.get(path, ())) if may(own, _select(one))]
            is_masked = (path, MASKED_READ) in privileges
            granted = [path] if (path, "SELECT") in privileges else []
            assert len(ways) == len(granted) + is_masked, (user, table)
            for way in ways:
                assert (way == path) != is_masked
                seen = execute(own, _select(way))
                expected = rows_left(made, user, table)
                assert sorted(seen, key=str) == sorted(expected, key=str), (user, table)
                counts["masked"] += bool(masks_of(made, user, table))
                counts[f"{len(seen)} rows"] += 1
    return counts


def _select(path: Path) -> str:
    return f"SELECT {', '.join(COLUMN_ORDER)} FROM {places(path)[0]}"


def test_people_see_what_filters_and_masks_leave(mariadb_url: str) -> None:
    counts = sum((check_rows(mariadb_url, seed) for seed in DAY), Counter())
    assert counts["masked"] > 5, counts
    assert counts["1 rows"] + counts["2 rows"] > 5, counts


@pytest.mark.nightly
def test_people_see_what_filters_and_masks_leave_in_mysql(mysql_url: str) -> None:
    assert sum(check_rows(mysql_url, DAY[0]).values()) > 5


@pytest.mark.nightly
@pytest.mark.parametrize("seed", NIGHT)
def test_people_see_what_filters_and_masks_leave_in_many_worlds(server: str, seed: int) -> None:
    check_rows(server, seed)


# --- a small world ---

TOP = (Entity("metalake", "lk"), Entity("catalog", "lk:c"), Entity("schema", "lk:c.sales"))
ORDERS, PLACES = Entity("table", "lk:c.sales.orders"), Entity("table", "lk:c.sales.places")
IBAN = Entity("column", f"{ORDERS.name}.iban")
ANA, BO, CLEO = (Principal(USER, name) for name in ("ana", "bo", "cleo"))
ALL = frozenset((ANA, BO, CLEO))


def small(*more: Statement, mask: str = "last4", where: str = "region = 'eu'") -> Facts:
    """Ana may read orders of `eu` with masked IBANs, Bo masked ones of all regions, Cleo all."""
    return Facts(
        entities=[
            *(EntityRow(one, above) for one, above in zip(TOP, (None, *TOP), strict=False)),
            *(EntityRow(one, TOP[-1]) for one in (ORDERS, PLACES)),
            EntityRow(IBAN, ORDERS),
        ],
        principals=[*ALL],
        memberships=[MembershipRow(one, members_of("lk")) for one in ALL],
        statements=[
            Statement("read", Effect.ALLOW,
                      frozenset({"USE_CATALOG", "USE_SCHEMA", "SELECT_TABLE"}), On(TOP[1]), ALL),
            Statement("rows", Effect.FILTER, frozenset(), On(ORDERS), frozenset({ANA}),
                      expression=where),
            Statement("iban", Effect.MASK, frozenset(), On(IBAN), frozenset({ANA, BO}),
                      expression=mask),
            *more,
        ],
    )  # fmt: skip


@pytest.fixture
def made(server: str) -> Iterator[MariadbEstate]:
    """The small world, pushed."""
    with estate(server, small()) as made:
        made.push()
        yield made


def view_of(made: MariadbEstate, user: Principal) -> str:
    """The view by which a user reads orders, as in statements."""
    with made.as_user(user) as own:
        (name,) = (one for one in made.views()[("sales", "orders")] if may(own, _select(one)))
    return places(name)[0]


def seen(made: MariadbEstate, user: Principal) -> list[tuple[Any, ...]]:
    with made.as_user(user) as own:
        return execute(own, f"SELECT region, iban FROM {view_of(made, user)}")


def test_views_are_read_and_their_tables_are_not(made: MariadbEstate) -> None:
    assert seen(made, ANA) == [("eu", "****3000")]
    assert ("us", "****") in seen(made, BO)
    for user in (ANA, BO):
        own = view_of(made, user)
        with made.as_user(user) as connection:
            assert not may(connection, "SELECT 1 FROM sales.orders")
            assert may(connection, "SELECT 1 FROM sales.places")
            for statement in (
                f"SHOW CREATE VIEW {own}",
                f"UPDATE {own} SET region = 'us'",
                f"DELETE FROM {own}",
                f"INSERT INTO {own} (region) VALUES ('us')",
                f"SELECT * FROM {VIEWS}.lakewarden",
                f"DROP VIEW {own}",
            ):
                assert not may(connection, statement), statement
            with pytest.raises(pymysql.MySQLError, match="lacking privileges"):
                execute(connection, f"EXPLAIN SELECT * FROM {own}")
            shown = execute(
                connection,
                "SELECT TABLE_NAME, VIEW_DEFINITION FROM information_schema.VIEWS"
                f" WHERE TABLE_SCHEMA = '{VIEWS}'",
            )
            assert {text for _, text in shown} == {""}
    with made.as_user(CLEO) as connection:
        assert may(connection, "SELECT 1 FROM sales.orders")
        assert not may(connection, f"SELECT 1 FROM {view_of(made, ANA)}")


MODES = (
    "",
    "ANSI_QUOTES,PIPES_AS_CONCAT,NO_BACKSLASH_ESCAPES,HIGH_NOT_PRECEDENCE",
    "ORACLE",
)


CONDITIONS = ("note + 0 = 5", "note > '' AND note + 0 = 5 AND note < 'zzz'")
"""The server issues warnings about values that they cannot convert."""


def test_hidden_rows_are_not_told_by_conditions_or_sessions(made: MariadbEstate) -> None:
    """A condition that warns about each value must not see values of hidden rows."""
    own = view_of(made, ANA)
    with administrator(made.address.url) as admin, made.as_user(ANA) as connection:
        execute(admin, "CREATE INDEX found ON sales.orders (note)")
        execute(admin, "INSERT INTO sales.orders (region, note) VALUES ('us', 'hidden')")
        ((is_mariadb,),) = execute(admin, "SELECT VERSION() LIKE '%MariaDB%'")
        for mode in MODES if is_mariadb else MODES[:-1]:
            execute(connection, f"SET SESSION sql_mode = '{mode}'")
            execute(connection, "SET NAMES latin1")
            execute(connection, "SET SESSION time_zone = '-12:00'")
            for where in CONDITIONS:
                assert "hidden" in warned(admin, f"SELECT 1 FROM sales.orders WHERE {where}")
                assert "hidden" not in warned(connection, f"SELECT 1 FROM {own} WHERE {where}")
            rows = execute(connection, f"SELECT region, iban FROM {own}")
            assert rows == [("eu", "****3000")]


def warned(connection: Connection, statement: str) -> str:
    execute(connection, statement)
    return str(execute(connection, "SHOW WARNINGS"))


def test_a_changed_mask_keeps_the_name_of_the_view(made: MariadbEstate) -> None:
    before, name = made.managed_roles(), view_of(made, BO)
    made.with_facts(small(mask="redact")).push(before)
    assert view_of(made, BO) == name
    assert ("us", "****") in seen(made, BO)
    assert seen(made, ANA) == [("eu", "****")]


def test_an_attribute_of_a_user_is_a_constant_of_their_view(server: str) -> None:
    with estate(server, small(where="region = $user.name or note = 'it''s'")) as made:
        made.push()
        assert {row[0] for row in seen(made, ANA)} == {"eu", None}


NAMES = (
    *("orders", "Orders", "a`b", "a.b", "%s", "{}", "'", '"', "\\", "--", "/*", "a b", "ünï"),
    *("x" * 64, "x" * 63 + "y", "%" * 40, "山" * 40),
)
QUOTED = "region = 'eu' or note in ('it''s', '\\', '%s', '\"', '`') or note like '%!_' escape '!'"


def hostile() -> Facts:
    """Ana may read tables with hostile names, with a filter with hostile texts."""
    schema = Entity("schema", "lk:c.Sales %_`")
    tables = [Entity("table", f"{schema.name}.{name}") for name in NAMES]
    facts = small()
    limit = Statement("all", Effect.FILTER, frozenset(), On(schema), frozenset({ANA}),
                      expression=QUOTED)  # fmt: skip
    return replace(
        facts,
        entities=[
            *facts.entities,
            EntityRow(schema, TOP[1]),
            *(EntityRow(one, schema) for one in tables),
        ],
        statements=[*facts.statements, limit],
    )


def test_hostile_names_are_exact(server: str) -> None:
    with estate(server, hostile()) as made:
        made.push()
        counts = _compare_rows(made, ANA, made.held_privileges(ANA), made.views())
        assert counts["2 rows"] == len(NAMES), counts


# --- changes by others ---


def edits(made: MariadbEstate) -> Iterator[tuple[set[str], str]]:
    """Possible changes of a view by others, and whether they are reported as removed or added."""
    own, ours = view_of(made, ANA), quoted(role_of(made, ANA))
    both = {ADDED, MISSING}
    text = "SELECT * FROM sales.orders"
    yield {MISSING}, f"DROP VIEW {own}"
    yield {MISSING}, f"REVOKE SELECT ON {own} FROM {ours}"
    yield both, f"ALTER SQL SECURITY INVOKER VIEW {own} AS {text}"
    yield both, f"CREATE OR REPLACE VIEW {own} AS {text}"
    yield both, f"CREATE OR REPLACE DEFINER = stranger VIEW {own} AS {text}"
    yield both, f"GRANT SELECT ON {own} TO stranger"
    yield both, f"GRANT SELECT (iban) ON {own} TO readers"
    yield {ADDED}, f"GRANT INSERT ON {own} TO {ours}"
    yield {ADDED}, f"GRANT SELECT ON {VIEWS}.* TO {ours}"
    yield {ADDED}, f"GRANT SELECT ON {VIEWS}.lakewarden TO {ours}"
    yield {ADDED}, f"GRANT SELECT ON {view_of(made, BO)} TO {ours}"
    yield {MISSING}, f"DELETE FROM {VIEWS}.lakewarden WHERE name = {_text(own)}"


def _text(own: str) -> str:
    return f"'{own.split('`')[3]}'"


def role_of(made: MariadbEstate, user: Principal) -> str:
    (name,) = (
        name
        for name, role in made.managed_roles().roles.items()
        if role.views and user.name in role.members
    )
    return name


def test_what_others_change_is_named_and_repaired(made: MariadbEstate) -> None:
    before = made.managed_roles()
    with administrator(made.address.url) as admin:
        execute(admin, "CREATE USER stranger")
        execute(admin, "CREATE ROLE readers")
        for kinds, edit in edits(made):
            execute(admin, edit)
            found = list(differences(before, made.managed_roles()))
            assert {one.kind for one in found} >= kinds, edit
            made.push(before)
            assert made.managed_roles() == before, edit
            assert seen(made, ANA) == [("eu", "****3000")]
        _reset(made)
        assert (VIEWS,) in execute(admin, "SHOW DATABASES")  # a view without its note is theirs
        execute(admin, f"DROP DATABASE {VIEWS}")


def _reset(made: MariadbEstate) -> None:
    with connected(made.address) as database:
        push.apply(database, push.reset_plan(database, made.target))
        assert not database.managed_roles().roles


def test_what_others_put_beside_views_stays(made: MariadbEstate) -> None:
    with administrator(made.address.url) as admin:
        execute(admin, f"CREATE VIEW {VIEWS}.theirs AS SELECT 1 AS one")
        _reset(made)
        tables = execute(admin, f"SHOW TABLES IN {VIEWS}")
        assert {*tables} == {("theirs",), ("lakewarden",)}
        execute(admin, f"DROP VIEW {VIEWS}.theirs")
        made.push()
        assert seen(made, ANA) == [("eu", "****3000")]
        _reset(made)
        assert (VIEWS,) not in execute(admin, "SHOW DATABASES")


def test_grants_of_others_are_reported(made: MariadbEstate) -> None:
    with administrator(made.address.url) as admin:
        execute(admin, "GRANT SELECT ON sales.orders TO ana")
        execute(admin, f"GRANT SELECT ON {object_sql((VIEWS,))} TO ana")
    with connected(made.address) as database:
        found = push.drift(database, made.state, made.target, NOW).foreign
    denied = {one.grant.path: one.denied for one in found if one.grant.privilege == "SELECT"}
    assert denied == {("sales", "orders"): ("ana",), (VIEWS,): ("ana",)}


def test_a_table_that_changes_below_a_view_opens_nothing(made: MariadbEstate) -> None:
    before, own = made.managed_roles(), view_of(made, ANA)
    with administrator(made.address.url) as admin, made.as_user(ANA) as connection:
        execute(admin, "ALTER TABLE sales.orders ADD COLUMN secret int")
        assert made.managed_roles() == before
        with pytest.raises(pymysql.MySQLError, match="secret"):
            execute(connection, f"SELECT secret FROM {own}")
        execute(admin, "ALTER TABLE sales.orders DROP COLUMN mail")
        with pytest.raises(pymysql.MySQLError, match="invalid"):
            execute(connection, f"SELECT * FROM {own}")
        made.push(before)
        rows = execute(connection, f"SELECT region, iban, secret FROM {own}")
        assert rows == [("eu", "****3000", None)]
        execute(admin, "DROP TABLE sales.orders")
        with pytest.raises(pymysql.MySQLError, match="invalid"):
            execute(connection, f"SELECT * FROM {own}")
        wish, _ = made.push(made.managed_roles())
        assert "the database has no object of that name" in {one.why for one in wish.residues}
        assert (VIEWS,) not in execute(admin, "SHOW DATABASES")


def test_a_database_of_our_name_that_is_not_ours(server: str) -> None:
    with estate(server, small()) as made, administrator(made.address.url) as admin:
        execute(admin, f"CREATE DATABASE {VIEWS}")
        execute(admin, f"CREATE TABLE {VIEWS}.theirs (one int)")
        wish, _ = made.push()
        assert "was not created by lakewarden" in str([one.why for one in wish.residues])
        with made.as_user(ANA) as connection:
            assert not may(connection, "SELECT 1 FROM sales.orders")
        assert execute(admin, f"SHOW TABLES IN {VIEWS}") == [("theirs",)]
        execute(admin, f"DROP TABLE {VIEWS}.theirs")
        made.push()
        assert seen(made, ANA) == [("eu", "****3000")]


def test_another_account_makes_views_of_its_own(made: MariadbEstate) -> None:
    """It needs a right on the database of views, and the earlier account may be dropped."""
    at = sa.make_url(made.address.url).set(username="pusher", password="secret")
    own = replace(made, address=Address(at.render_as_string(hide_password=False), "pg"))
    before = made.managed_roles()
    with administrator(made.address.url) as admin:
        execute(admin, "CREATE USER pusher IDENTIFIED WITH mysql_native_password AS"
                " '*14E65567ABDB5135D0CFD9A70B3032C179A49EE7'")  # fmt: skip
        execute(admin, "GRANT SELECT ON mysql.* TO pusher")
        while missing := own.missing_rights():
            if all("masking views" in one for one in missing):
                with connected(own.address) as database:
                    assert "may not create masking views" in database.objects().no_views
            execute(admin, missing[0].partition(": ")[2])
        for name in before.roles:
            execute(admin, f"GRANT {quoted(name)} TO pusher WITH ADMIN OPTION")
        for (name,) in execute(admin, "SELECT User FROM mysql.user WHERE User LIKE 'lw_pg-%'"):
            execute(admin, f"GRANT {quoted(name)} TO pusher WITH ADMIN OPTION")
        own.push(before)
        assert own.managed_roles().readers() == before.readers()
        assert seen(made, ANA) == [("eu", "****3000")]
        definers = execute(admin, "SELECT DISTINCT DEFINER FROM information_schema.VIEWS"
                           f" WHERE TABLE_SCHEMA = '{VIEWS}'")  # fmt: skip
        assert definers == [("pusher@%",)]


def test_a_view_that_is_broken_is_left_out(server: str) -> None:
    """It has no columns, so no view can be created for it; the push continues."""
    broken = Entity("view", "lk:c.sales.broken")
    facts = small(
        Statement("see", Effect.ALLOW, frozenset({"SELECT_VIEW"}), On(broken), ALL),
        Statement("limit", Effect.FILTER, frozenset(), On(broken), frozenset({ANA}),
                  expression="amount = 1"),
    )  # fmt: skip
    facts = replace(facts, entities=[*facts.entities, EntityRow(broken, TOP[-1])])
    with estate(server, facts, store=STORE) as made, administrator(made.address.url) as admin:
        execute(admin, "CREATE TABLE sales.below (region int, amount int)")
        execute(admin, "CREATE OR REPLACE VIEW sales.broken AS SELECT * FROM sales.below")
        execute(admin, "DROP TABLE sales.below")
        wish, _ = made.push()
        left = {(one.why, one.principal) for one in wish.residues if "broken" in one.entity}
        assert left == {("it has no columns there", "user:ana")}
        assert seen(made, ANA) == [("eu", "****3000")]


# --- interrupted pushes ---


def ways(made: MariadbEstate, users: Sequence[Principal]) -> set[tuple[str, Path, str]]:
    """The users' accesses: a table, or a view with this definition in the server.

    View names are without their digits, which are those of a role: the division of shared roles
    depends on the earlier state.
    """
    found = set()
    tables = [path for path, one in made.objects().items() if one.type in ("table", "view")]
    with administrator(made.address.url) as admin:
        texts: dict[Path, str] = {
            (VIEWS, name): f"{text} {security}"
            for name, text, security in execute(
                admin,
                "SELECT TABLE_NAME, VIEW_DEFINITION, SECURITY_TYPE FROM information_schema.VIEWS"
                f" WHERE TABLE_SCHEMA = '{VIEWS}'",
            )
        }
        for user in users:
            with made.as_user(user) as own:
                for path in (*tables, *texts):
                    if may(own, f"SELECT 1 FROM {places(path)[0]} LIMIT 0"):
                        *schema, name = path
                        stem = name[: -NAME_DIGITS - 1] if path in texts else name
                        found.add((user.name, (*schema, stem), texts.get(path, "")))
    return found


def check_cuts(before: MariadbEstate, after: MariadbEstate, steps: Sequence[int]) -> int:
    """A push that is interrupted after so many statements opens nothing, and resumes."""
    users = before.users()
    done = 0
    with administrator(before.address.url) as admin:
        before.push()
        was = ways(before, users)
        after.push(before.managed_roles())
        will_be = ways(before, users)
        for number in steps:
            before.push(before.managed_roles())
            with connected(before.address) as database:
                agreed = push.plan(database, after.state, before.target, NOW)
            begun = agreed.target_during_push()
            assert begun is not None
            begun = replace(begun, pushed=as_data(agreed.held))
            try:
                with cut(before, admin, number) as database:
                    push.apply(database, agreed)
                return done
            except pymysql.MySQLError:
                done += 1
            assert ways(before, users) <= was | will_be, number
            with connected(before.address) as database:
                found = push.drift(database, after.state, begun, NOW).differences
                assert not [one for one in found if one.kind == ADDED and _is_of_views(one)], number
                rest = push.plan(database, after.state, begun, NOW)
                assert rest.resumes(agreed.digest)
                push.apply(database, rest)
                assert database.managed_roles() == agreed.desired
            assert ways(before, users) == will_be
    return done


def _is_of_views(one: Difference) -> bool:
    return one.view is not None or (one.grant is not None and one.grant.path[:1] == (VIEWS,))


def other_small() -> Facts:
    """Ana gets another mask and other rows, Bo no mask, and Cleo one."""
    facts = small(mask="redact", where="region = 'us'")
    to = {"iban": frozenset({ANA, CLEO})}
    return replace(
        facts,
        statements=[replace(one, principals=to.get(one.id, one.principals))
                    for one in facts.statements],
    )  # fmt: skip


@contextmanager
def both(server: str, *, is_back: bool) -> Iterator[tuple[MariadbEstate, MariadbEstate]]:
    with estate(server, small()) as first:
        second = first.with_facts(other_small())
        yield (second, first) if is_back else (first, second)


@pytest.mark.nightly
def test_a_push_that_is_cut_off_opens_nothing_and_goes_on(mariadb_url: str) -> None:
    with both(mariadb_url, is_back=False) as worlds:
        assert check_cuts(*worlds, (2, 6, 9)) == 3


@pytest.mark.nightly
@pytest.mark.parametrize("is_back", [False, True])
def test_a_push_that_is_cut_off_at_any_statement_opens_nothing_and_goes_on(
    server: str, is_back: bool
) -> None:
    with both(server, is_back=is_back) as worlds:
        assert check_cuts(*worlds, range(100)) > 8


@pytest.mark.nightly
def test_a_push_of_the_first_or_last_view_that_is_cut_off_goes_on(server: str) -> None:
    facts = small()
    none = [one for one in facts.statements if one.effect is Effect.ALLOW]
    with estate(server, facts, store=STORE) as first:
        second = first.with_facts(replace(facts, statements=none))
        assert check_cuts(first, second, range(100)) > 5
        assert check_cuts(second, first, range(100)) > 10


@pytest.mark.nightly
@pytest.mark.parametrize("is_back", [False, True])
@pytest.mark.parametrize("seed", [2, 7, 11, 23])
def test_a_push_that_is_cut_off_in_random_worlds_opens_nothing_and_goes_on(
    server: str, seed: int, is_back: bool
) -> None:
    facts = limited(facts_of(seed), seed)
    with estate(server, facts, store=STORE) as first:
        second = first.with_facts(altered(facts, seed))
        worlds = (second, first) if is_back else (first, second)
        assert check_cuts(*worlds, range(1_000)) > 3
