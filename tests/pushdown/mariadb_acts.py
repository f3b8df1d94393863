"""The permissions of a MariaDB or MySQL account: tested by statements that change nothing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

import pymysql

from lakewarden.pushdown.grants import Path
from lakewarden.pushdown.mariadb_names import quoted
from tests.pushdown.mariadb_estate import Connection, execute

ACTS: Final = {
    "schema": {
        "CREATE": "CREATE TABLE {}.`made here` (a int, a int)",
        "CREATE VIEW": "CREATE VIEW {}.`made here` AS SELECT 1 AS a, 2 AS a",
        "CREATE ROUTINE": "CREATE FUNCTION {}.`made here`() RETURNS int RETURN 1",
    },
    "table": {
        "SELECT": "SELECT * INTO @a, @b, @c, @d, @e FROM {} LIMIT 0",
        "INSERT": "INSERT INTO {} (amount) SELECT 1 FROM DUAL WHERE false",
        "UPDATE": "UPDATE {} SET amount = 1 WHERE false",
        "DELETE": "DELETE FROM {} WHERE false",
        "ALTER": "ALTER TABLE {} ADD COLUMN amount int",
        "INDEX": "DROP INDEX none_of_that_name ON {}",
        "DROP": "DROP VIEW {}",
    },
    "view": {"SELECT": "SELECT * INTO @a, @b FROM {} LIMIT 0", "DROP": "DROP TABLE {}"},
    "column": {
        "SELECT": "SELECT {1} INTO @a FROM {0} LIMIT 0",
        "INSERT": "INSERT INTO {0} ({1}) SELECT '' FROM DUAL WHERE false",
        "UPDATE": "UPDATE {0} SET {1} = '' WHERE false",
    },
}
"""A statement for each privilege, by the type of its object.

A statement that would change a definition fails after the permission check.
"""

DENIED: Final = (1044, 1142, 1143, 1370)
_BEHIND: Final = (0, 1051, 1060, 1091, 1347, 1965)
"""The numbers of errors that occur after the permission check, and 0 for no error."""

_AT_ONCE: Final = """
BEGIN NOT ATOMIC
  DECLARE code INT;
  DECLARE codes TEXT DEFAULT '';
  DECLARE CONTINUE HANDLER FOR SQLEXCEPTION GET DIAGNOSTICS CONDITION 1 code = MYSQL_ERRNO;
  {}
  SELECT codes;
END
"""
_EACH: Final = "SET code = 0; EXECUTE IMMEDIATE {}; SET codes = CONCAT(codes, code, ' ');"


def acts(type: str, path: Path) -> dict[str, str]:
    """The statements about an object, by privilege."""
    return {name: text.format(*places(path)) for name, text in ACTS.get(type, {}).items()}


def places(path: Path) -> list[str]:
    """A database or table in a statement, and one of its columns."""
    whole = [quoted(one) for one in path]
    return [".".join(whole[:2]), *whole[2:]]


def may(connection: Connection, statement: str) -> bool:
    """Whether the server permits the statement for the connected account."""
    return _is_done(_code(connection, statement))


def may_each(connection: Connection, statements: Sequence[str]) -> list[bool]:
    """The same for each statement; MariaDB receives all of them at once."""
    if "MariaDB" not in str(connection.get_server_info()):
        return [may(connection, one) for one in statements]
    body = "\n".join(_EACH.format(connection.escape(one)) for one in statements)
    ((codes,),) = execute(connection, _AT_ONCE.format(body))
    found = [_is_done(int(one)) for one in codes.split()]
    assert len(found) == len(statements)
    return found


def _code(connection: Connection, statement: str) -> int:
    try:
        execute(connection, statement)
    except pymysql.MySQLError as error:
        return int(error.args[0])
    return 0


def _is_done(code: int) -> bool:
    assert code in (*DENIED, *_BEHIND), code
    return code not in DENIED
