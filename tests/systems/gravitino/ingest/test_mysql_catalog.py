"""MySQL's own catalog, from rows in its tables' form; MariaDB's is read in `test_sql`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from lakewarden.names.mysql_account import Account
from lakewarden.systems.gravitino.ingest.mysql_catalog import read
from lakewarden.systems.gravitino.ingest.mysql_grants import Known, OnSchema, OnTable, literal

ANA, BEN, READERS = Account("ana", "%"), Account("ben", "%"), Account("readers", "%")

USER = {"Select_priv": "N", "Create_view_priv": "N", "Grant_priv": "N", "account_locked": "N"}
RESTRICTED = '{"Restrictions": [{"Database": "mysql", "Privileges": ["SELECT"]}]}'

ANSWERS: dict[str, list[dict[str, Any]]] = {
    "select version() as v": [{"v": "8.4.3"}],
    "select * from mysql.user": [
        {"User": "ana", "Host": "%", "User_attributes": None} | USER | {"Create_view_priv": "Y"},
        {"User": "ben", "Host": "%", "User_attributes": RESTRICTED}
        | USER
        | {"Select_priv": "Y", "Grant_priv": "Y"},
        {"User": "readers", "Host": "%"} | USER | {"account_locked": "Y"},
    ],
    "select * from mysql.role_edges": [
        {"FROM_USER": "readers", "FROM_HOST": "%", "TO_USER": "ana", "TO_HOST": "%"},
        {"FROM_USER": "readers", "FROM_HOST": "%", "TO_USER": "ben", "TO_HOST": "%"},
    ],
    "select * from mysql.default_roles": [
        {"USER": "ana", "HOST": "%", "DEFAULT_ROLE_USER": "readers", "DEFAULT_ROLE_HOST": "%"}
    ],
    "select @@global.activate_all_roles_on_login as activated": [{"activated": 0}],
    "show global variables like 'partial_revokes'": [
        {"Variable_name": "partial_revokes", "Value": "OFF"}
    ],
    "select * from mysql.db": [
        {"User": "ana", "Host": "%", "Db": "shop%", "Select_priv": "Y", "Drop_priv": "N"}
    ],
    "select * from mysql.tables_priv": [
        {
            "User": "readers",
            "Host": "%",
            "Db": "shop",
            "Table_name": "t",
            "Table_priv": {"Select", "Create View", "Grant"},
            "Column_priv": "Select,Update",
        },
        {
            "User": "mysql.sys",
            "Host": "localhost",
            "Db": "sys",
            "Table_name": "sys_config",
            "Table_priv": "Select",
            "Column_priv": "",
        },
    ],
    "select * from mysql.columns_priv": [
        {
            "User": "readers",
            "Host": "%",
            "Db": "shop",
            "Table_name": "t",
            "Column_name": "price",
            "Column_priv": {"Select", "Update"},
        }
    ],
    "select count(*) as found from mysql.procs_priv": [{"found": 0}],
    "select count(*) as found from mysql.proxies_priv": [{"found": 1}],
    "select count(*) as found from mysql.global_grants": [{"found": 3}],
}


def ask(question: str) -> Sequence[Mapping[str, Any]]:
    return ANSWERS[question]


def test_accounts_roles_and_grants_are_read() -> None:
    found = read(ask, "mysql://h/", ["shop"], {("shop", "t"): "table"})
    role = frozenset({READERS})
    assert not found.is_mariadb
    assert found.accounts == {
        ANA: Known(privileges=frozenset({"CREATE VIEW"}), roles=role, active=role),
        BEN: Known(
            has_restrictions=True, privileges=frozenset({"SELECT", "GRANT OPTION"}), roles=role
        ),
        READERS: Known(is_role=True, is_locked=True),
    }
    assert found.on_schemas == [OnSchema(ANA, "shop%", frozenset({"SELECT"}))]
    assert found.on_tables == [
        OnTable(
            READERS,
            "shop",
            "t",
            frozenset({"SELECT", "CREATE VIEW", "GRANT OPTION"}),
            {"price": frozenset({"SELECT", "UPDATE"})},
        )
    ]
    assert found.notes == [
        ("mysql://h/", "grants on proxies: 1"),
        ("mysql://h/", "grants on the server (dynamic privileges): 3"),
    ]


def test_a_server_may_activate_all_roles() -> None:
    activated = {"select @@global.activate_all_roles_on_login as activated": [{"activated": 1}]}
    found = read(lambda question: (ANSWERS | activated)[question], "mysql://h/", [], {})
    assert found.accounts[BEN].active == {READERS}


def test_with_partial_revokes_wildcards_mean_themselves() -> None:
    r"""`shop_a` and `shop\_a` are one schema then: only what both grant counts."""
    on = {"User": "ana", "Host": "%", "Select_priv": "Y", "Drop_priv": "N"}
    answers = {
        "show global variables like 'partial_revokes'": [
            {"Variable_name": "partial_revokes", "Value": "ON"}
        ],
        "select * from mysql.db": [
            on | {"Db": "shop_a", "Drop_priv": "Y"},
            on | {"Db": r"shop\_a"},
            on | {"Db": "all%"},
        ],
    }
    found = read(lambda question: (ANSWERS | answers)[question], "mysql://h/", [], {})
    select = frozenset({"SELECT"})
    assert found.on_schemas == [
        OnSchema(ANA, r"shop\_a", select),
        OnSchema(ANA, r"all\%", select),
    ]
    assert [literal(row.pattern) for row in found.on_schemas] == ["shop_a", "all%"]
