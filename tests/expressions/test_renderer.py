"""The SQL of each engine: users' values are always values, never code."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import duckdb
import pytest
import sqlalchemy as sa
from sqlglot import exp, parse

from lakewarden.expressions.checker import Table, check_expression
from lakewarden.expressions.engines import ENGINES
from lakewarden.expressions.lookup import MAX_ROWS
from lakewarden.expressions.parser import parse_expression
from lakewarden.expressions.renderer import DIALECTS, User, render
from lakewarden.expressions.types import Type
from lakewarden.kernel.errors import BadInput, LimitExceeded
from tests.expressions.engines import LOOKUPS, TABLE, USER
from tests.expressions.test_equal_results import CASES
from tests.hostile_names import MARKUP, PIECES

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

HOSTILE = [
    *PIECES,
    *MARKUP,
    "a\\'b",
    "\\'; DROP TABLE x; --",
    "$user.name",
    "${x}",
    "\n",
    "%s",
    ":x",
]
ONE = Table({"s": Type.STRING})


def rendered(text: str, engine: str = "trino", user: User = USER) -> str:
    expression = parse_expression(text)
    check_expression(expression, TABLE, result=None, engines=[engine])
    return render(expression, engine, TABLE, user, LOOKUPS)


@pytest.mark.parametrize("engine", ENGINES)
def test_what_is_rendered_is_one_expression_of_the_same_columns(engine: str) -> None:
    """Each of the 300 parses back to one expression with the columns of the original."""
    for name, (root, _) in CASES.items():
        text = render(root, engine, TABLE, USER, LOOKUPS)
        statements = parse(f"SELECT {text}", dialect=DIALECTS[engine])
        assert len(statements) == 1, name
        query = statements[0]
        assert isinstance(query, exp.Select), name
        assert len(query.expressions) == 1, name
        assert {key for key, value in query.args.items() if value} == {"expressions"}, name
        assert all(column.this.quoted for column in query.find_all(exp.Column)), name


def test_an_identifier_is_quoted_for_its_engine() -> None:
    table = Table({'a"`b': Type.STRING})
    expression = parse_expression('"a""`b" is null')
    texts = {engine: render(expression, engine, table, USER) for engine in ENGINES}
    assert texts["trino"] == texts["postgresql"] == texts["duckdb"] == '"a""`b" IS NULL'
    assert texts["mysql"] == texts["spark"] == '`a"``b` IS NULL'


def test_a_variable_of_spark_stays_text() -> None:
    assert rendered("'a${b}${c}' = s", "spark") == "CONCAT('a$', '{b}$', '{c}') = `s`"
    with pytest.raises(BadInput, match="one of its variables"):
        render(parse_expression('"${x}" is null'), "spark", Table({"${x}": Type.STRING}), USER)


def test_groups_and_attributes_that_are_missing_open_nothing() -> None:
    nobody = User("x")
    assert rendered("s in $user.groups", user=nobody) == "FALSE"
    assert rendered("s = $user.region", user=nobody) == '"s" = CAST(NULL AS VARCHAR)'
    assert rendered("cast($user.level as integer) = n", user=nobody) == 'CAST(NULL AS BIGINT) = "n"'
    assert "NULL" in rendered(
        "cast($user.region as date) = d", user=User("x", attributes={"region": "2024-02-30"})
    )
    assert (
        render(
            parse_expression("s in lookup.none"),
            "trino",
            Table({"s": Type.STRING}, {"none": (Type.STRING,)}),
            USER,
        )
        == "FALSE"
    )


def test_what_is_long_is_written_within_the_depth_of_the_stack() -> None:
    chain = " or ".join(f"n = {number}" for number in range(95))
    nested = "coalesce(" * 39 + "s" + ", 's')" * 39
    for text in (chain, f"{nested} = s"):
        for engine in ENGINES:
            assert rendered(text, engine)


def test_without_the_types_of_columns_strings_cannot_be_compared_by_code_points() -> None:
    for engine in ("mysql", "postgresql"):
        with pytest.raises(BadInput, match="only with the types of the columns"):
            render(parse_expression("a = b"), engine, Table(None), USER)
    assert render(parse_expression("a = b"), "trino", Table(None), USER) == '"a" = "b"'


def test_postgresql_replaces_by_code_points() -> None:
    """Since version 18 it would search by a collation that ignores case (ICU)."""
    expected = """REPLACE("s" COLLATE "C", 'e', '*')"""
    assert rendered("replace(s, 'e', '*')", "postgresql") == expected


@pytest.mark.parametrize("collation", ["nocase", "noaccent", "nocase.noaccent"])
def test_strings_of_duckdb_are_compared_by_code_points(collation: str) -> None:
    """Regardless of the collation of the column, or of the application's connection."""
    connection = duckdb.connect()
    connection.execute(f"SET default_collation = '{collation}'")
    connection.execute("CREATE TABLE x (s VARCHAR, t VARCHAR)")
    connection.execute("INSERT INTO x VALUES ('EU', 'eu'), ('eu', 'eu'), ('eü', 'eu')")

    def passing(text: str) -> list[str]:
        condition = render(parse_expression(text), "duckdb", table, USER)
        rows = connection.execute(f"SELECT s FROM x WHERE {condition}").fetchall()
        return [s for (s,) in rows]

    table = Table({"s": Type.STRING, "t": Type.STRING})
    alike = ("s = 'eu'", "s = t", "s in ('eu', null)", "s like 'eu'", "s = $user.name")
    for text in (*alike, "starts_with(s, 'eu')", "not (s is distinct from t)"):
        assert passing(text) == ["eu"], text
    assert passing("s <> t") == passing("s not in (t)") == ["EU", "eü"]
    assert passing("case when s = t then null else s end is null") == ["eu"]
    assert passing("$user.region = 'eu'") == passing("s = null") == passing("null = s") == []


def test_what_no_engine_reads_as_a_number_or_a_date_is_null() -> None:
    """`\u0663` is a digit, and in some engines a column name."""
    numbers = ("\u0663", "1\u0663", "\uff11", "1_0", "+1", " 1", "1e3", "0x1", "")
    dates = ("2024-W01-1", "20240101", "2024-13-01", "\u0662024-01-01", "2024-1-001")
    for engine in ENGINES:
        for level in numbers:
            user = User("x", frozenset(), {"level": level})
            text = rendered("n = cast($user.level as integer)", engine, user)
            assert "CAST(NULL AS" in text, level
        for since in dates:
            user = User("x", frozenset(), {"since": since})
            text = rendered("d = cast($user.since as date)", engine, user)
            assert "CAST(NULL AS DATE)" in text, since


def test_what_is_too_deep_for_an_engine_is_refused() -> None:
    """MariaDB has no `translate`, so `lower` becomes 26 nested functions."""
    text = "lower(" * 39 + "s" + ")" * 39 + " = 'x'"
    assert "TRANSLATE" in rendered(text, "trino")
    with pytest.raises(BadInput, match="too deeply for mysql"):
        rendered(text, "mysql")


def test_what_was_not_checked_is_refused() -> None:
    with pytest.raises(BadInput, match="takes a constant"):
        render(parse_expression("starts_with(a, b)"), "trino", Table(None), USER)
    with pytest.raises(BadInput, match="unknown lookup table"):
        render(parse_expression("a in lookup.x"), "trino", Table(None), USER)


def test_a_lookup_table_is_bounded() -> None:
    rows = [(str(place), None) for place in range(MAX_ROWS + 1)]
    expression = parse_expression("(s, t) in lookup.pairs")
    with pytest.raises(LimitExceeded, match="more than 1000 rows"):
        render(expression, "trino", TABLE, USER, {"pairs": rows})


@pytest.mark.nightly
def test_a_whole_lookup_table_is_within_what_engines_take() -> None:
    rows = [(f"r{place}", f"o'{place}") for place in range(MAX_ROWS)]
    types = {"s": Type.STRING, "t": Type.STRING}
    table = Table(types, {"pairs": (Type.STRING,) * 2, "one": (Type.STRING,)})
    connection = duckdb.connect()
    for text, lookup in (
        ("(s, t) in lookup.pairs", rows),
        ("s in lookup.one", [r[:1] for r in rows]),
    ):
        expression = parse_expression(text)
        name = min(expression.lookups)
        for engine in ENGINES:
            sql = render(expression, engine, table, USER, {name: lookup})
            assert len(parse(sql, dialect=DIALECTS[engine])) == 1
        sql = render(expression, "duckdb", table, USER, {name: lookup})
        given = "(VALUES ('r999', 'o''999'), ('r1', 'x'), (NULL, NULL)) v (s, t)"
        found = connection.execute(f"SELECT {sql} FROM {given}").fetchall()
        assert found == [(True,), (len(expression.columns) == 1,), (None,)]


@pytest.mark.parametrize("text", ["a\0b", "a\u202eb"])
def test_a_text_that_engines_do_not_take_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match="control characters"):
        rendered("s = $user.name", user=User(text))


def values(engine: str, ask: Callable[[str], Any]) -> list[Any]:
    """The engine's results for `$user.name`, for all hostile names at once."""
    expression = parse_expression("$user.name")
    texts = [render(expression, engine, ONE, User(name)) for name in HOSTILE]
    return list(ask(f"SELECT {', '.join(f'{text} AS c{at}' for at, text in enumerate(texts))}"))


def test_names_stay_values_in_duckdb() -> None:
    connection = duckdb.connect()
    assert values("duckdb", lambda sql: connection.execute(sql).fetchall()[0]) == HOSTILE


def test_names_stay_values_in_postgresql(postgres_url: str) -> None:
    assert values("postgresql", lambda sql: _asked(postgres_url, sql)) == HOSTILE


def test_names_stay_values_in_mariadb(mariadb_url: str) -> None:
    assert values("mysql", lambda sql: _asked(mariadb_url, sql)) == HOSTILE


def _asked(url: str, sql: str) -> Any:
    engine = sa.create_engine(url)
    with engine.connect() as connection:
        row = connection.exec_driver_sql(sql.replace("%", "%%")).one()
    engine.dispose()
    return tuple(row)


def test_names_stay_values_in_spark(spark: SparkSession) -> None:
    assert values("spark", lambda sql: spark.sql(sql).collect()[0]) == HOSTILE
