"""A table of another storage engine may read other tables' rows: it must not bypass denials."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import pymysql
import pytest

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.principal import USER, Principal, members_of
from lakewarden.kernel.relations import EntityRow, Facts, MembershipRow
from lakewarden.kernel.statement import Effect, On, Statement
from lakewarden.pushdown import push
from lakewarden.pushdown.desired_state import DesiredRoles, desired_roles
from lakewarden.pushdown.grants import Grant, Path
from lakewarden.pushdown.mariadb_engines import merged, underlying_tables
from lakewarden.testing.world_draft import NOW
from tests.pushdown.mariadb_estate import MariadbEstate, administrator, estate, execute

LAKE, CATALOG, SCHEMA = Entity("metalake", "m"), Entity("catalog", "m:c"), Entity("schema", "m:c.s")
ALL, PART, LEFT = (Entity("table", f"m:c.s.{name}") for name in ("all of it", "pa`rt", "left"))
IBAN = Entity("column", f"{PART.name}.iban")
ANA, BO = (Principal(USER, name) for name in ("ana", "bo"))
BOTH = frozenset({ANA, BO})
RIGHTS = ("SELECT_TABLE", "INSERT_ROWS", "UPDATE_ROWS", "DELETE_ROWS")
USES = frozenset({"USE_CATALOG", "USE_SCHEMA"})
ALLOWED = Statement("allowed", Effect.ALLOW, USES.union(RIGHTS), On(CATALOG), BOTH)
STATEMENTS = {
    "SELECT": "SELECT iban FROM s.`all of it`",
    "INSERT": "INSERT INTO s.`all of it` (iban) VALUES ('n')",
    "UPDATE": "UPDATE s.`all of it` SET amount = 9",
    "DELETE": "DELETE FROM s.`all of it`",
}


def facts(*statements: Statement, but: Entity | None = None) -> Facts:
    above = {LAKE: None, CATALOG: LAKE, SCHEMA: CATALOG, ALL: SCHEMA, PART: SCHEMA, LEFT: SCHEMA}
    above |= {IBAN: PART}
    return Facts(
        entities=[EntityRow(one, parent) for one, parent in above.items() if one != but],
        principals=[ANA, BO],
        memberships=[MembershipRow(one, members_of("m")) for one in BOTH],
        statements=[ALLOWED, *statements],
    )


@pytest.fixture(params=["mariadb_url", pytest.param("mysql_url", marks=pytest.mark.nightly)])
def made(request: pytest.FixtureRequest) -> Iterator[MariadbEstate]:
    """A server with a table that merges two others, one of them elsewhere."""
    with (
        estate(request.getfixturevalue(request.param), facts()) as one,
        administrator(one.address.url) as admin,
    ):
        execute(admin, "DROP TABLE s.`all of it`")
        for name in ("s.`pa``rt`", "s.`left`"):
            execute(admin, f"ALTER TABLE {name} ENGINE = MyISAM")
        execute(admin, "CREATE DATABASE elsewhere")
        for name in ("elsewhere.more", "s.`all of it`"):
            execute(admin, f"CREATE TABLE {name} LIKE s.`left`")
        execute(
            admin,
            "ALTER TABLE s.`all of it` ENGINE = MERGE COMMENT = ' UNION=(`x`)'"
            " UNION = (s.`pa``rt`, s.`left`, elsewhere.more) INSERT_METHOD = LAST",
        )
        yield one


def may(made: MariadbEstate, user: Principal, statement: str) -> bool:
    with made.as_user(user) as own:
        try:
            execute(own, statement)
        except pymysql.MySQLError as error:
            if error.args[0] not in (1142, 1143):
                raise
            return False
    return True


def pushed(made: MariadbEstate, *statements: Statement, but: Entity | None = None) -> DesiredRoles:
    wish, _ = made.with_facts(facts(*statements, but=but)).push()
    return wish


def whys(wish: DesiredRoles, act: str) -> set[str]:
    at = (f"table:{ALL.name}", f"user:{ANA.name}", act)
    return {one.why for one in wish.residues if (one.entity, one.principal, one.access) == at}


def test_a_table_is_not_reached_by_whom_one_that_it_merges_is_denied(made: MariadbEstate) -> None:
    wish = pushed(made)
    assert not wish.residues.count
    assert all(may(made, user, one) for one in STATEMENTS.values() for user in BOTH)
    for act, right in zip(STATEMENTS, RIGHTS, strict=True):
        denied = Statement("no", Effect.DENY, frozenset({right}), On(PART), frozenset({ANA}))
        wish = pushed(made, denied)
        for other, statement in STATEMENTS.items():
            assert may(made, ANA, statement) == (act != other), (act, other)
            assert may(made, BO, statement)
            said = {"it reaches `s.pa`rt`, where it is denied"} if act == other else set()
            assert whys(wish, other) == said


@pytest.mark.parametrize(
    "limit",
    [
        Statement("eu", Effect.FILTER, frozenset(), On(PART), frozenset({ANA}),
                  expression="region = 'eu'"),
        pytest.param(
            Statement("no", Effect.MASK, frozenset(), On(IBAN), frozenset({ANA}),
                      expression="null"),
            marks=pytest.mark.nightly,
        ),
    ],
)  # fmt: skip
def test_a_table_is_not_reached_by_whom_a_filter_or_mask_on_a_merged_one_binds(
    made: MariadbEstate, limit: Statement
) -> None:
    wish = pushed(made, limit)
    for act, statement in STATEMENTS.items():
        assert not may(made, ANA, statement)
        assert may(made, BO, statement)
        assert {one.split(",")[0] for one in whys(wish, act)} == {"it reaches `s.pa`rt`"}
    assert made.push()[0].residues.count == 0


def test_what_the_realm_does_not_store_is_a_part_of_what_merges_it(made: MariadbEstate) -> None:
    denied = Statement("no", Effect.DENY, frozenset(RIGHTS), On(PART), frozenset({ANA}))
    assert pushed(made, denied).residues.count
    assert not pushed(made, but=LEFT).residues.count
    assert may(made, ANA, STATEMENTS["SELECT"])


def test_drift_names_whom_others_let_read_a_table_by_one_that_lists_it(
    made: MariadbEstate,
) -> None:
    denied = Statement("no", Effect.DENY, frozenset(RIGHTS), On(PART), frozenset({ANA}))
    own = made.with_facts(facts(denied))
    own.push()
    with administrator(made.address.url) as admin:
        execute(admin, "CREATE TABLE elsewhere.`lists it` LIKE s.`left`")
        execute(admin, "ALTER TABLE elsewhere.`lists it` ENGINE = MERGE UNION = (s.`pa``rt`)")
        execute(admin, "GRANT SELECT ON elsewhere.* TO ana, bo")
    with own.connected() as database:
        found = push.drift(database, own.state, own.target, NOW).foreign
    by_merge = {one.grantee: one for one in found if "THROUGH MERGE" in one.grant.privilege}
    assert {one.grant for one in by_merge.values()} == {
        Grant(("s", "pa`rt"), "SELECT THROUGH MERGE elsewhere.lists it")
    }
    assert (by_merge["ana"].denied, by_merge["bo"].denied) == (("ana",), ())


def test_an_engine_that_is_not_known_is_for_nobody() -> None:
    engines = [(("s", "own"), "InnoDB"), (("s", "far"), "FEDERATED"), (("s", "broken"), None)]
    found = underlying_tables(lambda _: [], engines)
    assert {path[1] for path in found.unknown} == {"far", "broken"}
    assert not found.below


def test_columns_of_such_a_table_are_for_nobody_either(made: MariadbEstate) -> None:
    select = Statement("iban", Effect.ALLOW, USES | {"SELECT_COLUMN"}, On(IBAN), BOTH)
    state = made.with_facts(replace(facts(), statements=[select])).state
    with made.connected() as database:
        objects = database.objects()
    far: dict[Path, str] = {("s", "pa`rt"): "far away"}
    nothing: dict[Path, str] = {}
    for refused, count in ((nothing, 1), (far, 0)):
        wish = desired_roles(
            state, made.mapping, made.scope, replace(objects, refused=refused), NOW
        )
        grants = {grant for role in wish.roles for grant in role.grants if len(grant.path) == 3}
        assert len(grants) == count


@pytest.mark.parametrize(
    ("ends", "tables"),
    [
        ("", None),
        (" COMMENT=' UNION=(`a`)'", None),
        (" DEFAULT CHARSET=latin1 COMMENT=' UNION=(`a`)' UNION=(`b`)", {("h", "b")}),
        (" UNION=(`b`) COMMENT='it''s \\' UNION=(`a`)'", {("h", "b")}),
        (" UNION=(`a`,`b.c`,`d`.`e``)`)", {("h", "a"), ("h", "b.c"), ("d", "e`)")}),
        (" UNION=(a)", None),
        (" UNION=(`b`) PARTITION BY HASH (a)", None),
    ],
)
def test_what_a_table_merges_is_an_option_of_its_statement(
    ends: str, tables: set[tuple[str, ...]] | None
) -> None:
    column = "`a\n) ENGINE=MRG_MyISAM UNION=(``x``)` int"
    assert merged(f"CREATE TABLE `m` (\n  {column}\n) ENGINE=MRG_MyISAM{ends}", "h") == tables
