"""Statements that are not queries: their rewritten form, and refused ones."""

from __future__ import annotations

import pytest

from lakewarden.expressions.query import Name, Query
from lakewarden.expressions.statement import (
    AddColumns,
    Change,
    CreateSchema,
    CreateTable,
    CreateView,
    Describe,
    Drop,
    Insert,
    Rename,
    Statement,
    Truncate,
    read_statement,
)
from lakewarden.kernel.errors import BadInput

TARGET = "`c`.`d`.`t`"


def renamed(query: Query | None) -> dict[Name, Name]:
    return {} if query is None else {name: ("lw", name[-1]) for name in query.tables}


def written(text: str) -> str:
    statement = read_statement(text)
    if isinstance(statement, Change):
        return statement.text(renamed(statement.query))
    assert isinstance(statement, Insert | CreateTable | CreateView), text
    return statement.text(TARGET, renamed(statement.query))


WRITTEN = {
    "insert into t select * from a": (
        "INSERT INTO TABLE `c`.`d`.`t` SELECT * FROM `lw`.`a` AS `a`"
    ),
    "insert into t (x, y) values (1, 'a'), (2, 'b')": (
        "INSERT INTO TABLE `c`.`d`.`t` (`x`, `y`) SELECT 1, 'a' UNION ALL SELECT 2, 'b'"
    ),
    "insert into t by name select 1 as x": (
        "INSERT INTO TABLE `c`.`d`.`t` BY NAME SELECT 1 AS `x`"
    ),
    "insert overwrite table t select * from t": (
        "INSERT OVERWRITE TABLE `c`.`d`.`t` SELECT * FROM `lw`.`t` AS `t`"
    ),
    "create table if not exists t (x bigint, y decimal(10,2)) using orc": (
        "CREATE TABLE IF NOT EXISTS `c`.`d`.`t` (`x` BIGINT, `y` DECIMAL(10, 2)) USING orc"
    ),
    "create or replace table t as select x from a": (
        "CREATE OR REPLACE TABLE `c`.`d`.`t` AS SELECT `x` FROM `lw`.`a` AS `a`"
    ),
    "create view v as select x from a where x in (select y from b)": (
        "CREATE VIEW `c`.`d`.`t` AS SELECT `x` FROM `lw`.`a` AS `a` WHERE `x` IN"
        " (SELECT `y` FROM `lw`.`b` AS `b`)"
    ),
    "delete from t": "DELETE FROM `lw`.`t` AS `t`",
    "delete from t as o where o.x > 1 and exists (select 1 from b where b.y = o.x)": (
        "DELETE FROM `lw`.`t` AS `o` WHERE `o`.`x` > 1 AND EXISTS(SELECT 1 FROM `lw`.`b` AS `b`"
        " WHERE `b`.`y` = `o`.`x`)"
    ),
    "update t set x = y + 1, t.z = (select max(y) from b) where y is null": (
        "UPDATE `lw`.`t` AS `t` SET `x` = `y` + 1, `z` = (SELECT MAX(`y`) FROM `lw`.`b` AS `b`)"
        " WHERE `y` IS NULL"
    ),
    "merge into t using (select * from b) s on t.x = s.x"
    " when matched and s.y > 1 then update set t.x = s.x, y = 2"
    " when matched then delete when not matched by source then delete"
    " when not matched then insert (x, y) values (s.x, 2)": (
        "MERGE INTO `lw`.`t` AS `t` USING (SELECT * FROM `lw`.`b` AS `b`) AS `s`"
        " ON `t`.`x` = `s`.`x` WHEN MATCHED AND `s`.`y` > 1 THEN UPDATE SET `x` = `s`.`x`, `y` = 2"
        " WHEN MATCHED THEN DELETE WHEN NOT MATCHED BY SOURCE THEN DELETE"
        " WHEN NOT MATCHED THEN INSERT (`x`, `y`) VALUES (`s`.`x`, 2)"
    ),
    "merge into t using b on t.x = b.x when matched then update set *"
    " when not matched then insert *": (
        "MERGE INTO `lw`.`t` AS `t` USING `lw`.`b` AS `b` ON `t`.`x` = `b`.`x`"
        " WHEN MATCHED THEN UPDATE SET * WHEN NOT MATCHED THEN INSERT *"
    ),
}


@pytest.mark.parametrize("text", WRITTEN)
def test_a_statement_is_written_anew(text: str) -> None:
    assert written(text) == WRITTEN[text]


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("drop table if exists s.t", Drop("table", ("s", "t"), if_there=True)),
        ("DROP VIEW v", Drop("view", ("v",))),
        ("drop database s restrict", Drop("schema", ("s",))),
        ("truncate table s.t", Truncate(("s", "t"))),
        (
            "alter table t add columns (x int, y string)",
            AddColumns(("t",), (("x", "INT"), ("y", "STRING"))),
        ),
        ("alter table s.t rename to s.u", Rename(("s", "t"), ("s", "u"))),
        ("describe table s.t", Describe(("s", "t"))),
        ("desc `a b`", Describe(("a b",))),
        ("create schema if not exists c.s", CreateSchema(("c", "s"), unless_there=True)),
        ("select 1", None),
        ("set x = 1", None),
        ("load data inpath '/x' into table t", None),
        ("show tables", None),
    ],
)
def test_a_statement_is_read(text: str, statement: Statement | None) -> None:
    assert read_statement(text) == statement


@pytest.mark.parametrize(
    "text",
    [
        "insert overwrite directory '/tmp/x' select 1",
        "insert into t partition (x = 1) select 1",
        "insert into t replace where x = 1 select 1",
        "insert into t values (reflect('a', 'b'))",
        "insert into t (x.y) select 1",
        f"insert into t values {', '.join(['(1)'] * 501)}",
        "with c as (select 1) insert into t select * from c",
        "insert into identifier('t') select 1",
        "create table t (x int not null)",
        "create table t (x int default 1)",
        "create table t (x int) location '/t'",
        "create table t (x struct<y: int>)",
        "create table t using `a b` as select 1 as x",
        "create table t using csv options (path '/x') as select 1 as x",
        "create table t tblproperties ('a' = 'b') as select 1 as x",
        "create table t partitioned by (x) as select 1 as x",
        "create table t like u",
        "create external table t (x int)",
        "create table t",
        "create view v (x) as select 1",
        "create view v comment 'x' as select 1",
        "create view v tblproperties ('a' = 'b') as select 1",
        "create global temporary view v as select 1",
        "create temporary view v using csv options (path '/x')",
        "create function f as 'x.Y'",
        "create schema s location '/x'",
        "create or replace schema s",
        "drop table a, b",
        "drop table a purge",
        "drop schema s cascade",
        "drop function f",
        "truncate table a, b",
        "alter table t drop column x",
        "alter table t rename column x to y",
        "alter table t set location '/x'",
        "alter table t set tblproperties ('a' = 'b')",
        "alter table t add partition (x = 1)",
        "alter view v as select 1",
        "describe extended t",
        "describe schema s",
        "describe t x",
        "delete from t using u",
        "delete from t where reflect('a', 'b')",
        "update t set x = reflect('a', 'b')",
        "update t set u.x = 1",
        "update t set x = 1 from u",
        "merge into t using u when matched then delete",
        "merge into t using u on t.x = u.x when matched then insert (x) values (1)",
        "merge into t using u on t.x = u.x when not matched then delete",
        "merge into t using u on reflect('a') when matched then delete",
        "merge into t using parquet.`/tmp/x` u on t.x = u.x when matched then delete",
        "drop table t; drop table u",
        "drop table t; select 1",
        "update t set x = '${env:PATH}'",
        "insert into t select 'a\\'b'",
        f"insert into t select '{'x' * 100_001}'",
        f"insert into t select {'(' * 2_000}1{')' * 2_000}",
    ],
)
def test_what_is_not_known_is_refused(text: str) -> None:
    with pytest.raises(BadInput):
        written(text)


def test_names_with_sql_in_them_stay_names() -> None:
    name = "x`; drop table y; --"
    statement = read_statement("insert into `x``; drop table y; --` (`a``b`) select 1")
    assert isinstance(statement, Insert)
    assert statement.table == (name,)
    assert written("insert into t (`a``b`) select 1") == (
        "INSERT INTO TABLE `c`.`d`.`t` (`a``b`) SELECT 1"
    )
