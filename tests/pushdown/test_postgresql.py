"""A real PostgreSQL never allows more than the kernel, and less only if that is reported."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any

import psycopg
import pytest
from psycopg import sql
from psycopg.types.json import Jsonb

from lakewarden.expressions.masks import Mask
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.request import Request
from lakewarden.pushdown.desired_state import DesiredRoles
from lakewarden.pushdown.grants import MASKED_READ, Path
from lakewarden.pushdown.postgresql_views import MAX_NAME_BYTES
from lakewarden.service.read_limits import row_filters
from lakewarden.testing.world_draft import NOW
from lakewarden.testing.worlds import Size
from tests.pushdown.estate import COLUMN_ORDER, SIZE, SMALL, STORE, altered, facts_of, is_left_out
from tests.pushdown.limits import limited, masked, masks_of
from tests.pushdown.postgresql_estate import (
    COLUMN_TYPES,
    Estate,
    administrator,
    estate,
)
from tests.servers import fresh_database

PRIVILEGES = {
    "catalog": ("CONNECT",),
    "schema": ("USAGE", "CREATE"),
    "table": ("SELECT", "INSERT", "UPDATE", "DELETE", "TRUNCATE"),
    "view": ("SELECT",),
    "column": ("SELECT", "INSERT", "UPDATE"),
}
ASKED = """
SELECT CASE cardinality(path)
  WHEN 0 THEN has_database_privilege(name, current_database(), privilege)
  WHEN 1 THEN has_schema_privilege(name, path[1], privilege)
  WHEN 3 THEN has_column_privilege(
    name, quote_ident(path[1]) || '.' || quote_ident(path[2]), path[3], privilege)
  ELSE has_table_privilege(name, quote_ident(path[1]) || '.' || quote_ident(path[2]), privilege)
END FROM (
  SELECT one->>0 AS name, one->>1 AS privilege,
         ARRAY(SELECT jsonb_array_elements_text(one->2)) AS path
  FROM jsonb_array_elements(%s) WITH ORDINALITY AS each (one, number) ORDER BY number
) asked
"""
"""One query for all users, privileges and objects."""

FEW, DAY = (2, 5, 9), range(2, 62)
NIGHT, SHARD = range(1_000, 2_000, 25), range(25)
"""Two kinds of a thousand worlds each, in shards of 25."""


def is_said(name: str) -> bool:
    """Whether PostgreSQL can store the name: it would truncate a longer one."""
    return len(name.encode()) <= MAX_NAME_BYTES


def compare(made: Estate, wish: DesiredRoles) -> Counter[str]:
    """The database's answer for every user, object and privilege agrees with the kernel."""
    counts: Counter[str] = Counter()
    views = made.views()
    users = [user for user in made.users() if is_said(made.name(user))]
    objects = {path: one for path, one in made.objects().items() if all(map(is_said, path))}
    questions = [
        (privilege, user, entity, each)
        for path, entity in objects.items()
        for user in users
        for privilege in PRIVILEGES[entity.type]
        for each in ([path, *views.get(path, ())] if privilege == "SELECT" else [path])
    ]
    asked = [(made.name(user), privilege, at) for privilege, user, _, at in questions]
    with administrator(made.address.url) as connection:
        answers = [one for (one,) in connection.execute(ASKED, [Jsonb(asked)])]
    ways: Counter[tuple[str, Principal, Entity]] = Counter()
    for (privilege, user, entity, _), answer in zip(questions, answers, strict=True):
        ways[privilege, user, entity] += answer
    tables = {entity: objects.get(path[:2], entity) for path, entity in objects.items()}
    for (privilege, user, entity), count in ways.items():
        allowed = made.allows(user, privilege, entity)
        counts[f"{allowed} {count > 0}"] += 1
        counts[f"column {allowed} {count > 0}"] += entity not in tables.values()
        assert count <= allowed, (privilege, user, entity)
        # Users who read a table by a masking view read its columns there.
        alike = {entity, tables[entity]}
        if allowed and not any(ways[privilege, user, one] for one in alike):
            assert any(is_left_out(wish, privilege, user, one) for one in alike), (
                *(privilege, user, entity),
            )
    return counts


def pushed(made: Estate) -> Counter[str]:
    wish, _ = made.push()
    counts = compare(made, wish)
    assert made.push()[1] == 0
    return counts


def check(database: str, seed: int, size: Size = SIZE) -> Counter[str]:
    """Pushes a realm, then the realm with other permissions, then the first one again."""
    facts = facts_of(seed, size)
    with estate(database, facts, store=STORE, is_reused=True) as made:
        counts = pushed(made)
        counts += pushed(made.with_facts(altered(facts, seed)))
        return counts + pushed(made)


@pytest.fixture(scope="module")
def database(postgres_url: str) -> Iterator[str]:
    """A database for all worlds in turn: creating one takes longer than emptying it."""
    with fresh_database(postgres_url) as url:
        yield url


def test_the_database_allows_what_the_kernel_allows(database: str) -> None:
    counts = sum((check(database, seed, SMALL) for seed in FEW), Counter())
    for seed in DAY[1::2]:
        with estate(database, facts_of(seed, SMALL), is_reused=True) as made:
            wish, _ = made.push()
            counts += compare(made, wish)
    assert counts["True True"] > 200
    assert counts["False False"] > 500
    assert counts["column True True"] > 10, counts


@pytest.mark.nightly
@pytest.mark.parametrize("first", NIGHT)
def test_the_database_allows_what_the_kernel_allows_in_many_worlds(
    database: str, first: int
) -> None:
    for number in SHARD:
        check(database, first + number)


# --- rows ---


def check_rows(database: str, seed: int, size: Size = SIZE) -> Counter[str]:
    """A reader of a table sees exactly the rows and values that filters and masks leave."""
    counts: Counter[str] = Counter()
    facts = limited(facts_of(seed, size), seed)
    with estate(database, facts, store=STORE, is_reused=True) as made:
        wish, _ = made.push()
        compare(made, wish)
        assert made.push()[1] == 0
        held, views = made.managed_roles(), made.views()
        with administrator(made.address.url) as whole:
            for user in made.users():
                privileges = made.held_privileges(user, held)
                if ((), "CONNECT") in privileges:
                    counts += _compare_rows(made, user, privileges, views, whole)
    return counts


def _compare_rows(
    made: Estate,
    user: Principal,
    privileges: set[tuple[Path, str]],
    views: Mapping[Path, list[Path]],
    whole: psycopg.Connection[Any],
) -> Counter[str]:
    """All tables of a user at once: a message to the server takes longer than its processing."""
    counts: Counter[str] = Counter()
    tables = {
        path: entity
        for path, entity in made.objects().items()
        if entity.type == "table" and all(map(is_said, path))
    }
    read = {path: _read_at(made, privileges, views, whole, user, path) for path in tables}
    seen: list[tuple[Path, str]] = []
    kept: list[tuple[Path, str]] = []
    masks: list[dict[str, Mask]] = []
    for path, at in read.items():
        if at is None:
            continue
        filters = row_filters(
            made.lasting, Request(user, "", tables[path], NOW), "postgresql", COLUMN_TYPES
        )
        binding = masks_of(made, user, tables[path])
        assert (at != path) == bool(binding), (user, path)
        counts[f"{len(filters)} filters"] += 1
        counts[f"{len(binding)} masks"] += 1
        seen.append((at, ""))
        kept.append((path, " AND ".join(f"({one})" for one in filters)))
        masks.append(binding)
    hidden = [path for (path, _), binding in zip(kept, masks, strict=True) if binding]
    with made.as_user(user) as own:
        counts += _run(made, own, user, tables, privileges, hidden)
        shown, rows = _rows_of(own, seen), _rows_of(whole, kept)
    for have, stored, binding, (path, where) in zip(shown, rows, masks, kept, strict=True):
        expected = [masked(row, binding) for row in stored]
        assert sorted(have, key=str) == sorted(expected, key=str), (user, path, where)
    return counts


def _rows_of(
    connection: psycopg.Connection[Any], asked: Sequence[tuple[Path, str]]
) -> list[list[tuple[Any, ...]]]:
    """The rows of each table that meet its condition."""
    found: list[list[tuple[Any, ...]]] = [[] for _ in asked]
    queries = [
        sql.SQL("SELECT {}, json_build_array({}) FROM {} WHERE {}").format(
            *(number, sql.SQL(", ".join(COLUMN_ORDER)), sql.Identifier(*path)),
            sql.SQL(where or "true"),
        )
        for number, (path, where) in enumerate(asked)
    ]
    if queries:
        for number, row in connection.execute(sql.SQL(" UNION ALL ").join(queries)):
            found[number].append(tuple(row))
    return found


STATEMENTS = {
    "SELECT": "SELECT amount FROM {}",
    "INSERT": "INSERT INTO {} (amount) VALUES (7)",
    "UPDATE": "UPDATE {} SET amount = 7",
    "DELETE": "DELETE FROM {}",
    "TRUNCATE": "TRUNCATE {}",
    "CREATE": "CREATE VIEW {}.lw_new AS SELECT 1 AS one",
    "ALTER": "ALTER TABLE {} ADD COLUMN one int",
    "DROP": "DROP TABLE {} CASCADE",
}
"""A statement for each act on a table or its schema; no grant permits the last two."""

DONE, DENIED = "LW000", "42501"
AT_ONCE = """
DO {body};
SELECT current_setting('lakewarden.codes')
"""
BODY = """
DECLARE codes text := '';
BEGIN
  {each}
  PERFORM set_config('lakewarden.codes', codes, false);
END
"""
EACH = """
BEGIN
  EXECUTE {statement};
  RAISE SQLSTATE {done};
EXCEPTION WHEN OTHERS THEN codes := codes || SQLSTATE || ' ';
END;
"""
"""A statement that is rolled back, whether it was denied or not."""


def _may_each(
    connection: psycopg.Connection[Any], statements: Sequence[sql.Composed]
) -> list[bool]:
    """Whether the server permits each of the statements for the connected user."""
    each = [
        sql.SQL(EACH).format(statement=sql.Literal(one.as_string(connection)), done=DONE)
        for one in statements
    ]
    body = sql.SQL(BODY).format(each=sql.SQL("").join(each)).as_string(connection)
    cursor = connection.execute(sql.SQL(AT_ONCE).format(body=sql.Literal(body)))
    assert cursor.nextset()
    codes = cursor.fetchall()[0][0].split()
    assert {*codes} <= {DONE, DENIED}
    assert len(codes) == len(statements)
    return [code == DONE for code in codes]


def _run(
    made: Estate,
    own: psycopg.Connection[Any],
    user: Principal,
    tables: Collection[Path],
    privileges: set[tuple[Path, str]],
    hidden: Sequence[Path],
) -> Counter[str]:
    """Statements that succeed are granted, and allowed by the kernel.

    Tables `hidden` by masking views cannot be read at all.
    """
    counts: Counter[str] = Counter()
    objects = made.objects()
    asked = [
        (path, privilege, path[:1] if privilege == "CREATE" else path)
        for path in tables
        for privilege in STATEMENTS
    ]
    texts = [(STATEMENTS[privilege], at) for _, privilege, at in asked]
    texts += [("SELECT 1 FROM {}", path) for path in hidden]
    answers = _may_each(own, [sql.SQL(text).format(sql.Identifier(*at)) for text, at in texts])
    assert not any(answers[len(asked) :]), (user, hidden)
    for (path, privilege, at), done in zip(asked, answers, strict=False):
        granted = {(path[:1], "USAGE"), (at, privilege)} <= privileges
        assert done == granted, (user, path, privilege)
        assert not done or made.allows(user, privilege, objects[at]), (user, path, privilege)
        counts[f"{privilege} {done}"] += 1
    return counts


def _read_at(
    made: Estate,
    privileges: set[tuple[Path, str]],
    views: Mapping[Path, list[Path]],
    whole: psycopg.Connection[Any],
    user: Principal,
    path: Path,
) -> Path | None:
    """Where the user reads a table: directly, or by a masking view."""
    if {(path[:1], "USAGE"), (path, "SELECT")} <= privileges:
        return path
    if (path, MASKED_READ) not in privileges:
        return None
    asked = [(made.name(user), "SELECT", view) for view in views[path]]
    answers = whole.execute(ASKED, [Jsonb(asked)]).fetchall()
    (at,) = (view for view, (may,) in zip(views[path], answers, strict=True) if may)
    return at


def test_people_see_the_rows_that_filters_leave(database: str) -> None:
    counts = sum((check_rows(database, seed, SMALL) for seed in DAY[::3]), Counter())
    assert all(counts[f"{one} True"] for one in ("SELECT", "INSERT", "UPDATE", "DELETE")), counts
    assert not counts["ALTER True"] + counts["DROP True"]
    assert counts["1 filters"] + counts["2 filters"] > 10, counts
    assert counts["1 masks"] + counts["5 masks"] > 3, counts


@pytest.mark.nightly
@pytest.mark.parametrize("first", NIGHT)
def test_people_see_the_rows_that_filters_leave_in_many_worlds(database: str, first: int) -> None:
    for number in SHARD:
        check_rows(database, first + number)
