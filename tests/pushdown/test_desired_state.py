"""The wanted state of a target, without a target."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pytest

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.statement import Effect, On, Statement
from lakewarden.pushdown.desired_state import DesiredRoles, desired_roles
from lakewarden.pushdown.grants import Grant, Path
from lakewarden.pushdown.target_objects import Scope, TargetObjects
from lakewarden.testing.world_draft import NOW
from tests.pushdown.estate import state_of
from tests.pushdown.postgresql_estate import MAPPING
from tests.pushdown.test_postgresql_inheritance import ANA, IBANS, ORDERS, bound, denied, facts

TABLES: Mapping[Path, Mapping[str, str]] = {
    ("s", name): {"iban": "text"} for name in ("orders", "part", "secret")
}
THERE = TargetObjects(frozenset({"ana", "bo"}), frozenset({"s"}), TABLES)


def told(there: TargetObjects, *statements: Statement) -> DesiredRoles:
    realm = state_of(facts(*statements), "postgresql")
    return desired_roles(realm, MAPPING, Scope("m", "c"), there, NOW)


def holders(of: DesiredRoles, grant: Grant) -> set[str]:
    return {name for role in of.roles if grant in role.grants for name in role.members}


def test_what_is_refused_and_the_realm_does_not_have_is_nothing() -> None:
    assert not told(replace(THERE, refused={("other",): "its name is too long"})).residues.count


@pytest.mark.parametrize("there", [True, False])
def test_a_denied_column_narrows_its_table_whether_or_not_it_is_there(there: bool) -> None:
    """It could be added before the next push."""
    columns: Mapping[Path, Mapping[str, str]] = {
        **TABLES,
        ("s", "orders"): {"iban": "text"} if there else {"region": "text"},
    }
    made = told(replace(THERE, columns=columns), denied("UPDATE_ROWS", IBANS[0]))
    assert holders(made, Grant(("s", "orders"), "UPDATE")) == {"bo"}
    assert not holders(made, Grant(("s", "orders", "iban"), "UPDATE"))
    assert holders(made, Grant(("s", "orders"), "SELECT")) == {"ana", "bo"}


def test_a_child_that_the_realm_has_as_something_else_is_not_reached() -> None:
    below: Mapping[Path, frozenset[Path]] = {("s", "orders"): frozenset({("s", "part")})}
    there = replace(THERE, descendants=below, views=frozenset({("s", "part")}))
    made = told(there)
    assert not holders(made, Grant(("s", "orders"), "SELECT"))
    (why,) = {one.why for one in made.residues if one.entity.endswith(ORDERS.name)}
    assert why == "it reaches `s.part`, where it is denied"


def test_a_deny_on_a_column_that_the_realm_does_not_store_narrows_the_table() -> None:
    """A grant on the table would include the column."""
    columns: Mapping[Path, Mapping[str, str]] = {
        **TABLES,
        ("s", "orders"): {"iban": "text", "mail": "text"},
    }
    mail = Entity("column", f"{ORDERS.name}.mail")
    for right, act in (("UPDATE_ROWS", "UPDATE"), ("SELECT_COLUMN", "SELECT")):
        made = told(replace(THERE, columns=columns), denied(right, mail))
        assert holders(made, Grant(("s", "orders"), act)) == {"bo"}
        assert holders(made, Grant(("s", "orders", "iban"), act)) == {"ana"}
        assert holders(made, Grant(("s", "orders"), "INSERT")) == {"ana", "bo"}


@pytest.mark.parametrize("name", ["IBAN", "Iban.country"])
def test_a_column_is_not_granted_that_is_denied_by_another_name(name: str) -> None:
    """MariaDB does not distinguish the names, like engines on top of PostgreSQL."""
    other = Entity("column", f"{ORDERS.name}.{name}")
    for right, act in (("UPDATE_ROWS", "UPDATE"), ("SELECT_COLUMN", "SELECT")):
        made = told(THERE, denied(right, other))
        assert holders(made, Grant(("s", "orders"), act)) == {"bo"}
        assert not holders(made, Grant(("s", "orders", "iban"), act))
        assert holders(made, Grant(("s", "orders"), "INSERT")) == {"ana", "bo"}
        why = "it is denied on a column whose name differs only in case, or is a part of it"
        assert {one.principal for one in made.residues if one.why == why} == {"user:ana"}


def test_a_column_denied_by_another_name_is_not_granted_without_its_table() -> None:
    iban, grant = IBANS[0], Grant(("s", "orders", "iban"), "SELECT")
    who = frozenset({ANA})
    column = Statement("one", Effect.ALLOW, frozenset({"SELECT_COLUMN"}), On(iban), who)
    table = denied("SELECT_TABLE", ORDERS)
    assert holders(told(THERE, table, column), grant) == {"ana"}
    other = Entity("column", f"{ORDERS.name}.IBAN")
    assert not holders(told(THERE, table, column, denied("SELECT_COLUMN", other)), grant)


@pytest.mark.parametrize(("name", "there"), [("IBAN", "iban"), ("mail", "MAIL"), ("m.a", "M")])
def test_a_mask_on_a_column_that_is_not_stored_hides_it_by_all_its_names(
    name: str, there: str
) -> None:
    columns = {**TABLES, ("s", "orders"): {there: "text"}}
    mask = bound(Effect.MASK, Entity("column", f"{ORDERS.name}.{name}"), "null")
    made = told(replace(THERE, columns=columns), mask)
    assert holders(made, Grant(("s", "orders"), "SELECT")) == {"bo"}
    (view,) = {view for role in made.roles for view in role.views}
    assert view.columns[0][0] == there
    assert view.columns[0][1]
