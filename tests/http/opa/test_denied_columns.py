"""A DENY on a column of a table on which Trino's act is allowed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from lakewarden.config.engines import TrinoRealm
from lakewarden.engines.mapping import of_model
from lakewarden.http.opa.evaluator import Evaluator
from lakewarden.http.opa.question import Action, Context, Identity, Question, Resource, Table
from lakewarden.kernel.matrix import Matrix
from lakewarden.kernel.principal import members_of
from lakewarden.kernel.relations import AttributeRow, EntityRow, Facts, MembershipRow, OwnerRow
from lakewarden.kernel.snapshot import compile
from lakewarden.kernel.statement_file import read_statements
from lakewarden.models import own
from lakewarden.service.realm import Realm
from lakewarden.service.state import People, RealmState
from lakewarden.service.system import System, load_system

ORDERS, IBAN, NEW = "table:lk:c.s.orders", "column:lk:c.s.orders.iban", "column:lk:c.s.orders.new"
ENTITIES = ("metalake:lk", "catalog:lk:c", "schema:lk:c.s", ORDERS, IBAN, "column:lk:c.s.orders.id")
RIGHTS = ("USE_CATALOG", "USE_SCHEMA", "SELECT_TABLE", "INSERT_ROWS", "UPDATE_ROWS", "DELETE_ROWS")
ENGINES = ("iceberg", "polaris", "spark", "trino")
USERS = ("ana", "bo", "mia", "olga")
"""`mia` may also modify all tables, `olga` owns this one."""

Stated = Mapping[str, Any]


def state_of(system: System, facts: Facts) -> RealmState:
    matrix = Matrix(compile(facts, system.model, system.spelling))
    return RealmState(Realm("lake", system.model.name), system, matrix, People())


def lake(
    *denied: Stated,
    owns_catalog: str = "",
    more: Sequence[str] = (),
    in_use: Mapping[str, str] = {},
) -> RealmState:
    """The realm with additional statements, DENYs by default, and entities."""
    system = load_system("gravitino", dict.fromkeys(ENGINES, "on"))
    entities = [system.entity(text) for text in (*ENTITIES, *more)]
    users = {name: system.principal(name) for name in USERS}
    stated: list[Stated] = [
        {"id": "all", "privileges": [*RIGHTS], "on": "catalog:lk:c", "to": ["members:lk"]},
        {"id": "mod", "privileges": ["MODIFY_TABLE"], "on": "catalog:lk:c", "to": ["user:mia"]},
        *({"id": f"no-{n}", "effect": "deny", **one} for n, one in enumerate(denied)),
    ]
    return state_of(
        system,
        Facts(
            entities=[EntityRow(one, system.spelling.parent(one)) for one in entities],
            owners=[
                OwnerRow(system.entity(on), users[who])
                for on, who in ((ORDERS, "olga"), ("catalog:lk:c", owns_catalog))
                if who
            ],
            principals=[*users.values()],
            memberships=[MembershipRow(one, members_of("lk")) for one in users.values()],
            attributes=[AttributeRow(system.entity(on), "in-use", in_use[on]) for on in in_use],
            statements=read_statements(stated, system.model, system.spelling, "test"),
        ),
    )


def denying(on: str, *privileges: str, to: Sequence[str] = ("user:ana",)) -> Stated:
    return {"privileges": [*privileges], "on": on, "to": [*to]}


def evaluator(
    realm: RealmState, user: str, act: str, columns: list[str] | None = None, **more: Any
) -> Evaluator:
    resource = Resource(table=Table("c", "s", "orders", columns))
    action = Action(act, **(more or {"resource": resource}))
    question = Question(Context(Identity(user)), action)
    mapping = realm.system.engines["trino"]
    return Evaluator(realm, mapping, TrinoRealm(metalake="lk"), question, 0.0)


def who(realm: RealmState, act: str, columns: list[str] | None = None) -> str:
    found = [user for user in USERS if evaluator(realm, user, act, columns).allows()]
    return " ".join(found)


EVERYBODY = " ".join(USERS)


@pytest.mark.parametrize("on", [IBAN, NEW])
def test_columns_that_are_named_are_changed_without_those_that_are_denied(on: str) -> None:
    realm, name = lake(denying(on, "UPDATE_ROWS", to=["members:lk"])), on.rpartition(".")[2]
    assert who(realm, "UpdateTableColumns", ["id"]) == EVERYBODY
    assert who(realm, "UpdateTableColumns", ["id", name]) == "mia olga"
    assert who(realm, "UpdateTableColumns") == "mia olga"
    assert who(realm, "InsertIntoTable") == who(realm, "DeleteFromTable") == EVERYBODY
    assert who(realm, "SelectFromColumns", [name]) == EVERYBODY


@pytest.mark.parametrize("on", [IBAN, NEW])
def test_rows_are_added_by_whom_no_column_is_denied(on: str) -> None:
    """Trino does not send the columns: a DENY on any of them counts."""
    realm = lake(denying(on, "INSERT_ROWS"))
    assert who(realm, "InsertIntoTable") == "bo mia olga"
    assert who(realm, "UpdateTableColumns", ["id", "iban", "new"]) == EVERYBODY


def test_a_right_to_modify_and_ownership_stand_where_a_deny_names_another_right() -> None:
    realm = lake(denying(IBAN, "UPDATE_ROWS", "INSERT_ROWS", "SELECT_COLUMN", to=["members:lk"]))
    for act in ("InsertIntoTable", "UpdateTableColumns", "SelectFromColumns"):
        assert who(realm, act, ["iban"] if act != "InsertIntoTable" else None) == "mia olga", act


def test_a_column_is_not_read_by_whom_it_is_denied_and_not_listed() -> None:
    realm = lake(denying(IBAN, "SELECT_COLUMN"))
    for act in ("SelectFromColumns", "CreateViewWithSelectFromColumns"):
        assert who(realm, act, ["iban"]) == who(realm, act, ["id", "iban"]) == "bo mia olga"
        assert who(realm, act, ["id"]) == who(realm, act, []) == EVERYBODY
    assert who(realm, "FilterTables") == who(realm, "ShowColumns") == EVERYBODY
    for user, shown in (("ana", [0, 2]), ("bo", [0, 1, 2]), ("eve", [])):
        columns = [Resource(table=Table("c", "s", "orders", ["id", "iban", "new"]))]
        asked = evaluator(realm, user, "FilterColumns", filter_resources=columns)
        assert list(asked.allowed_indices()) == shown
    # Without an address for batches, Trino sends a request for each.
    assert who(realm, "FilterColumns", ["iban"]) == "bo mia olga"
    assert who(realm, "FilterColumns", ["id"]) == who(realm, "FilterColumns", ["new"]) == EVERYBODY


def test_a_column_that_has_no_name_in_the_realm_could_be_any() -> None:
    realm = lake(denying(IBAN, "UPDATE_ROWS"))
    assert who(realm, "UpdateTableColumns", ["id", "a.b"]) == "bo mia olga"
    assert who(lake(), "UpdateTableColumns", ["id", "a.b"]) == EVERYBODY


@pytest.mark.parametrize("stored", [True, False])
@pytest.mark.parametrize(("name", "asked"), [("IBAN", "iban"), ("tax", "TAX"), ("Tax.No", "tAX")])
def test_a_column_is_denied_by_all_its_names(name: str, asked: str, stored: bool) -> None:
    on = f"column:lk:c.s.orders.{name}"
    realm = lake(denying(on, "SELECT_COLUMN"), more=[on] if stored else [])
    assert who(realm, "SelectFromColumns", [asked]) == "bo mia olga"
    assert who(realm, "SelectFromColumns", ["id"]) == EVERYBODY
    columns = [Resource(table=Table("c", "s", "orders", ["id", asked]))]
    shown = evaluator(realm, "ana", "FilterColumns", filter_resources=columns)
    assert list(shown.allowed_indices()) == [0]


@pytest.mark.parametrize("name", ["IBAN", "Iban.Country"])
def test_a_column_that_is_allowed_by_itself_is_denied_by_all_its_names(name: str) -> None:
    """For a user without access to the whole table."""
    allowed = {"effect": "allow", "privileges": ["SELECT_COLUMN"], "on": IBAN, "to": ["user:ana"]}
    table = denying(ORDERS, "SELECT_TABLE")
    assert "ana" in who(lake(table, allowed), "SelectFromColumns", ["iban"])
    on = denying(f"column:lk:c.s.orders.{name}", "SELECT_COLUMN")
    assert "ana" not in who(lake(table, allowed, on), "SelectFromColumns", ["iban"])


def test_the_decision_behind_a_no_is_that_about_the_column() -> None:
    realm = lake(denying(IBAN, "UPDATE_ROWS", "INSERT_ROWS"))
    for act, columns in (("UpdateTableColumns", ["iban"]), ("InsertIntoTable", None)):
        denied = evaluator(realm, "ana", act, columns).denied()
        assert denied is not None
        assert denied.entity == IBAN
    denied = evaluator(realm, "eve", "InsertIntoTable").denied()
    assert denied is not None
    assert denied.entity == ORDERS


RIGHTS_ON_BOOKS = ["READ", "WRITE", "MOVE"]
OWN = """
[model]
name = "books"
title = "Books"
version = "1"
source = "made for tests"
spelling = "plain"
reach = "exactly"
denies = true
[types.book]
[types.page]
parent = "book"
[privileges.READ]
on = ["book", "page"]
[privileges.WRITE]
on = ["book", "page"]
[privileges.MOVE]
on = ["book"]
[operations.read]
on = ["book", "page"]
rule = "READ"
[operations.write]
on = ["book", "page"]
rule = "WRITE"
[operations.move]
on = "book"
rule = "MOVE"
[engines.trino]
rest = "nothing else"
[engines.trino.names]
table = { type = "book", name = "{table}" }
[engines.trino.acts.SelectFromColumns]
on = "table"
rule = "READ"
[engines.trino.acts.FilterColumns]
on = "table"
rule = "READ"
[engines.trino.acts.UpdateTableColumns]
on = "table"
rule = "WRITE"
[engines.trino.acts.RenameColumn]
on = "table"
rule = "MOVE"
"""


def books(*denied: Stated) -> RealmState:
    """A model whose privileges on a table do not cover columns, which Trino cannot name."""
    system = load_system("books", {"trino": "on"}, own.of_text(OWN, "books.toml"))
    book, page = system.entity("book:orders"), system.entity("page:iban")
    ana = system.principal("ana")
    stated: list[Stated] = [
        {"id": "all", "privileges": RIGHTS_ON_BOOKS, "on": "book:orders", "to": ["user:ana"]},
        *({"id": f"no-{n}", "effect": "deny", **one} for n, one in enumerate(denied)),
    ]
    return state_of(
        system,
        Facts(
            entities=[EntityRow(book), EntityRow(page, book)],
            principals=[ana],
            statements=read_statements(stated, system.model, system.spelling, "test"),
        ),
    )


def test_a_model_of_ones_own_goes_by_the_rule_of_the_table() -> None:
    acts = ("SelectFromColumns", "UpdateTableColumns", "RenameColumn")
    assert [who(books(), act, ["id"]) for act in acts] == ["ana"] * 3
    denied = books(denying("page:iban", "WRITE"))
    assert [who(denied, act, ["id"]) for act in acts] == ["ana", "", ""]
    denied = books(denying("page:iban", "READ"))
    assert [who(denied, act, ["id"]) for act in acts] == ["", "ana", ""]


def test_the_mapping_says_which_acts_take_values() -> None:
    acts = of_model("gravitino")["trino"].engine.acts.values()
    assert {one.name for one in acts if one.values} == {
        "SelectFromColumns", "CreateViewWithSelectFromColumns", "InsertIntoTable",
        "UpdateTableColumns",
    }  # fmt: skip
