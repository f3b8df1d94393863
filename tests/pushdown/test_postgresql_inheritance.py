"""PostgreSQL only checks the parent: it must not give access to what is denied in a child."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any

import psycopg
import pytest
from psycopg import sql

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.principal import USER, Principal, members_of
from lakewarden.kernel.relations import EntityRow, Facts, MembershipRow
from lakewarden.kernel.request import Request
from lakewarden.kernel.statement import Effect, On, Statement
from lakewarden.pushdown.desired_state import DesiredRoles
from lakewarden.pushdown.grants import MASKED_READ, Path
from lakewarden.service.read_limits import row_filters
from lakewarden.testing.world_draft import NOW
from lakewarden.testing.worlds import Size
from tests.pushdown.estate import SIZE, SMALL, facts_of
from tests.pushdown.limits import limited, masks_of
from tests.pushdown.postgresql_estate import COLUMN_TYPES, Estate, administrator, estate
from tests.pushdown.test_postgresql import compare

LAKE, CATALOG, SCHEMA = Entity("metalake", "m"), Entity("catalog", "m:c"), Entity("schema", "m:c.s")
ORDERS, PART, SECRET = (Entity("table", f"m:c.s.{name}") for name in ("orders", "part", "secret"))
IBANS = [Entity("column", f"{table.name}.iban") for table in (ORDERS, PART)]
ANA, BO = (Principal(USER, name) for name in ("ana", "bo"))
BOTH = frozenset({ANA, BO})
RIGHTS = ("SELECT_TABLE", "INSERT_ROWS", "UPDATE_ROWS", "DELETE_ROWS")
USES = frozenset({"USE_CATALOG", "USE_SCHEMA"})
ALLOWED = Statement("allowed", Effect.ALLOW, USES.union(RIGHTS), On(CATALOG), BOTH)
DAY, NIGHT = (5, 17), range(1_000, 1_500, 25)
INHERITING = 0.6
"""This share of tables inherits from another one."""


STATEMENTS = {
    "SELECT": "SELECT count(*) FROM s.orders",
    "INSERT": "INSERT INTO s.orders (iban) VALUES ('n')",
    "UPDATE": "UPDATE s.orders SET amount = 9",
    "DELETE": "DELETE FROM s.orders",
    "TRUNCATE": "TRUNCATE s.orders",
}
INHERITS = "ALTER TABLE s.part INHERIT s.orders; ALTER TABLE s.secret INHERIT s.part"


def denied(right: str, on: Entity) -> Statement:
    name, who = f"no {right} {on.name}", frozenset({ANA})
    return Statement(name, Effect.DENY, frozenset({right}), On(on), who)


def bound(effect: Effect, on: Entity, expression: str) -> Statement:
    name, who = f"{effect} {on.name}", frozenset({ANA})
    return Statement(name, effect, frozenset(), On(on), who, expression=expression)


def facts(*statements: Statement, but: Entity | None = None) -> Facts:
    above = {LAKE: None, CATALOG: LAKE, SCHEMA: CATALOG, ORDERS: SCHEMA, PART: SCHEMA}
    above |= {SECRET: SCHEMA, **dict(zip(IBANS, (ORDERS, PART), strict=True))}
    return Facts(
        entities=[EntityRow(one, parent) for one, parent in above.items() if one != but],
        principals=[ANA, BO],
        memberships=[MembershipRow(one, members_of("m")) for one in BOTH],
        statements=[ALLOWED, *statements],
    )


@pytest.fixture
def made(postgres_url: str) -> Iterator[Estate]:
    """A database in which `secret` inherits from `part`, and `part` from `orders`."""
    with estate(postgres_url, facts()) as one:
        with administrator(one.address.url) as own:
            own.execute(INHERITS)
        yield one


def may(made: Estate, user: Principal, statement: str) -> bool:
    with made.as_user(user) as own:
        try:
            with own.transaction(force_rollback=True):
                own.execute(sql.SQL(statement))
        except psycopg.errors.InsufficientPrivilege:
            return False
    return True


def pushed(made: Estate, *statements: Statement, but: Entity | None = None) -> DesiredRoles:
    wish, _ = made.with_facts(facts(*statements, but=but)).push()
    return wish


def whys(wish: DesiredRoles, act: str) -> set[str]:
    at = (f"table:{ORDERS.name}", f"user:{ANA.name}", act)
    return {one.why for one in wish.residues if (one.entity, one.principal, one.access) == at}


def test_a_parent_whose_children_are_open_is_granted(made: Estate) -> None:
    wish = pushed(made)
    assert not wish.residues.count
    assert all(may(made, ANA, one) for one in STATEMENTS.values())
    assert made.push()[1] == 0


@pytest.mark.by_day(2)
@pytest.mark.parametrize("right", RIGHTS)
def test_a_parent_is_not_reached_by_whom_a_child_denies_the_act(made: Estate, right: str) -> None:
    wish = pushed(made, denied(right, SECRET))
    acts = [one for one in STATEMENTS if one.startswith(right[:6])]
    acts += ["TRUNCATE"] if right == "DELETE_ROWS" else []
    for act, statement in STATEMENTS.items():
        assert may(made, ANA, statement) == (act not in acts), act
        assert may(made, BO, statement)
        said = {"it reaches `s.secret`, where it is denied"} if act in acts else set()
        assert whys(wish, act) == said


@pytest.mark.by_day(1)
@pytest.mark.parametrize(
    "limit",
    [
        bound(Effect.FILTER, PART, "region = 'eu'"),
        bound(Effect.MASK, IBANS[1], "null"),
    ],
)
def test_a_parent_is_not_reached_by_whom_a_filter_or_mask_of_a_child_binds(
    made: Estate, limit: Statement
) -> None:
    wish = pushed(made, limit)
    for act, statement in STATEMENTS.items():
        assert not may(made, ANA, statement)
        assert may(made, BO, statement)
        assert {one.split(",")[0] for one in whys(wish, act)} == {"it reaches `s.part`"}
    with administrator(made.address.url) as own:
        secured = "SELECT relrowsecurity FROM pg_class WHERE relname = 'orders'"
        assert own.execute(secured).fetchall() == [(False,)]


def test_limits_of_both_limit_what_is_read_by_the_parent(made: Estate) -> None:
    """A filter on the schema applies to the parent and to each child; so does an equal mask."""
    pushed(made, bound(Effect.FILTER, SCHEMA, "region = 'eu'"))
    with made.as_user(ANA) as own:
        read = own.execute("SELECT region FROM s.orders").fetchall()
    assert read == [("eu",)] * 3
    masks = (bound(Effect.MASK, one, "null") for one in IBANS)
    wish = pushed(made, *masks)
    assert not whys(wish, "SELECT")
    ((view,),) = (at for of, at in made.views().items() if of == ("s", "orders"))
    with made.as_user(ANA) as own:
        query = sql.SQL("SELECT DISTINCT iban FROM {}").format(sql.Identifier(*view))
        assert own.execute(query).fetchall() == [(None,)]


def test_single_columns_are_reached_alike(made: Estate) -> None:
    column = Statement(
        *("iban", Effect.ALLOW, frozenset({"SELECT_COLUMN"}), On(IBANS[0]), frozenset({ANA}))
    )
    hidden = (denied("SELECT_TABLE", one) for one in (ORDERS, PART, SECRET))
    pushed(made, *hidden, column)
    assert not may(made, ANA, "SELECT iban FROM s.orders")
    pushed(made, denied("SELECT_TABLE", ORDERS), column)
    assert may(made, ANA, "SELECT iban FROM s.orders")


def test_children_of_which_the_realm_does_not_know_are_a_part_of_it(made: Estate) -> None:
    pushed(made, denied("SELECT_TABLE", SECRET), but=SECRET)
    assert may(made, ANA, STATEMENTS["SELECT"])


def test_partitions_are_children(made: Estate) -> None:
    with administrator(made.address.url) as own:
        own.execute(
            "DROP TABLE s.orders, s.part, s.secret CASCADE;"
            " CREATE TABLE s.orders (iban text, amount int) PARTITION BY LIST (iban);"
            " CREATE TABLE s.part PARTITION OF s.orders DEFAULT PARTITION BY LIST (amount);"
            " CREATE TABLE s.secret PARTITION OF s.part DEFAULT;"
            " CREATE INDEX ON s.orders (iban)"
        )
    pushed(made)
    assert all(may(made, ANA, one) for one in STATEMENTS.values())
    pushed(made, denied("INSERT_ROWS", SECRET))
    assert not may(made, ANA, STATEMENTS["INSERT"])
    assert may(made, ANA, STATEMENTS["SELECT"])


# --- random worlds ---


def check(server: str, seed: int, size: Size = SIZE) -> Counter[str]:
    """Access by a parent is allowed in each child, within the child's limits."""
    counts: Counter[str] = Counter()
    for facts in (facts_of(seed, size), limited(facts_of(seed, size), seed)):
        with estate(server, facts) as made, administrator(made.address.url) as own:
            tables = {path: one for path, one in made.objects().items() if one.type == "table"}
            parents = dict(_inherit(own, sorted(tables), random.Random(seed)))
            wish, _ = made.push()
            compare(made, wish)
            assert made.push()[1] == 0
            all_held = made.managed_roles()
            for user in made.users():
                held = made.held_privileges(user, all_held)
                for child, parent in parents.items():
                    acts = [act for act in (*STATEMENTS, MASKED_READ) if (parent, act) in held]
                    counts.update(f"{act} True" for act in acts)
                    for act in acts:
                        as_held = "SELECT" if act == MASKED_READ else act
                        assert made.allows(user, as_held, tables[child]), (user, child)
                    if acts:
                        _compare_limits(made, own, user, tables, (child, parent))
    return counts


def _inherit(
    own: psycopg.Connection[Any], tables: list[Path], rng: random.Random
) -> Iterator[tuple[Path, Path]]:
    """Makes most tables children of an earlier one; each with its parent."""
    for number, child in enumerate(tables[1:], start=1):
        if rng.random() < INHERITING:
            parent = rng.choice(tables[:number])
            text = sql.SQL("ALTER TABLE {} INHERIT {}")
            own.execute(text.format(sql.Identifier(*child), sql.Identifier(*parent)))
            yield child, parent


def _compare_limits(
    made: Estate,
    own: psycopg.Connection[Any],
    user: Principal,
    tables: Mapping[Path, Entity],
    pair: tuple[Path, Path],
) -> None:
    """The parent's filters and masks leave nothing that the child's do not."""
    child, parent = (
        row_filters(made.lasting, Request(user, "", tables[at], NOW), "postgresql", COLUMN_TYPES)
        for at in pair
    )
    more = sql.SQL("SELECT count(*) FROM ONLY {} WHERE {} AND ({}) IS NOT TRUE").format(
        sql.Identifier(*pair[0]),
        *(
            sql.SQL(" AND ".join(("true", *(f"({one})" for one in each))))
            for each in (parent, child)
        ),
    )
    assert own.execute(more).fetchall() == [(0,)], (user, pair)
    assert (
        masks_of(made, user, tables[pair[0]]).items()
        <= masks_of(made, user, tables[pair[1]]).items()
    )


def test_the_database_reaches_no_more_by_a_parent(postgres_url: str) -> None:
    counts = sum((check(postgres_url, seed, SMALL) for seed in DAY), Counter())
    assert counts["SELECT True"] > 0 < counts["UPDATE True"], counts


@pytest.mark.nightly
@pytest.mark.parametrize("first", NIGHT)
def test_the_database_reaches_no_more_by_a_parent_in_many_worlds(
    postgres_url: str, first: int
) -> None:
    for number in range(25):
        check(postgres_url, first + number)
