"""MySQL's and MariaDB's grants inverted: levels, patterns, roles, and ineffective grants."""

from __future__ import annotations

import json
from collections.abc import Set as AbstractSet
from dataclasses import replace

import pytest

from lakewarden.names.mysql_account import Account, user_name
from lakewarden.service.source_row import Row
from lakewarden.service.system import load_system
from lakewarden.systems.gravitino.ingest.grants import Catalog, Grants
from lakewarden.systems.gravitino.ingest.mysql_grants import (
    Known,
    Mysql,
    OnSchema,
    OnTable,
    literal,
    matches,
    read,
    role_name,
)

MODEL = load_system("gravitino").model
ANA = Account("ana", "%")
READERS, WRITERS = Account("readers", ""), Account("writers", "")
SEES, READS = ["USE_SCHEMA"], ["SELECT_TABLE", "SELECT_VIEW", "USE_SCHEMA"]
ALL = frozenset({"SELECT", "INSERT", "UPDATE", "DELETE", "ALTER"})
MODIFIES = ["DELETE_ROWS", "INSERT_ROWS", "MODIFY_TABLE"]
UPDATES = "UPDATE_ROWS"
EMPTY = Mysql(
    accounts={ANA: Known()},
    on_schemas=(),
    on_tables=(),
    schemas=["shop", "shop_a", "other"],
    leaves={("shop", "t"): "table", ("shop", "u"): "table", ("shop", "v"): "view"},
)


def rows(found: Mysql, *, granted: bool = False) -> list[Row]:
    grants = Grants(Catalog("lk", "my"), MODEL, "mysql://h/")
    read(found, grants, takes_granted_roles=granted)
    return list(grants.rows())


def given(found: Mysql) -> dict[str, list[str]]:
    """The privileges of ana or a role, by object."""
    tables = (json.loads(row.cells[1]) for row in rows(found) if row.table == "statements")
    return {t["on"]: t["privileges"] for t in tables if t["to"] != ["members:lk"]}


def cells(found: Mysql, table: str, *, granted: bool = False) -> list[tuple[str, ...]]:
    return [tuple(row.cells) for row in rows(found, granted=granted) if row.table == table]


def notes(found: Mysql) -> list[str]:
    return [f"{subject}: {what}" for subject, what in cells(found, "notes")]


def granted(*on_schemas: tuple[str, AbstractSet[str]], **on_tables: AbstractSet[str]) -> Mysql:
    """Ana's grants on patterns of schemas, and on tables of `shop`."""
    return replace(
        EMPTY,
        on_schemas=[OnSchema(ANA, pattern, frozenset(words)) for pattern, words in on_schemas],
        on_tables=[
            OnTable(ANA, "shop", name, frozenset(words)) for name, words in on_tables.items()
        ],
    )


def everywhere(*privileges: str) -> Mysql:
    return replace(EMPTY, accounts={ANA: Known(privileges=frozenset(privileges))})


def test_every_account_may_use_the_catalog() -> None:
    (row,) = (row for row in rows(EMPTY) if row.table == "statements")
    table = json.loads(row.cells[1])
    assert (table["privileges"], table["to"]) == (["USE_CATALOG"], ["members:lk"])
    assert cells(EMPTY, "memberships") == [("user", "ana", "implied", "members:lk")]


@pytest.mark.parametrize(
    ("account", "name"),
    [
        (Account("ana", "%"), "ana"),
        (Account("ana", "localhost"), "ana@localhost"),
        (Account("ana@localhost", "%"), "ana@localhost@%"),
    ],
)
def test_every_account_has_a_name_of_its_own(account: Account, name: str) -> None:
    assert user_name(account) == name


def test_a_role_of_mariadb_has_its_plain_name() -> None:
    assert role_name(READERS) == "readers"
    assert role_name(Account("readers", "%")) == "readers"


def test_a_grant_on_a_schema() -> None:
    assert given(granted(("shop", {"SELECT"}))) == {"schema:lk:my.shop": READS}
    found = granted(("shop", {"CREATE", "CREATE VIEW"}))
    assert given(found)["schema:lk:my.shop"] == ["CREATE_TABLE", "USE_SCHEMA"]
    assert notes(found) == ['schema:lk:my.shop: CREATE VIEW to user "ana"']


def test_a_grant_on_a_table_or_view_shows_its_schema() -> None:
    assert given(granted(t={"SELECT"}, v={"SELECT"})) == {
        "schema:lk:my.shop": SEES,
        "table:lk:my.shop.t": ["SELECT_TABLE"],
        "view:lk:my.shop.v": ["SELECT_VIEW"],
    }


def test_a_grant_for_the_whole_server() -> None:
    assert given(everywhere("SELECT")) == {"catalog:lk:my": READS}
    assert given(everywhere("CREATE")) == {
        "catalog:lk:my": ["CREATE_SCHEMA", "CREATE_TABLE", "USE_SCHEMA"]
    }
    assert given(everywhere("SHOW DATABASES")) == {"catalog:lk:my": SEES}
    assert given(everywhere("PROCESS")) == {}
    assert notes(everywhere("PROCESS")) == ['catalog:lk:my: PROCESS to user "ana"']


def test_modify_table_takes_data_and_definition() -> None:
    assert given(granted(t=set(ALL)))["table:lk:my.shop.t"] == [*MODIFIES, "SELECT_TABLE", UPDATES]
    for missing in ALL:
        assert "MODIFY_TABLE" not in str(given(granted(t=ALL - {missing})))
    assert "MODIFY_TABLE" not in str(given(granted(v=set(ALL))))
    found = granted(t={"SELECT", "INSERT"}, v={"SELECT", "INSERT"})
    assert given(found) == {
        "schema:lk:my.shop": SEES,
        "table:lk:my.shop.t": ["INSERT_ROWS", "SELECT_TABLE"],
        "view:lk:my.shop.v": ["SELECT_VIEW"],
    }
    assert notes(found) == ['view:lk:my.shop.v: INSERT to user "ana"']


def test_each_right_to_write_is_carried_as_itself_at_its_level() -> None:
    for word in ("INSERT", "UPDATE", "DELETE"):
        assert given(granted(t={word}))["table:lk:my.shop.t"] == [f"{word}_ROWS"]
        on_schema = {"schema:lk:my.shop": [f"{word}_ROWS", "USE_SCHEMA"]}
        assert given(granted(("shop", {word}))) == {on: sorted(w) for on, w in on_schema.items()}
        on_server = {"catalog:lk:my": sorted([f"{word}_ROWS", "USE_SCHEMA"])}
        assert given(everywhere(word)) == on_server


def test_mysql_alters_a_table_only_with_create_as_well() -> None:
    found = replace(granted(t=set(ALL)), is_mariadb=False)
    assert "MODIFY_TABLE" not in str(given(found))
    found = replace(granted(t=ALL | {"CREATE"}), is_mariadb=False)
    assert given(found)["table:lk:my.shop.t"] == [*MODIFIES, "SELECT_TABLE", UPDATES]


def test_levels_add_up_and_nothing_is_said_twice() -> None:
    found = granted(("shop", {"INSERT", "UPDATE"}), t={"DELETE", "ALTER"}, u={"SELECT"})
    found = replace(found, accounts={ANA: Known(privileges=frozenset({"SELECT"}))})
    assert given(found) == {
        "catalog:lk:my": READS,
        "schema:lk:my.shop": ["INSERT_ROWS", UPDATES],
        "table:lk:my.shop.t": ["DELETE_ROWS", "MODIFY_TABLE"],
    }


@pytest.mark.parametrize(
    ("pattern", "schema", "is_match"),
    [
        ("shop", "shop", True),
        ("shop", "shop_a", False),
        ("shop%", "shop_a", True),
        ("shop_a", "shopXa", True),
        (r"shop\_a", "shop_a", True),
        (r"shop\_a", "shopXa", False),
        ("s.op", "shop", False),
        (r"100\%", "100%", True),
    ],
)
def test_patterns_of_schemas(pattern: str, schema: str, is_match: bool) -> None:
    assert matches(pattern, schema) == is_match
    assert (literal(pattern) == schema) == (is_match and literal(pattern) is not None)


def test_a_pattern_holds_for_the_schemas_it_matches() -> None:
    found = granted(("shop%", {"SELECT"}))
    assert given(found) == {"schema:lk:my.shop": READS, "schema:lk:my.shop_a": READS}


def test_the_schema_itself_comes_before_patterns() -> None:
    found = granted(("shop", {"CREATE"}), ("shop%", {"SELECT"}), ("shop\\_%", {"CREATE VIEW"}))
    assert given(found) == {
        "schema:lk:my.shop": ["CREATE_TABLE", "USE_SCHEMA"],
        "schema:lk:my.shop_a": ["USE_SCHEMA"],
    }


@pytest.mark.parametrize(
    ("one", "other", "words"),
    [
        ("shop\\_a", "shop%", ["CREATE_TABLE", "USE_SCHEMA"]),
        ("shop_a", "%", ["CREATE_TABLE", "USE_SCHEMA"]),
        ("shop%", "%", ["CREATE_TABLE", "USE_SCHEMA"]),
        ("shop_a", "shop\\_%", []),  # releases differ in which one is narrower
        ("sho__a", "shop%", []),
        ("%p_a", "%p%", []),
    ],
)
def test_of_several_patterns_the_narrowest_counts_or_what_all_candidates_give(
    one: str, other: str, words: list[str]
) -> None:
    found = replace(granted((one, {"CREATE"}), (other, {"SELECT"})), schemas=["shop_a"])
    assert given(found).get("schema:lk:my.shop_a", []) == words


def test_in_mysql_a_pattern_counts_only_where_nothing_else_matches() -> None:
    found = replace(granted(("shop%", {"SELECT"})), is_mariadb=False)
    assert given(found) == {"schema:lk:my.shop": READS, "schema:lk:my.shop_a": READS}
    others = [*found.on_schemas, OnSchema(READERS, "shop\\_a", frozenset({"INSERT"}))]
    assert given(replace(found, on_schemas=others)) == {"schema:lk:my.shop": READS}


NESTED = {
    ANA: Known(roles=frozenset({WRITERS}), active=frozenset({WRITERS})),
    READERS: Known(is_role=True),
    WRITERS: Known(is_role=True, roles=frozenset({READERS})),
}


def test_a_user_is_in_the_roles_that_are_active_at_log_in() -> None:
    found = replace(EMPTY, accounts=NESTED)
    assert cells(found, "memberships") == [
        ("user", "ana", "implied", "members:lk"),
        ("user", "ana", "role", "lk:writers"),
    ]
    assert cells(found, "principals") == [
        ("user", "ana"),
        ("role", "lk:readers"),
        ("role", "lk:writers"),
    ]


def test_nested_roles_are_flattened_into_the_outer_one() -> None:
    found = replace(
        EMPTY,
        accounts={**NESTED, READERS: Known(is_role=True, roles=frozenset({WRITERS}))},
        on_schemas=[OnSchema(READERS, "shop", frozenset({"SELECT"}))],
        on_tables=[OnTable(WRITERS, "shop", "t", ALL - {"SELECT"})],
    )
    tables = [json.loads(row.cells[1]) for row in rows(found) if row.table == "statements"]
    of_writers = {t["on"]: t["privileges"] for t in tables if t["to"] == ["role:lk:writers"]}
    assert of_writers == {"schema:lk:my.shop": READS, "table:lk:my.shop.t": [*MODIFIES, UPDATES]}
    of_readers = {t["on"]: t["privileges"] for t in tables if t["to"] == ["role:lk:readers"]}
    assert of_readers == of_writers


def test_patterns_of_nested_roles_are_mixed_before_the_narrowest_is_taken() -> None:
    found = replace(
        EMPTY,
        accounts=NESTED,
        on_schemas=[
            OnSchema(WRITERS, "shop", frozenset({"CREATE"})),
            OnSchema(READERS, "shop%", frozenset({"SELECT"})),
        ],
    )
    tables = [json.loads(row.cells[1]) for row in rows(found) if row.table == "statements"]
    of_writers = {t["on"]: t["privileges"] for t in tables if t["to"] == ["role:lk:writers"]}
    assert of_writers == {
        "schema:lk:my.shop": ["CREATE_TABLE", "USE_SCHEMA"],
        "schema:lk:my.shop_a": READS,
    }


def test_a_role_that_is_not_active_at_log_in_counts_only_when_asked_for() -> None:
    found = replace(EMPTY, accounts={**NESTED, ANA: Known(roles=frozenset({WRITERS}))})
    assert len(cells(found, "memberships")) == 1
    assert notes(found) == ["ana: the role `writers`, which takes SET ROLE"]
    assert len(cells(found, "memberships", granted=True)) == 2


def test_a_default_role_that_was_taken_away_again_does_not_count() -> None:
    known = Known(active=frozenset({READERS}))
    found = replace(EMPTY, accounts={ANA: known, READERS: Known(is_role=True)})
    assert len(cells(found, "memberships")) == 1


def test_what_a_role_has_goes_to_the_role() -> None:
    found = replace(EMPTY, accounts=NESTED, on_schemas=[OnSchema(READERS, "shop", ALL)])
    (row,) = (row for row in rows(found) if row.cells[0] == 'role "readers" on schema:lk:my.shop')
    assert json.loads(row.cells[1])["to"] == ["role:lk:readers"]


def test_public_is_everybody_and_its_roles_take_set_role() -> None:
    public = Account("PUBLIC", "")
    known = Known(is_role=True, roles=frozenset({READERS}))
    found = replace(
        EMPTY,
        accounts={ANA: Known(), public: known, READERS: Known(is_role=True)},
        on_schemas=[OnSchema(public, "shop", frozenset({"SELECT"}))],
    )
    tables = [json.loads(row.cells[1]) for row in rows(found) if row.table == "statements"]
    assert {t["on"]: t["to"] for t in tables}["schema:lk:my.shop"] == ["members:lk"]
    assert notes(found) == ["PUBLIC: the role `readers`, which takes SET ROLE"]
    assert ("role", "lk:PUBLIC") not in cells(found, "principals")


def test_a_role_of_mysql_called_like_everybody_is_not_everybody() -> None:
    public = Account("PUBLIC", "%")
    found = replace(
        EMPTY,
        accounts={ANA: Known(), public: Known(is_role=True)},
        on_schemas=[OnSchema(public, "shop", frozenset({"SELECT"}))],
        is_mariadb=False,
    )
    tables = [json.loads(row.cells[1]) for row in rows(found) if row.table == "statements"]
    assert {t["on"]: t["to"] for t in tables}["schema:lk:my.shop"] == ["role:lk:PUBLIC"]


def test_locked_and_nameless_accounts_give_nothing() -> None:
    accounts = {
        Account("", "localhost"): Known(privileges=ALL),
        Account("loc", "%"): Known(privileges=ALL, is_locked=True),
    }
    found = replace(EMPTY, accounts=accounts)
    assert given(found) == {}
    assert cells(found, "principals") == []
    assert notes(found) == [
        "''@'localhost': an account without a name",
        "loc: a locked account",
    ]


def test_a_locked_role_is_a_role_all_the_same() -> None:
    accounts = {ANA: Known(), Account("r", "%"): Known(is_role=True, is_locked=True)}
    assert ("role", "lk:r") in cells(replace(EMPTY, accounts=accounts), "principals")


def test_partial_revokes_take_what_they_limit_with_them() -> None:
    known = Known(privileges=frozenset({"SELECT"}), has_restrictions=True)
    found = replace(granted(t={"SELECT"}), accounts={ANA: known})
    assert given(found) == {"schema:lk:my.shop": SEES, "table:lk:my.shop.t": ["SELECT_TABLE"]}
    assert notes(found) == ["ana: SELECT, limited by partial revokes"]


def test_grants_on_columns_are_carried_on_columns() -> None:
    columns = {"id": {"SELECT", "UPDATE", "REFERENCES"}, "mail": {"INSERT"}}
    on = OnTable(ANA, "shop", "t", frozenset(), columns)
    found = replace(EMPTY, on_tables=[on])
    assert given(found) == {
        "schema:lk:my.shop": SEES,
        "column:lk:my.shop.t.id": ["SELECT_COLUMN", UPDATES],
        "column:lk:my.shop.t.mail": ["INSERT_ROWS"],
    }
    assert notes(found) == ['table:lk:my.shop.t: REFERENCES on the column `id` to user "ana"']


def test_columns_of_views_and_what_is_no_table_are_noted() -> None:
    found = replace(
        EMPTY,
        on_tables=[
            OnTable(ANA, "shop", "v", frozenset(), {"id": frozenset({"SELECT"})}),
            OnTable(ANA, "shop", "lost", frozenset(), {"id": frozenset({"SELECT"})}),
            OnTable(ANA, "shop", "gone", frozenset({"SELECT"})),
        ],
        notes=[("mysql://h/", "grants on routines: 1")],
    )
    assert given(found) == {"schema:lk:my.shop": SEES}
    assert notes(found) == [
        'view:lk:my.shop.v: SELECT on the column `id` to user "ana"',
        'shop.lost: SELECT to user "ana"',
        'shop.gone: SELECT to user "ana"',
        "mysql://h/: grants on routines: 1",
    ]


def test_the_right_to_pass_a_grant_on_is_noted() -> None:
    assert notes(granted(("shop", {"SELECT", "GRANT OPTION"}))) == [
        'schema:lk:my.shop: GRANT OPTION to user "ana"'
    ]
