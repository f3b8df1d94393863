"""For any name, a database statement is a single one, about exactly that name."""

from __future__ import annotations

from itertools import product

import sqlglot

from lakewarden.names.mysql_account import Account, user_name
from lakewarden.pushdown.address import Address
from lakewarden.pushdown.grants import Grant, Path
from lakewarden.pushdown.mariadb_names import RoleNames, database_of
from lakewarden.pushdown.plan import Act, Step
from lakewarden.pushdown.postgresql_statements import Statements, TargetState
from tests.pushdown.mariadb_estate import empty_server

SIGNS = (
    *(
        '"',
        '""',
        "'",
        "''",
        "`",
        "``",
        "\\",
        "\\\\",
        "\\'",
        '\\"',
        "\\`",
        "\\_",
        "%",
        "_",
        "*",
        "?",
    ),
    *(
        ";",
        "--",
        "-- ",
        "#",
        "/*",
        "*/",
        "/*!",
        "$$",
        "$1",
        "%s",
        "{}",
        "{0}",
        ":a",
        "@",
        "@@",
        ".",
    ),
    *("\n", "\r\n", "\t", " ", "\u00a0", "\u200b", "\u202e", "\ufeff", "é", "e\u0301", "ß", "İ"),
    *(
        "\u043e",
        "\uff02",
        "\uff07",
        "\u2019",
        "山田",
        "🦊",
        "PUBLIC",
        "select",
        "NULL",
        "CURRENT_USER",
    ),
    *("') OR 1=1 --", 'x"; DROP TABLE t; --', "`; DROP TABLE t; -- ", "' UNION SELECT 1 -- "),
)
PLACES = ("{}", "a{}", "{}b", "a{}b", "a {} b", "{0}{0}")
NAMES = [place.replace("{0}", sign).replace("{}", sign) for place, sign in product(PLACES, SIGNS)]
ROLE = "lw_x_0123456789abcdef"


def empty_database() -> Statements:
    """The statements for the target `x`, for an empty database."""
    return Statements(TargetState("shop"), Address("postgresql://h/shop", "x"), None)


def steps(member: str, path: Path) -> list[Step]:
    """A member, and rights on a schema, a table and a column."""
    paths = path[:1], path[:2], path
    grants = [Grant(one, "SELECT" if one[1:] else "CREATE") for one in paths]
    return [
        Step(Act.ADD_MEMBER, ROLE, member=member),
        *(Step(Act.GRANT, ROLE, grant=one) for one in grants),
    ]


def identifiers(statement: str, dialect: str) -> list[str]:
    """The quoted names of a text that is one statement without comments."""
    tokens = sqlglot.tokenize(statement, dialect)
    assert not any(one.token_type.name == "SEMICOLON" or one.comments for one in tokens)
    return [one.text for one in tokens if one.token_type.name == "IDENTIFIER"]


def test_postgresql_is_told_of_exactly_the_name() -> None:
    assert len({*NAMES}) > 300
    for name in NAMES:
        whole = steps(name, (name, name, name))
        said = [identifiers(one.text, "postgres") for one in empty_database().of(whole)]
        assert said == [[ROLE, name], [name, ROLE], [name, name, ROLE], [name, name, name, ROLE]]


def test_mariadb_is_told_of_exactly_the_name() -> None:
    for name in NAMES:
        user = user_name(Account(name, "%"))
        statements = empty_server().of(steps(user, (name, name, name)))
        database, *said = (identifiers(one.text, "mysql") for one in statements)
        assert (database_of(database[0]), database[1:]) == (name, [ROLE])
        own = RoleNames("x").personal(user)
        assert said == [
            [name, name, name, ROLE],  # the table and its column
            [own],
            [ROLE, own],
            [own, name, "%"],
            [own, name, "%"],
        ]
