"""Names that PostgreSQL would fold, truncate or quote differently, and limited periods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import pytest

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.principal import USER, Principal, members_of
from lakewarden.kernel.relations import EntityRow, Facts, MembershipRow
from lakewarden.kernel.statement import Effect, On, Statement
from lakewarden.testing.world_draft import NOW
from tests.pushdown.postgresql_estate import Estate, administrator, estate
from tests.pushdown.test_postgresql import _compare_rows, compare

NAMES = (
    *(
        "orders",
        "Orders",
        "ORDERS",
        "\u043erders",
        "\uff4frders",
        "order",
        "select",
        "user",
        "PUBLIC",
        "None",
    ),
    *('"', '""', "'", "''", "`", "$$", "$1", "%s", "%", "_", "\\", "--", "/*", ";", "a b", "{}"),
    *(
        'x"; DROP TABLE t; --',
        "') OR true --",
        "é",
        "e\u0301",
        "山田",
        "🦊",
        "n" * 63,
        "n" * 62 + "é",
    ),
    "n" * 80,
)
"""Names of tables and users; the last two are longer than PostgreSQL's limit."""

LONG = NAMES[-2:]
METALAKE = Entity("metalake", "m")
CATALOG = Entity("catalog", "m:c")


def facts_of_names(names: Sequence[str] = NAMES) -> Facts:
    """Each user may read the table of the same name, with a filter, with a mask, or completely."""
    schema = Entity("schema", "m:c.Sales %")
    tables = {name: Entity("table", f"{schema.name}.{name}") for name in names}
    users = {name: Principal(USER, name) for name in names}
    above = [EntityRow(METALAKE, None), EntityRow(CATALOG, METALAKE), EntityRow(schema, CATALOG)]
    limits = (
        ("filter", Effect.FILTER, "region = $user.name or amount < 3"),
        ("mask", Effect.MASK, "constant '\"%s'''"),
    )
    return Facts(
        entities=[*above, *(EntityRow(one, schema) for one in tables.values())],
        principals=[*users.values()],
        memberships=[MembershipRow(one, members_of("m")) for one in users.values()],
        statements=[
            Statement(
                "use",
                Effect.ALLOW,
                frozenset({"USE_CATALOG", "USE_SCHEMA"}),
                On(CATALOG),
                frozenset({members_of("m")}),
            ),
            *(
                Statement(
                    f"read-{number}",
                    Effect.ALLOW,
                    frozenset({"SELECT_TABLE"}),
                    On(tables[name]),
                    frozenset({users[name]}),
                )
                for number, name in enumerate(names)
            ),
            *(
                Statement(
                    f"{kind}-{number}",
                    effect,
                    frozenset(),
                    On(tables[name]),
                    frozenset(),
                    expression=text,
                )
                for kind, effect, text in limits
                for number, name in enumerate(names)
                if number % 3 == (kind == "mask")
            ),
        ],
    )


def test_names_are_exact(postgres_url: str) -> None:
    """A user with a similar or truncated name has none of another user's rights."""
    with estate(postgres_url, facts_of_names(), but=LONG) as made:
        wish, _ = made.push()
        compare(made, wish)
        assert made.push()[1] == 0
        here = [user for user in made.users() if user.name not in LONG]
        held, views = made.managed_roles(), made.views()
        privileges = {user: made.held_privileges(user, held) for user in here}
        for user in here:
            read = {path[-1] for path, what in privileges[user] if "SELECT" in what}
            assert read == {user.name}
        with administrator(made.address.url) as whole:
            for user in here[::4]:
                rows = _compare_rows(made, user, privileges[user], views, whole)
                assert rows["SELECT True"] <= 1
        about = {one.entity for one in wish.residues} | {one.principal for one in wish.residues}
        for name in LONG:
            assert {f"table:m:c.Sales %.{name}", f"user:{name}"} <= about


def _held(made: Estate, user: str) -> set[str]:
    return {what for path, what in made.held_privileges(Principal(USER, user)) if len(path) > 1}


@pytest.mark.by_day(2)
@pytest.mark.parametrize(
    ("begins", "ends", "given"),
    [
        (None, None, True),
        (NOW - 5, None, True),
        (NOW + 5, None, False),
        (None, NOW + 5, False),
        (NOW - 5, NOW + 5, False),
        (NOW - 9, NOW - 5, False),
    ],
)
def test_only_access_without_an_end_is_granted(
    postgres_url: str, begins: float | None, ends: float | None, given: bool
) -> None:
    facts = facts_of_names(NAMES[:3])
    statements = [
        replace(one, valid_from=begins, valid_until=ends) if one.id == "read-2" else one
        for one in facts.statements
    ]
    with estate(postgres_url, replace(facts, statements=statements)) as made:
        wish, _ = made.push()
        compare(made, wish)
        assert _held(made, NAMES[2]) == ({"SELECT"} if given else set())
        ending = [one for one in wish.residues if one.why.startswith("it expires")]
        is_now = (begins or NOW) <= NOW < (ends or NOW + 1)
        assert bool(ending) == (is_now and not given)
