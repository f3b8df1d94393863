"""Roles with Gravitino's names in a database: like its plugin's, within the permissions."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from psycopg import sql

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.principal import Principal, members_of
from lakewarden.kernel.relations import EntityRow, Facts, MembershipRow
from lakewarden.kernel.statement import Effect, On, Statement
from lakewarden.pushdown.desired_state import DesiredRoles, desired_roles
from lakewarden.pushdown.grants import Grant, Role, Roles, as_data
from lakewarden.pushdown.target_objects import Scope, TargetObjects
from lakewarden.systems.gravitino.push.database_roles import (
    GROUP_PREFIX,
    POSTGRESQL,
    roles,
)
from lakewarden.testing.world_draft import NOW
from tests.pushdown.estate import altered, facts_of, state_of
from tests.pushdown.limits import limited
from tests.pushdown.postgresql_estate import (
    MAPPING,
    Estate,
    administrator,
    estate,
)
from tests.pushdown.test_postgresql import DAY, NIGHT, compare

GOLDEN = Path(__file__).parents[3] / "golden/push/gravitino-postgresql.json"
SCOPE = Scope("lk", "pg")
TABLES = (("sales", "orders"), ("sales", "items"), ("hr", "people"))
USERS = ("ana", "bo", "cy", "dee", "eve")
READ = ("USE_CATALOG", "USE_SCHEMA", "SELECT_TABLE")
HOLDERS = {
    "readers": ("user:ana", "user:bo", "user:eve", "group:analysts"),
    "writers": ("user:dee",),
    "no-people": ("user:bo",),
    "hive-only": ("user:ana",),
}
GRANTS = (
    ("readers", "catalog", "lk:pg", READ, Effect.ALLOW),
    ("everything", "metalake", "lk", READ, Effect.ALLOW),
    ("hive-only", "catalog", "lk:hive", READ, Effect.ALLOW),
    ("no-people", "table", "lk:pg.hr.people", ("SELECT_TABLE",), Effect.DENY),
    ("writers", "catalog", "lk:pg", ("USE_CATALOG",), Effect.ALLOW),
    (
        *("writers", "schema", "lk:pg.sales"),
        ("USE_SCHEMA", "MODIFY_TABLE", "CREATE_TABLE", "CREATE_VIEW", "REGISTER_FUNCTION"),
        Effect.ALLOW,
    ),
)


def entities() -> list[EntityRow]:
    lake, pg = Entity("metalake", "lk"), Entity("catalog", "lk:pg")
    schemas = {name: Entity("schema", f"lk:pg.{name}") for name in ("sales", "hr")}
    return [
        EntityRow(lake, None),
        EntityRow(pg, lake),
        EntityRow(Entity("catalog", "lk:hive"), lake),
        *(EntityRow(schema, pg) for schema in schemas.values()),
        *(EntityRow(Entity("table", f"lk:pg.{s}.{t}"), schemas[s]) for s, t in TABLES),
    ]


def principal(text: str) -> Principal:
    kind, _, name = text.partition(":")
    return Principal(kind, name)


def small() -> Facts:
    people = [Principal("user", name) for name in USERS]
    analysts = Principal("group", "analysts")
    own = [Principal("role", f"lk:{name}") for name in (*HOLDERS, "everything")]
    return Facts(
        entities=entities(),
        principals=[*people, analysts, *own],
        memberships=[
            MembershipRow(Principal("user", "cy"), analysts),
            *(MembershipRow(user, members_of("lk")) for user in people),
            *(
                MembershipRow(principal(holder), Principal("role", f"lk:{role}"))
                for role, holders in HOLDERS.items()
                for holder in holders
            ),
        ],
        statements=[
            Statement(
                f"{number}",
                effect,
                frozenset(privileges),
                On(Entity(type, name)),
                frozenset({Principal("role", f"lk:{role}")}),
            )
            for number, (role, type, name, privileges, effect) in enumerate(GRANTS)
        ],
    )


def there(*others: str) -> TargetObjects:
    return TargetObjects(
        users=frozenset(USERS),
        schemas=frozenset({"sales", "hr", "public"}),
        columns={table: {"id": "integer"} for table in TABLES},
        roles=frozenset({*USERS, *others}),
    )


def divided(facts: Facts, objects: TargetObjects) -> tuple[DesiredRoles, DesiredRoles]:
    state = state_of(facts, "postgresql")
    wish = desired_roles(state, MAPPING, SCOPE, objects, NOW)
    return wish, roles(POSTGRESQL, state, SCOPE, wish, objects)


def holders(of: DesiredRoles) -> dict[Grant, frozenset[str]]:
    return held_by_anybody(Roles({**numbered(of.roles).roles, **of.named}))


def data(role: Role) -> dict[str, Any]:
    text: dict[str, Any] = json.loads(json.dumps(as_data(Roles({"one": role}))))["one"]
    return {name: text[name] for name in ("members", "grants")}


def in_order(rows: list[Any]) -> list[Any]:
    return sorted(rows, key=json.dumps)


def test_roles_are_those_of_the_original() -> None:
    golden = json.loads(GOLDEN.read_text())
    wish, made = divided(small(), there())
    for name, role in golden["roles"].items():
        found = data(made.named[name])
        assert found["members"] == role["members"], name
        assert in_order(found["grants"]) == in_order(role["grants"]), name
    assert made.named.keys() == golden["roles"].keys()
    others = [data(role) for role in made.roles if not role.is_empty]
    assert in_order([{**one, "grants": in_order(one["grants"])} for one in others]) == in_order(
        [{**one, "grants": in_order(one["grants"])} for one in golden["others"]]
    )
    left_out = [[one.principal, one.entity, one.access] for one in made.residues]
    assert sorted(left_out) == golden["left_out"]
    assert holders(made) == holders(wish)


@pytest.mark.parametrize("name", ["readers", f"{GROUP_PREFIX}analysts"])
def test_a_name_that_the_database_has_already_is_left_to_others(name: str) -> None:
    wish, made = divided(small(), there(name))
    assert name not in made.named
    assert holders(made) == holders(wish)


@pytest.mark.parametrize("name", ["pg_reader", "lw_pg_1", "Public", "none", "é" * 32])
def test_a_name_that_no_role_there_can_have_is_left_out(name: str) -> None:
    wish, made = divided(with_role(name), there())
    assert name not in made.named
    assert holders(made) == holders(wish)


def with_role(name: str) -> Facts:
    """The small realm, with another name for the role `readers`."""

    def renamed(one: Principal) -> Principal:
        return Principal(one.kind, f"lk:{name}") if one.name == "lk:readers" else one

    facts = small()
    return replace(
        facts,
        principals=[renamed(one) for one in facts.principals],
        memberships=[MembershipRow(one.member, renamed(one.of)) for one in facts.memberships],
        statements=[
            replace(one, principals=frozenset(map(renamed, one.principals)))
            for one in facts.statements
        ],
    )


# --- a real database ---


def check(server: str, facts: Facts, seed: int) -> Counter[str]:
    """The database grants the same as without the style, and never more than allowed."""
    counts: Counter[str] = Counter()
    with estate(server, facts) as plain:
        made = replace(plain, style="gravitino")
        for world in (made, made.with_facts(altered(facts, seed)), made):
            wish, _ = world.push()
            counts += compare(world, wish)
            assert held_by_anybody(world.managed_roles()) == held_by_anybody(numbered(wish.roles))
            counts["named"] += sum(
                _is_original(world, name) for name in world.managed_roles().roles
            )
            assert world.push()[1] == 0
        plain.push()
        assert all(name.startswith("lw_pg_") for name in plain.managed_roles().roles)
    return counts


def held_by_anybody(of: Roles) -> dict[Grant, frozenset[str]]:
    """The holders of each grant; a role of the original may have no members."""
    return {grant: users for grant, users in of.holders().items() if users}


def numbered(roles: tuple[Role, ...]) -> Roles:
    return Roles({str(number): role for number, role in enumerate(roles)})


def _is_original(made: Estate, name: str) -> bool:
    return not name.startswith(made.address.prefix)


def test_the_database_allows_what_the_kernel_allows(postgres_url: str) -> None:
    counts = check(postgres_url, limited(facts_of(DAY[0]), DAY[0]), DAY[0])
    counts += check(postgres_url, facts_of(DAY[1]), DAY[1])
    assert counts["True True"] > 50, counts
    assert counts["False False"] > 100, counts
    assert counts["named"] > 3, counts


@pytest.mark.nightly
@pytest.mark.parametrize("seed", NIGHT)
def test_the_database_allows_what_the_kernel_allows_in_many_worlds(
    postgres_url: str, seed: int
) -> None:
    check(postgres_url, limited(facts_of(seed), seed), seed)


def test_a_role_of_the_original_is_handed_over_by_our_mark(postgres_url: str) -> None:
    """A migration from Gravitino has such roles already: with our comment they are ours."""
    facts = facts_of(DAY[0])
    with estate(postgres_url, facts) as plain:
        made = replace(plain, style="gravitino")
        made.push()
        name = min(name for name in made.managed_roles().roles if _is_original(made, name))
        with administrator(made.address.url) as connection:
            role = sql.Identifier(name)
            connection.execute(sql.SQL("COMMENT ON ROLE {} IS NULL").format(role))
            made.push()
            assert name not in made.managed_roles().roles
            mark = sql.Literal(made.address.mark)
            connection.execute(sql.SQL("COMMENT ON ROLE {} IS {}").format(role, mark))
        made.push()
        assert name in made.managed_roles().roles
