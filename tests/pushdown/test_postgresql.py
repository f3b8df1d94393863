"""A real PostgreSQL allows what the kernel allows: never more, and less only where it is told."""

from __future__ import annotations

import random
from collections import Counter
from dataclasses import replace

import pytest
from psycopg import sql

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.relations import Facts
from lakewarden.kernel.request import Request
from lakewarden.kernel.statement import Effect
from lakewarden.pushdown.wanted import Wanted
from lakewarden.service.read_limits import row_filters
from lakewarden.testing.world_draft import NOW
from tests.http.ranger.test_judged import belonging, limit, reading
from tests.pushdown.postgresql_estate import (
    COLUMN_TYPES,
    Estate,
    administrator,
    altered,
    estate,
    facts_of,
)

PRIVILEGES = {
    "catalog": ("CONNECT",),
    "schema": ("USAGE", "CREATE"),
    "table": ("SELECT", "INSERT", "UPDATE", "DELETE", "TRUNCATE"),
    "view": ("SELECT",),
}
ASKED = {
    "catalog": "SELECT has_database_privilege(%s, current_database(), %s)",
    "schema": "SELECT has_schema_privilege(%s, %s, %s)",
    "table": "SELECT has_table_privilege(%s, quote_ident(%s) || '.' || quote_ident(%s), %s)",
    "view": "SELECT has_table_privilege(%s, quote_ident(%s) || '.' || quote_ident(%s), %s)",
}
DAY, NIGHT = (2, 5, 9), range(100, 400)


def compare(made: Estate, wish: Wanted) -> Counter[str]:
    """What the database answers of every user, object and privilege is what the kernel says."""
    left_out = {(one.entity, one.principal, one.access) for one in wish.residues}
    counts: Counter[str] = Counter()
    with administrator(made.address.url) as connection:
        for path, entity in made.objects().items():
            for user in made.users():
                for privilege in PRIVILEGES[entity.type]:
                    asked = [made.name(user), *path, privilege]
                    ((answer,),) = connection.execute(ASKED[entity.type], asked).fetchall()
                    allowed = made.allows(user, privilege, entity)
                    counts[f"{allowed} {answer}"] += 1
                    where = (privilege, user, entity)
                    assert allowed or not answer, where
                    assert answer or not allowed or _is_left_out(left_out, *where), where
    return counts


def _is_left_out(
    left_out: set[tuple[str, str, str]], privilege: str, user: Principal, entity: Entity
) -> bool:
    at, who = f"{entity.type}:{entity.name}", f"{user.kind}:{user.name}"
    return any(
        one in ("", at) and of in ("", who) and access in ("", privilege)
        for one, of, access in left_out
    )


def pushed(made: Estate) -> Counter[str]:
    wish, _ = made.push()
    counts = compare(made, wish)
    assert made.push()[1] == 0
    return counts


def check(server: str, seed: int) -> Counter[str]:
    """A realm, the realm when others may do other things, and the first one again."""
    facts = facts_of(seed)
    with estate(server, facts) as made:
        counts = pushed(made)
        counts += pushed(made.with_facts(altered(facts, seed)))
        return counts + pushed(made)


def test_the_database_allows_what_the_kernel_allows(postgres_url: str) -> None:
    counts = sum((check(postgres_url, seed) for seed in DAY), Counter())
    assert counts["True True"] > 200
    assert counts["False False"] > 500


@pytest.mark.nightly
@pytest.mark.parametrize("seed", NIGHT)
def test_so_it_does_in_many_worlds(postgres_url: str, seed: int) -> None:
    check(postgres_url, seed)


# --- rows ---


def limited(facts: Facts, seed: int) -> Facts:
    """The facts with filters, and a mask now and then, where most may read."""
    rng = random.Random(seed)
    drawn = [limit(facts, rng, number) for number in range(16)]
    allows = [one for one in facts.statements if one.effect is not Effect.DENY]
    limits = [one for one in drawn if one.effect is Effect.FILTER or rng.random() < 0.2]
    return replace(
        facts,
        statements=[*allows, *limits, *reading(facts)],
        memberships=[*facts.memberships, *belonging(facts)],
    )


def check_rows(server: str, seed: int) -> Counter[str]:
    """Whoever may read a table sees exactly the rows that its filters leave."""
    counts: Counter[str] = Counter()
    with estate(server, limited(facts_of(seed), seed)) as made:
        wish, _ = made.push()
        compare(made, wish)
        assert made.push()[1] == 0
        for user in made.users():
            if ((), "CONNECT") in made.held_privileges(user):
                counts += _compare_rows(made, user)
    return counts


def _compare_rows(made: Estate, user: Principal) -> Counter[str]:
    counts: Counter[str] = Counter()
    with made.as_user(user) as own, administrator(made.address.url) as whole:
        for path, entity in made.objects().items():
            needed = {(path[:1], "USAGE"), (path, "SELECT")}
            if entity.type != "table" or not needed <= made.held_privileges(user):
                continue
            request = Request(user, "", entity, NOW)
            filters = row_filters(made.lasting, request, "postgresql", COLUMN_TYPES)
            query = "SELECT amount FROM {} {} ORDER BY amount"
            where = " AND ".join(f"({one})" for one in filters)
            table = sql.Identifier(*path)
            seen = own.execute(sql.SQL(query).format(table, sql.SQL("")))
            kept = sql.SQL(f"WHERE {where}" if filters else "")
            expected = whole.execute(sql.SQL(query).format(table, kept)).fetchall()
            assert seen.fetchall() == expected, (user, entity, filters)
            counts[f"{len(filters)} filters"] += 1
    return counts


def test_people_see_the_rows_that_filters_leave(postgres_url: str) -> None:
    counts = sum((check_rows(postgres_url, seed) for seed in DAY), Counter())
    assert sum(counts.values()) - counts["0 filters"] > 10, counts


@pytest.mark.nightly
@pytest.mark.parametrize("seed", NIGHT)
def test_so_they_do_in_many_worlds(postgres_url: str, seed: int) -> None:
    check_rows(postgres_url, seed)
