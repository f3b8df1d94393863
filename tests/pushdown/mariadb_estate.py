"""A random realm, and a MariaDB server that contains one of the realm's catalogs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from typing import Any, ClassVar, TypeAlias

import pymysql
import sqlalchemy as sa

from lakewarden.kernel.principal import Principal
from lakewarden.kernel.relations import Facts
from lakewarden.names.mysql_account import Account, account_of
from lakewarden.pushdown.address import Address
from lakewarden.pushdown.grants import Path
from lakewarden.pushdown.mariadb_catalog import Catalog
from lakewarden.pushdown.mariadb_names import RoleNames, grantee, quoted
from lakewarden.pushdown.mariadb_statements import Statements
from lakewarden.pushdown.mariadb_views import MaskingViews
from tests.pushdown.estate import COLUMN_ORDER, ROWS, TargetEstate, scope_of, state_of

Connection: TypeAlias = "pymysql.Connection[Any]"

COLUMN_TYPES = {
    **dict.fromkeys(("region", "note", "iban", "mail"), "varchar(80)"),
    "amount": "int(11)",
}
OWN = ("root", "lakewarden", "mariadb.sys", "mysql", "PUBLIC")
"""The accounts of a new server."""

SYSTEM = ("information_schema", "mysql", "performance_schema", "sys", "lakewarden")


@dataclass(frozen=True)
class MariadbEstate(TargetEstate):
    """An estate in MariaDB."""

    kind: ClassVar[str] = "mysql"

    def views(self) -> dict[Path, list[Path]]:
        """The databases and names of masking views, by the path of the masked table."""
        schema = self.address.view_schema
        found: dict[Path, list[Path]] = {}
        with administrator(self.address.url) as connection:
            if (schema,) not in execute(connection, "SHOW DATABASES"):
                return found
            notes = execute(connection, f"SELECT name, note FROM {schema}.lakewarden")
        for name, note in notes:
            found.setdefault(tuple(json.loads(note)["view"][0]), []).append((schema, name))
        return found

    @contextmanager
    def as_user(self, user: Principal) -> Iterator[Connection]:
        """A connection of the user, who has no password here."""
        account = account_of(self.name(user))
        with connection_of(self.address.url, account.user, "") as connection:
            yield connection


def administrator(url: str) -> Connection:
    """A connection of the account that pushes."""
    at = sa.make_url(url)
    return connection_of(url, str(at.username), str(at.password))


def connection_of(url: str, user: str, password: str) -> Connection:
    at = sa.make_url(url)
    return pymysql.connect(
        host=at.host, port=at.port or 3306, user=user, password=password, autocommit=True
    )


def execute(connection: Connection, statement: str, *values: object) -> list[tuple[Any, ...]]:
    """The rows of a statement's result."""
    with connection.cursor() as cursor:
        cursor.execute(statement, values or None)
        return list(cursor.fetchall())


@contextmanager
def estate(server: str, facts: Facts, name: str = "pg", store: str = "") -> Iterator[MariadbEstate]:
    """The realm with these facts; its catalog with the most tables becomes databases."""
    state = state_of(facts, MariadbEstate.kind)
    url = sa.make_url(server).set(drivername="mariadb")
    address = Address(url.render_as_string(hide_password=False), name, store)
    made = MariadbEstate(state, scope_of(state), address)
    with administrator(address.url) as connection:
        empty(connection)
        _fill(connection, made)
        try:
            yield made
        finally:
            empty(connection)


def _fill(connection: Connection, made: MariadbEstate) -> None:
    """Creates the accounts, databases, tables and views."""
    columns = ", ".join(f"{name} {type}" for name, type in COLUMN_TYPES.items())
    row = f"({', '.join(['%s'] * len(COLUMN_ORDER))})"
    values = ", ".join([row] * len(ROWS))
    accounts = [grantee(account_of(made.name(user))) for user in made.users()]
    execute(connection, f"CREATE USER {', '.join(accounts)}")
    for path, entity in sorted(made.objects().items(), key=lambda one: (len(one[0]), one)):
        where = ".".join(map(quoted, path))
        if entity.type == "schema":
            execute(connection, f"CREATE DATABASE {where} CHARACTER SET utf8mb4")
        if entity.type == "table":
            execute(connection, f"CREATE TABLE {where} ({columns})")
            at = where.replace("%", "%%")
            insert = f"INSERT INTO {at} ({', '.join(COLUMN_ORDER)}) VALUES {values}"
            execute(connection, insert, *chain(*ROWS))
        if entity.type == "view":
            execute(connection, f"CREATE VIEW {where} AS SELECT 'eu' AS region, 1 AS amount")


def empty(connection: Connection) -> None:
    """Drops all databases, roles and accounts, except those of a new server."""
    for (name,) in execute(connection, "SHOW DATABASES"):
        if name not in SYSTEM:
            execute(connection, f"DROP DATABASE {quoted(name)}")
    users, roles = [], []
    for user, host, is_role in _accounts(connection):
        if user in OWN or user.startswith("mysql."):
            continue
        if is_role == "Y":
            roles.append(quoted(user))
        else:
            users.append(f"{quoted(user)}@{quoted(host)}")
    for kind, names in (("USER", users), ("ROLE", roles)):
        if names:
            execute(connection, f"DROP {kind} {', '.join(names)}")


def _accounts(connection: Connection) -> list[tuple[Any, ...]]:
    """Accounts and roles, and whether each is a role; MySQL drops both as accounts."""
    ((version,),) = execute(connection, "SELECT VERSION()")
    column = "is_role" if "MariaDB" in version else "'N'"
    return execute(connection, f"SELECT User, Host, {column} FROM mysql.user")


def empty_server() -> Statements:
    """The statements for the target `x`, for an empty server."""
    nothing = Catalog(Account("ops", "%"), {}, frozenset(), frozenset(), (), {})
    views = MaskingViews(_no_rows, nothing, Address("mariadb://h", "x"), ())
    return Statements(nothing, RoleNames("x"), {}, views)


def _no_rows(*_: object) -> list[dict[str, Any]]:
    return []
