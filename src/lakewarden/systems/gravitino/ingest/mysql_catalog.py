"""Accounts, roles and grants in the tables of `mysql`, which an administrator may read."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

from lakewarden.names.mysql_account import Account
from lakewarden.systems.gravitino.ingest.mysql_grants import (
    SYSTEM_SCHEMAS,
    Known,
    Mysql,
    OnSchema,
    OnTable,
    escaped,
)

Query = Callable[[str], Sequence[Mapping[str, Any]]]
"""Queries the server and returns the rows by column."""

Edges = Mapping[Account, frozenset[Account]]

_COUNTS: Final = {
    "routines": "select count(*) as found from mysql.procs_priv",
    "proxies": "select count(*) as found from mysql.proxies_priv",
}
_MYSQL_COUNTS: Final = {
    **_COUNTS,
    "the server (dynamic privileges)": "select count(*) as found from mysql.global_grants",
}
_WORDS: Final = {
    "GRANT": "GRANT OPTION",
    "SHOW DB": "SHOW DATABASES",
    "DELETE VERSIONING ROWS": "DELETE HISTORY",
}


def read(
    ask: Query, name: str, schemas: Sequence[str], leaves: Mapping[tuple[str, str], str]
) -> Mysql:
    """The accounts, roles and grants of the server behind `ask`; notes call it `name`."""
    is_mariadb = "mariadb" in str(ask("select version() as v")[0]["v"]).lower()
    counts = _COUNTS if is_mariadb else _MYSQL_COUNTS
    on_columns: dict[tuple[Account, str, str], dict[str, frozenset[str]]] = {}
    for row in ask("select * from mysql.columns_priv"):
        of = on_columns.setdefault((_account(row), row["Db"], row["Table_name"]), {})
        of[row["Column_name"]] = _set(row["Column_priv"])
    return Mysql(
        accounts=_mariadb(ask) if is_mariadb else _mysql(ask),
        on_schemas=_on_schemas(ask),
        on_tables=[
            OnTable(
                account=_account(row),
                schema=row["Db"],
                table=row["Table_name"],
                privileges=_set(row["Table_priv"]),
                columns=on_columns.get((_account(row), row["Db"], row["Table_name"]), {}),
            )
            for row in ask("select * from mysql.tables_priv")
            if row["Db"] not in SYSTEM_SCHEMAS
        ],
        schemas=schemas,
        leaves=leaves,
        is_mariadb=is_mariadb,
        notes=list(_notes(ask, name, counts)),
    )


def _on_schemas(ask: Query) -> list[OnSchema]:
    """Grants on schemas. With `partial_revokes` (only MySQL) wildcards are literal.

    Of two patterns that then mean the same name, only the common privileges count.
    """
    switch = ask("show global variables like 'partial_revokes'")
    is_literal = any(str(row["Value"]).upper() in ("ON", "1") for row in switch)
    granted: dict[tuple[Account, str], frozenset[str]] = {}
    for row in ask("select * from mysql.db"):
        pattern = escaped(row["Db"]) if is_literal else row["Db"]
        key, privileges = (_account(row), pattern), _flags(row)
        granted[key] = granted.get(key, privileges) & privileges
    return [OnSchema(*key, privileges) for key, privileges in granted.items()]


def _notes(ask: Query, name: str, counts: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    for subject, question in counts.items():
        count = ask(question)[0]["found"]
        if count:
            yield name, f"grants on {subject}: {count}"


def _mariadb(ask: Query) -> dict[Account, Known]:
    states = {
        _account(row): json.loads(row["Priv"])
        for row in ask("select Host, User, Priv from mysql.global_priv")
    }
    granted = _edges(
        (_account(row), Account(row["Role"], ""))
        for row in ask("select * from mysql.roles_mapping")
    )
    accounts: dict[Account, Known] = {}
    for row in ask("select * from mysql.user"):
        account, default = _account(row), row["default_role"]
        accounts[account] = Known(
            is_role=row["is_role"] == "Y",
            is_locked=bool(states.get(account, {}).get("account_locked")),
            privileges=_flags(row),
            roles=granted.get(account, frozenset()),
            active=frozenset([Account(default, "")] if default else ()),
        )
    return accounts


def _mysql(ask: Query) -> dict[Account, Known]:
    granted = _edges(
        (Account(row["TO_USER"], row["TO_HOST"]), Account(row["FROM_USER"], row["FROM_HOST"]))
        for row in ask("select * from mysql.role_edges")
    )
    active = _edges(
        (
            Account(row["USER"], row["HOST"]),
            Account(row["DEFAULT_ROLE_USER"], row["DEFAULT_ROLE_HOST"]),
        )
        for row in ask("select * from mysql.default_roles")
    )
    if ask("select @@global.activate_all_roles_on_login as activated")[0]["activated"]:
        active = granted
    roles = frozenset[Account]().union(*granted.values())
    return {
        _account(row): Known(
            is_role=_account(row) in roles,
            is_locked=row["account_locked"] == "Y",
            has_restrictions="Restrictions" in str(row.get("User_attributes") or ""),
            privileges=_flags(row),
            roles=granted.get(_account(row), frozenset()),
            active=active.get(_account(row), frozenset()),
        )
        for row in ask("select * from mysql.user")
    }


def _edges(pairs: Iterator[tuple[Account, Account]]) -> Edges:
    roles_by_member: dict[Account, set[Account]] = {}
    for member, role in pairs:
        roles_by_member.setdefault(member, set()).add(role)
    return {member: frozenset(roles) for member, roles in roles_by_member.items()}


def _account(row: Mapping[str, Any]) -> Account:
    return Account(row["User"], row["Host"])


def _flags(row: Mapping[str, Any]) -> frozenset[str]:
    """Privileges stored in columns: `Create_view_priv` is CREATE VIEW."""
    names = (c.removesuffix("_priv") for c, v in row.items() if c.endswith("_priv") and v == "Y")
    privileges = (name.replace("_", " ").upper() for name in names)
    return frozenset(_WORDS.get(privilege, privilege) for privilege in privileges)


def _set(value: str | set[str] | frozenset[str]) -> frozenset[str]:
    """Privileges stored in a set."""
    names = value.split(",") if isinstance(value, str) else value
    privileges = (name.strip().upper() for name in names)
    return frozenset(_WORDS.get(privilege, privilege) for privilege in privileges if privilege)
