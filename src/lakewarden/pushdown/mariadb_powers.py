"""Powers in MariaDB and MySQL beyond grants on objects, which no column of a table shows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, Final

import pymysql

from lakewarden.names.mysql_account import Account
from lakewarden.pushdown.grants import READ, Grant
from lakewarden.pushdown.owners_rights import Way

Query = Callable[..., list[dict[str, Any]]]
"""The rows of a query, by the names of its columns; parameters may follow."""

CREATES: Final = "CREATE"
_BITS: Final[Mapping[str, int]] = {
    "SET USER": 30,
    "FEDERATED ADMIN": 31,
    "CONNECTION ADMIN": 32,
    "READ_ONLY ADMIN": 33,
    "REPLICATION SLAVE ADMIN": 34,
    "REPLICATION MASTER ADMIN": 35,
    "BINLOG ADMIN": 36,
    "BINLOG REPLAY": 37,
    "SLAVE MONITOR": 38,
    "SHOW CREATE ROUTINE": 39,
}
"""Where MariaDB keeps privileges of accounts and roles that have no column of their own.

SOURCE: MariaDB/server:sql/privilege.h.
"""

_OF_MARIADB: Final = """
SELECT User AS user, Host AS host, CAST(JSON_VALUE(Priv, '$.access') AS UNSIGNED) AS bits
FROM mysql.global_priv
"""
_OF_MYSQL: Final = "SELECT USER AS user, HOST AS host, PRIV AS power FROM mysql.global_grants"
_SERVERS: Final = "SELECT Server_name AS name FROM mysql.servers ORDER BY Server_name"
_NO_SUCH_TABLE: Final = 1146


def powers(rows: Query, *, is_mysql: bool) -> Iterator[tuple[Account, Grant]]:
    """The privileges on the server that have no column of their own, with their holders."""
    for row, power in _of_mysql(rows) if is_mysql else _of_mariadb(rows):
        yield Account(row["user"], row["host"]), Grant((), power)


def _of_mysql(rows: Query) -> Iterator[tuple[Mapping[str, Any], str]]:
    return ((row, row["power"]) for row in rows(_OF_MYSQL))


def _of_mariadb(rows: Query) -> Iterator[tuple[Mapping[str, Any], str]]:
    try:
        found = rows(_OF_MARIADB)
    except pymysql.MySQLError as error:
        if error.args[0] != _NO_SUCH_TABLE:
            raise
        return  # a version before these privileges
    for row in found:
        yield from ((row, power) for power, bit in _BITS.items() if (row["bits"] or 0) >> bit & 1)


def server_ways(rows: Query, creators: Iterable[str], databases: Iterable[str]) -> Iterator[Way]:
    """The ways through servers with a stored account: a user who may create a table reads by it.

    `creators` may create tables through our roles. What the stored account may read is unknown;
    the server may be this one.
    """
    servers, places = rows(_SERVERS), [(), *((name,) for name in databases)]
    uses, opens = frozenset(Grant(path, CREATES) for path in places), frozenset({Grant((), READ)})
    users = frozenset(creators) if servers else frozenset[str]()
    for row in servers:
        yield Way(f"SERVER {row['name']}", "", uses, opens, users)
