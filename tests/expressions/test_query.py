"""Queries on restricted tables: accepted ones, refused ones, and the final results."""

from __future__ import annotations

from typing import Any

import duckdb
import pytest

from lakewarden.expressions.query import (
    MAX_LENGTH,
    MAX_NODES,
    Limits,
    read_expression,
    read_query,
)
from lakewarden.kernel.errors import BadInput

ORDERS = ("sales", "orders")
LIMITS = {
    ORDERS: Limits(
        {"id": None, "region": None, "card": "'****'", "amount": None},
        ["region = 'eu'"],
        frozenset({"note"}),
        ("base", "orders_1"),
    ),
    ("people",): Limits({"id": None, "region": None}, (), frozenset(), ("base", "people_1")),
}


@pytest.fixture(scope="module")
def connection() -> duckdb.DuckDBPyConnection:
    made = duckdb.connect()
    made.execute("CREATE SCHEMA base")
    made.execute(
        "CREATE TABLE base.orders_1 (id INT, region TEXT, card TEXT, amount INT, note TEXT)"
    )
    made.execute(
        "INSERT INTO base.orders_1 VALUES (1, 'eu', '111', 10, 'n'), (2, 'us', '222', 20, 'n'),"
        " (3, 'eu', '333', 30, 'n')"
    )
    made.execute("CREATE TABLE base.people_1 (id INT, region TEXT)")
    made.execute("INSERT INTO base.people_1 VALUES (1, 'eu'), (2, 'us')")
    made.execute("CREATE TABLE secret AS SELECT 'secret' AS x")
    return made


ROWS: list[tuple[str, list[tuple[Any, ...]]]] = [
    ("select id, card from sales.orders order by id", [(1, "****"), (3, "****")]),
    ("from sales.orders select count(*)", [(2,)]),
    ("select count(*) from sales.orders where card = '111'", [(0,)]),
    ("select count(*) from sales.orders where card = '****'", [(2,)]),
    ("select card, sum(amount) from sales.orders group by card", [("****", 40)]),
    ("select sales.orders.id from sales.orders where orders.amount > 10", [(3,)]),
    ("select o.id from sales.orders as o join people as p on o.id = p.id", [(1,)]),
    ("select id from people where id in (select id from sales.orders)", [(1,)]),
    (
        "select (select max(o.amount) from sales.orders o where o.id = p.id) from people p"
        " order by p.id",
        [(10,), (None,)],
    ),
    (
        "with c as (select * from sales.orders), d as (select id from c) select * from d",
        [(1,), (3,)],
    ),
    ("with orders as (select 7 as id) select id from orders", [(7,)]),
    (
        "with orders as (select 7 as id) select o.id from sales.orders o, orders order by 1",
        [(1,), (3,)],
    ),
    ("with c as (select id from people) select id from (select * from c) order by 1", [(1,), (2,)]),
    ("select id from sales.orders union select id from people order by 1", [(1,), (2,), (3,)]),
    ("select id from people except select id from sales.orders", [(2,)]),
    (
        "select id, row_number() over (order by id desc) as n from sales.orders qualify n = 1",
        [(3, 1)],
    ),
    ("select * exclude (id, amount, card) from sales.orders limit 1", [("eu",)]),
    ("select q.x from people p, lateral (select p.id + 1 as x) q order by 1", [(2,), (3,)]),
    ("select p.id from (people p join sales.orders o on p.id = o.id)", [(1,)]),
    ("select id from sales.orders natural join people", [(1,)]),
    ("select id from sales.orders join people using (id, region)", [(1,)]),
    (
        "select cast(amount as decimal(10, 2)) > 10 from sales.orders order by id",
        [(False,), (True,)],
    ),
    ("select x.a from sales.orders as x(a, b, c, d) order by 1", [(1,), (3,)]),
    ("select extract(year from date '2024-01-01')", [(2024,)]),
]


@pytest.mark.parametrize(("text", "rows"), ROWS, ids=[text for text, _ in ROWS])
def test_a_query_reads_what_its_user_sees(
    connection: duckdb.DuckDBPyConnection, text: str, rows: list[tuple[Any, ...]]
) -> None:
    governed = read_query(text, "duckdb").governed(LIMITS)
    found = connection.execute(governed).fetchall()
    assert sorted(found, key=str) == sorted(rows, key=str)


REFUSED = [
    # No query, or several.
    ("", "expected one query"),
    ("select 1; select 2", "expected one query"),
    ("select", "expected columns"),
    ("select 'x", "cannot be read"),
    ("insert into people values (1)", "expected a query"),
    ("update people set id = 1", "expected a query"),
    ("delete from people", "expected a query"),
    ("create table x as select * from people", "expected a query"),
    ("create view x as select 1", "expected a query"),
    ("drop table people", "expected a query"),
    ("copy people to 'x.csv'", "expected a query"),
    ("attach 'x.db'", "expected a query"),
    ("install httpfs", "expected a query"),
    ("load httpfs", "expected a query"),
    ("set threads = 1", "expected a query"),
    ("pragma database_list", "expected a query"),
    ("call pragma_version()", "expected a query"),
    ("describe people", "expected a query"),
    ("show tables", "expected a query"),
    ("explain select 1", "expected a query"),
    ("values (1)", "expected a query"),
    ("pivot people on region using sum(id)", "expected a query"),
    ("use memory", "expected a query"),
    # Files.
    ("select * from 'x.parquet'", "no name of a table"),
    ('select * from "x.parquet"', "no name of a table"),
    ("select * from 's3://bucket/x'", "no name of a table"),
    ("select * from '/etc/passwd'", "no name of a table"),
    ("select * from '*.csv'", "no name of a table"),
    ("select * from read_parquet('x')", "no table"),
    ("select * from read_csv('x')", "no table"),
    ("select * from read_text('/etc/passwd')", "no table"),
    ("select * from glob('*')", "no table"),
    ("select * from duckdb_settings()", "no table"),
    ("select * from range(10)", "no table"),
    ("select * from people, read_blob('x')", "no table"),
    ("select * from people join read_csv_auto('x') on true", "no table"),
    ("select (select content from read_text('x'))", "no table"),
    ("with c as (select * from read_text('x')) select * from c", "no table"),
    ("select 1 where exists (select * from glob('*'))", "no table"),
    ("select * from query('select 1')", "no table"),
    ("select * from query_table('secret')", "no table"),
    ("select * from (values (1)) v(x)", "no table"),
    ("select * from people, lateral range(3) x", "no table"),
    ("select * from people, lateral (values (1)) x", "expected a query in parentheses"),
    ("with c as (delete from people) select 1", "expected a query after WITH"),
    ("select date_trunc('a b', id) from people", "unexpected `A B`"),
    ("select * from people join (values (1)) x(y) on true", "no table"),
    ("select approx_count_distinct(id, 0.1) from people", "cannot be written"),
    # Functions and values of the session.
    ("select getenv('HOME')", "not part of governed queries"),
    ("select current_setting('threads')", "not part of governed queries"),
    ("select current_user", "not part of governed queries"),
    ("select version()", "not part of governed queries"),
    ("select random()", "not part of governed queries"),
    ("select nextval('s')", "not part of governed queries"),
    ("select read_text('x')", "not part of governed queries"),
    ("select main.getenv('HOME')", "no name in front"),
    ("select columns('i.*') from people", "not part of governed queries"),
    ("select #1 from people", "not part of governed queries"),
    ("select list_transform([1], x -> x)", "not part of governed queries"),
    ("select unnest([1])", "not part of governed queries"),
    ("select ?", "not part of governed queries"),
    ("select $x", "not part of governed queries"),
    ("select error('x')", "not part of governed queries"),
    ("select id from people where error('x') is null", "not part of governed queries"),
    ("select cast(id as json) from people", "no cast to"),
    ("select id::int[] from people", "no cast to"),
    # Clauses.
    ("select * from people tablesample 5", "takes no SAMPLE"),
    ("select * from people pivot (sum(id) for region in ('eu'))", "takes no PIVOTS"),
    ("select * from people unpivot (v for n in (id))", "takes no PIVOTS"),
    ("select * from people positional join sales.orders", "no POSITIONAL JOIN"),
    ("select * from people asof join sales.orders using (id)", "no ASOF JOIN"),
    ("select * into x from people", "INTO"),
    ("select * from people for update", "takes no LOCKS"),
    ("select id from people limit 10%", "takes no"),
    ("with recursive c as (select 1) select * from c", "takes no RECURSIVE"),
    ("with c as materialized (select 1) select * from c", "takes no MATERIALIZED"),
    # Names.
    ("with people as (select * from people) select * from people", "also a name after WITH"),
    ("with People as (select * from PEOPLE) select 1", "also a name after WITH"),
    ("select * from people, (with people as (select 1) select * from people)", "also a name"),
    ("with a as (select * from b), b as (select 1) select * from a", "also a name after WITH"),
    ("with a as (select 1), A as (select 2) select * from a", "stands twice"),
    ('with "É" as (select 1) select * from é', "in ASCII"),
    ("with k as (select 1) select * from \u212a", "also a name after WITH"),
    ("select 1\0", "unexpected"),
]


@pytest.mark.parametrize(("text", "message"), REFUSED, ids=[text for text, _ in REFUSED])
def test_what_cannot_be_seen_through_is_refused(text: str, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        read_query(text, "duckdb")


SPARK = [
    ("select * from parquet.`/data/x`", "no name of a table"),
    ("select * from parquet.x", "stands for a file"),
    ("select * from CSV.x", "stands for a file"),
    ("select '${env:HOME}'", "unexpected"),
    ("select '\\' from people --'", "unexpected"),
    ("select /*+ broadcast(people) */ * from people", "takes no HINT"),
    ("select java_method('java.lang.System', 'getenv')", "not part of governed queries"),
    ("select reflect('java.lang.System', 'getenv')", "not part of governed queries"),
    ("select input_file_name() from people", "not part of governed queries"),
    ("select x from people lateral view explode(l) `e x, secret` as x", "no name of a LATERAL"),
    ("select x from people lateral view inline(l) e as x", "no table"),
    ("select * from people version as of 1", "takes no"),
    ("select transform(id) using 'cat' from people", "cannot be read|expected|not part"),
    ("cache table people", "expected a query"),
    ("add jar x", "expected a query"),
    ("select * from range(3)", "no table"),
    ("from people insert into x select *", "expected|cannot be read"),
]


@pytest.mark.parametrize(("text", "message"), SPARK, ids=[text for text, _ in SPARK])
def test_what_cannot_be_seen_through_is_refused_for_spark(text: str, message: str) -> None:
    with pytest.raises(BadInput, match=message):
        read_query(text, "spark")


def test_a_refusal_names_the_place() -> None:
    with pytest.raises(BadInput) as caught:
        read_query("select id\nfrom 'x.csv'", "duckdb")
    assert caught.value.where.startswith("line 2")


def test_spark_explodes_a_column() -> None:
    query = read_query("select x from people lateral view explode(region) e as x", "spark")
    assert query.governed(LIMITS) == (
        "SELECT `x` FROM (SELECT `id`, `region` FROM `base`.`people_1`) AS `people`"
        " LATERAL VIEW EXPLODE(`region`) e AS `x`"
    )


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("select ID from sales.orders", {"id"}),
        ("select count(*) from sales.orders where card = 'x'", {"card"}),
        ("select * from sales.orders", {"id", "card", "amount"}),
        ("select o.* from sales.orders o", {"id", "card", "amount"}),
        ("select orders from sales.orders", {"id", "card", "amount"}),
        ("select count(distinct o) from sales.orders o", {"id", "card", "amount"}),
        ("select a from sales.orders as o(a)", {"id", "card", "amount"}),
        ("select 1 from sales.orders natural join people", {"id", "card", "amount"}),
        ("select 1 from sales.orders join people using (id)", {"id"}),
        ("select o.amount from people p join sales.orders o on o.id = p.id", {"amount", "id"}),
    ],
)
def test_the_columns_are_at_least_those_that_are_read(text: str, columns: set[str]) -> None:
    query = read_query(text, "duckdb")
    assert query.columns(["id", "card", "amount"]) == columns
    assert ORDERS in query.tables


@pytest.mark.parametrize(
    ("limits", "message"),
    [
        ({}, "unknown table `people`"),
        ({("people",): Limits({})}, "no column of it"),
        ({("people",): Limits({"id": None}, ["region = 'eu'"])}, "reads `region`"),
        ({("people",): Limits({"id": "p.id"})}, "reads `p.id`"),
        ({("people",): Limits({"id": "(select x from secret)"})}, "filter or mask|other tables"),
        ({("people",): Limits({"id": "(select 1 from secret)"})}, "other tables"),
        ({("people",): Limits({"id": "'"})}, "cannot be read"),
    ],
)
def test_limits_that_do_not_fit_are_refused(
    limits: dict[tuple[str, ...], Limits], message: str
) -> None:
    with pytest.raises(BadInput, match=message):
        read_query("select 1 from people", "duckdb").governed(limits)


def test_a_source_is_not_hidden_by_a_name_after_with() -> None:
    query = read_query("with c as (select 1 as id) select p.id from people p, c", "duckdb")
    with pytest.raises(BadInput, match="other tables"):
        query.governed({("people",): Limits({"id": None}, source=("c",))})


@pytest.mark.parametrize(
    "text",
    [
        "select " + "(" * 400 + "1" + ")" * 400,
        "select " + "(select " * 200 + "1" + ")" * 200,
        "select 1" + " " * MAX_LENGTH,
        "select " + ",".join("1" * (MAX_NODES + 1)),
    ],
    ids=["parentheses", "queries", "length", "parts"],
)
def test_a_query_that_is_too_large_is_refused(text: str) -> None:
    with pytest.raises(BadInput):
        read_query(text, "duckdb")


def test_other_dialects_are_refused() -> None:
    with pytest.raises(BadInput, match="unknown dialect"):
        read_query("select 1", "mysql")


def test_tables_are_read_from_other_names() -> None:
    query = read_query(
        "with c as (select * from s.t) select t.id, s.u.x from t join s.u on t.id = s.u.id, c",
        "spark",
    )
    names = {("t",): ("x1",), ("s", "t"): ("x2",), ("s", "u"): ("a", "b", "x3")}
    assert query.renamed(names) == (
        "WITH `c` AS (SELECT * FROM `x2` AS `t`) SELECT `t`.`id`, `u`.`x` FROM `x1` AS `t`"
        " JOIN `a`.`b`.`x3` AS `u` ON `t`.`id` = `u`.`id` CROSS JOIN `c`"
    )
    with pytest.raises(BadInput, match="unknown table `s"):
        query.renamed({("t",): ("x1",), ("s", "t"): ("x2",)})


def test_an_expression_is_one_and_reads_no_table() -> None:
    assert read_expression("a + 1 > b.c as d", "spark") == "`a` + 1 > `b`.`c` AS `d`"
    for text in ("a, b", "a from t", "(select max(x) from t)", "", "1 limit 1"):
        with pytest.raises(BadInput):
            read_expression(text, "spark")
