"""Roles with Gravitino's names in a MariaDB: like its plugin's, within the permissions."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from lakewarden.engines.mapping import of_model
from lakewarden.kernel.relations import Facts
from lakewarden.pushdown.desired_state import desired_roles
from lakewarden.pushdown.grants import Grant, KnownRoles, Roles
from lakewarden.pushdown.mariadb_names import quoted
from lakewarden.pushdown.target_objects import TargetObjects
from lakewarden.systems.gravitino.push.database_roles import MARIADB, roles
from lakewarden.testing.world_draft import NOW
from tests.pushdown.estate import altered, facts_of, state_of
from tests.pushdown.limits import limited
from tests.pushdown.mariadb_estate import MariadbEstate, administrator, estate, execute
from tests.pushdown.test_mariadb import compare
from tests.systems.gravitino.push.test_database_roles import (
    SCOPE,
    data,
    held_by_anybody,
    holders,
    in_order,
    numbered,
    small,
    there,
    with_role,
)

GOLDEN = Path(__file__).parents[3] / "golden/push/gravitino-mariadb.json"
MAPPING = of_model("gravitino")["mysql"]
DAY, NIGHT = (2, 5), range(100, 200)


def test_roles_are_those_of_the_original() -> None:
    golden = json.loads(GOLDEN.read_text())
    state, objects = state_of(small(), "mysql"), there()
    wish = desired_roles(state, MAPPING, SCOPE, objects, NOW)
    made = roles(MARIADB, state, SCOPE, wish, objects)
    found = {name: data(role) for name, role in made.named.items()}
    assert {name: {**role, "grants": in_order(role["grants"])} for name, role in found.items()} == {
        name: {**role, "grants": in_order(role["grants"])} for name, role in golden["roles"].items()
    }
    left_out = sorted([one.principal, one.entity, one.access] for one in made.residues)
    assert left_out == golden["left_out"]
    assert holders(made) == holders(wish)


def check(server: str, facts: Facts, seed: int) -> Counter[str]:
    """The server grants the same as without the style, and never more than allowed."""
    counts: Counter[str] = Counter()
    with estate(server, facts) as plain:
        made, last = replace(plain, style="gravitino"), Roles()
        for world in (made, made.with_facts(altered(facts, seed)), made):
            wish, _ = world.push(last)
            last = held_with(world, names_of(world))
            counts += compare(world, wish)
            assert held_by_anybody(last) == held_by_anybody(numbered(wish.roles))
            named = [name for name in last.roles if not name.startswith("lw_pg_")]
            counts["named"] += len(named)
            assert world.push(last)[1] == 0
        plain.push(last)
        with administrator(plain.address.url) as connection:
            there_now = execute(connection, "SELECT User FROM mysql.user WHERE is_role = 'Y'")
        assert not {name for (name,) in there_now} & {name for name in last.roles
                                                      if not name.startswith("lw_pg_")}  # fmt: skip
    return counts


def names_of(made: MariadbEstate) -> list[str]:
    """The names of all roles of the server, as the store knows the created ones."""
    with administrator(made.address.url) as connection:
        found = execute(connection, "SELECT User FROM mysql.user WHERE is_role = 'Y'")
    return [name for (name,) in found if name != "PUBLIC" and not name.startswith("lw_pg-")]


def held_with(made: MariadbEstate, names: list[str]) -> Roles:
    with made.connected() as database:
        database.claim(KnownRoles(frozenset(names)))
        return database.managed_roles()


def test_the_server_allows_what_the_kernel_allows(mariadb_url: str) -> None:
    counts = check(mariadb_url, limited(facts_of(DAY[0]), DAY[0]), DAY[0])
    assert counts["True True"] > 20, counts
    assert counts["False False"] > 50, counts
    assert counts["named"] > 1, counts


@pytest.mark.nightly
@pytest.mark.parametrize("seed", NIGHT)
def test_the_server_allows_what_the_kernel_allows_in_many_worlds(
    mariadb_url: str, seed: int
) -> None:
    check(mariadb_url, limited(facts_of(seed), seed), seed)


def test_a_role_that_somebody_made_is_left_to_them(mariadb_url: str) -> None:
    """Also a role created by the pushing account: only roles that the store knows are ours."""
    facts = facts_of(DAY[1])
    with estate(mariadb_url, facts) as plain:
        made = replace(plain, style="gravitino")
        made.push()
        name = min(one for one in names_of(made) if not one.startswith("lw_pg_"))
        with administrator(made.address.url) as connection:
            made.push(held_with(made, names_of(made)))
            plain.push(held_with(made, names_of(made)))
            execute(connection, f"CREATE ROLE {quoted(name)}")
            made.push()
            with made.connected() as database:
                objects: TargetObjects = database.objects()
                held = database.managed_roles()
        assert name in objects.roles
        assert name not in held.roles


def test_a_name_with_a_sign_that_the_server_lacks_is_left_out() -> None:
    """Role names have three bytes per character there, and a push would fail at such a one."""
    state, objects = state_of(with_role("readers🦊"), "mysql"), there()
    wish = desired_roles(state, MAPPING, SCOPE, objects, NOW)
    made = roles(MARIADB, state, SCOPE, wish, objects)
    assert "readers🦊" not in made.named
    assert holders(made) == holders(wish)


def test_what_is_altered_has_a_word_there() -> None:
    state, objects = state_of(small(), "mysql"), there()
    wish = desired_roles(state, MAPPING, SCOPE, objects, NOW)
    made = roles(MARIADB, state, SCOPE, wish, objects)
    assert Grant(("sales", "orders"), "ALTER") in made.named["writers"].grants
