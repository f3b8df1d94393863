"""SQL other than queries: permitted statements, their rewritten form for Spark, their effect."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from pyspark.errors import PySparkException
from pyspark.sql.connect.proto import base_pb2 as base
from pyspark.sql.connect.proto import relations_pb2 as relations

from lakewarden.gateway.errors import Denied
from lakewarden.gateway.plans import Plans
from lakewarden.gateway.session import Session
from tests.gateway import write_attacks
from tests.gateway.estate import Estate, new_session
from tests.gateway.running import Running

AT = "`spark_catalog`.`sales`"


def asked(
    estate: Estate, user: str, text: str, session: Session | None = None
) -> tuple[relations.Relation, Plans]:
    """The rewritten statement for Spark."""
    request = base.ExecutePlanRequest()
    request.plan.command.sql_command.input.sql.query = text
    plans = estate.plans(user, session)
    plans.execute(request)
    return request.plan.command.sql_command.input, plans


def sql(plan: relations.Relation) -> str:
    root = plan.with_relations.root if plan.HasField("with_relations") else plan
    return re.sub("lw_[0-9a-f]{32}", "lw", root.sql.query)


TAKEN = {
    ("bo", "insert into notes select id, region from orders"): (
        f"INSERT INTO TABLE {AT}.`notes` SELECT `id`, `region` FROM `lw` AS `orders`"
    ),
    ("bo", "insert into Sales.NOTES values (1, 'x')"): (
        f"INSERT INTO TABLE {AT}.`notes` SELECT 1, 'x'"
    ),
    ("bo", "insert overwrite sales.notes select * from notes"): (
        f"INSERT OVERWRITE TABLE {AT}.`notes` SELECT * FROM `lw` AS `notes`"
    ),
    ("bo", "create table made using parquet as select * from totals"): (
        f"CREATE TABLE {AT}.`made` USING parquet AS SELECT * FROM `lw` AS `totals`"
    ),
    ("bo", "create table made (id bigint)"): f"CREATE TABLE {AT}.`made` (`id` BIGINT)",
    ("bo", "create table `x``; drop table y` (id bigint)"): (
        f"CREATE TABLE {AT}.`x``; drop table y` (`id` BIGINT)"
    ),
    ("bo", "delete from notes where id in (select id from orders)"): (
        f"DELETE FROM {AT}.`notes` AS `notes` WHERE `id` IN (SELECT `id` FROM `lw` AS `orders`)"
    ),
    ("bo", "truncate table notes"): f"TRUNCATE TABLE {AT}.`notes`",
    ("olga", "update notes set text = 'x'"): f"UPDATE {AT}.`notes` AS `notes` SET `text` = 'x'",
    ("olga", "merge into notes n using orders o on n.id = o.id when matched then delete"): (
        f"MERGE INTO {AT}.`notes` AS `n` USING `lw` AS `o` ON `n`.`id` = `o`.`id`"
        " WHEN MATCHED THEN DELETE"
    ),
    ("olga", "create view shown as select id from orders"): (
        f"CREATE VIEW {AT}.`shown` AS SELECT `id` FROM {AT}.`orders` AS `orders`"
    ),
    ("olga", "create or replace view totals as select 1 as x"): (
        f"CREATE OR REPLACE VIEW {AT}.`totals` AS SELECT 1 AS `x`"
    ),
    ("olga", "drop view totals"): f"DROP VIEW {AT}.`totals`",
    ("olga", "drop table if exists hr.people"): (
        "DROP TABLE IF EXISTS `spark_catalog`.`hr`.`people`"
    ),
    ("olga", "alter table notes add columns (more int)"): (
        f"ALTER TABLE {AT}.`notes` ADD COLUMNS (`more` INT)"
    ),
    ("olga", "alter table notes rename to hr.notes"): (
        f"ALTER TABLE {AT}.`notes` RENAME TO `hr`.`notes`"
    ),
    ("olga", "create schema extra"): "CREATE SCHEMA `spark_catalog`.`extra`",
    ("olga", "drop schema hr"): "DROP SCHEMA `spark_catalog`.`hr` RESTRICT",
}


@pytest.mark.parametrize(("user", "text"), TAKEN)
def test_what_may_be_done_is_written_with_complete_names(
    estate: Estate, user: str, text: str
) -> None:
    plan, plans = asked(estate, user, text)
    assert sql(plan) == TAKEN[user, text]
    assert plans.answer is None


def test_what_a_statement_reads_is_limited(estate: Estate) -> None:
    plan, _ = asked(estate, "ana", "insert into scratch select id, iban from customers")
    (reference,) = plan.with_relations.references
    limited = reference.subquery_alias.input.subquery_alias.input
    assert limited.project.expressions[2].alias.expr.expression_string.expression.count("****")


@pytest.mark.parametrize("text", write_attacks.WRITES)
def test_a_writer_gets_at_nothing_else(estate: Estate, text: str) -> None:
    with pytest.raises(Denied):
        asked(estate, "bo", text)


@pytest.mark.parametrize("text", write_attacks.LIMITED_WRITES)
def test_whom_a_filter_or_mask_binds_changes_nothing(estate: Estate, text: str) -> None:
    with pytest.raises(Denied, match="without a row filter or column mask on it"):
        asked(estate, "ana", text)


def rows(answer: relations.Relation | None) -> list[tuple[Any, ...]]:
    assert answer is not None
    table = pa.ipc.open_stream(answer.local_relation.data).read_all()
    return [tuple(row.values()) for row in table.to_pylist()]


SHOWN: list[tuple[str, str, list[tuple[Any, ...]]]] = [
    ("ana", "show databases", [("sales",)]),
    ("olga", "show schemas like 'h*'", [("hr",)]),
    ("ana", "show catalogs", [("spark_catalog",)]),
    (
        "ana",
        "SHOW TABLES",
        [("sales", name, False) for name in ("customers", "notes", "orders", "totals")],
    ),
    (
        "ana",
        "show tables in sales 'C*|not*'",
        [("sales", "customers", False), ("sales", "notes", False)],
    ),
    ("ana", "show views from sales", [("sales", "totals", False)]),
    ("olga", "show tables in hr", [("hr", "people", False)]),
    ("ana", "show columns in customers", [(n,) for n in ("id", "name", "iban", "region")]),
    ("ana", "describe orders", [("id", "bigint", None), ("region", "string", None),
                                ("amount", "decimal(10, 2)", None)]),
]  # fmt: skip


@pytest.mark.parametrize(("user", "text", "expected"), SHOWN)
def test_lists_have_what_the_user_may_see(
    estate: Estate, user: str, text: str, expected: list[tuple[Any, ...]]
) -> None:
    plan, plans = asked(estate, user, text)
    assert sql(plan) == "SELECT 'used' AS result LIMIT 0"
    assert rows(plans.answer) == expected


def test_a_view_of_the_session_is_kept_by_the_gateway(estate: Estate) -> None:
    session = new_session()
    plan, plans = asked(
        estate, "ana", "create temp view Mine as select iban from customers", session
    )
    assert sql(plan) == "SELECT * FROM `lw` LIMIT 0"
    assert plans.new_view is not None
    session.keep_view(plans.new_view.name, plans.new_view.plan)
    _, listed = asked(estate, "ana", "show tables like 'm*'", session)
    assert rows(listed.answer) == [("", "mine", True)]
    for text in ("create temp view mine as select 1 as x", "create temp view notes as select 1"):
        with pytest.raises(Denied):
            asked(estate, "ana", text, session)
    with pytest.raises(Denied, match="view of the session"):
        asked(estate, "olga", "create view sales.v as select * from mine", session)
    asked(estate, "ana", "drop view mine", session)
    assert session.views == {}


@pytest.fixture(name="scratch")
def _scratch(gateway: Running) -> Iterator[Running]:
    olga = gateway.session("olga")
    olga.sql("create table sales.scratch (id bigint, text string) using parquet").collect()
    yield gateway
    olga.sql("drop table sales.scratch").collect()


@pytest.mark.nightly  # by day in test_following.py
@pytest.mark.spark
def test_statements_do_on_a_server_what_they_say(scratch: Running) -> None:
    bo, olga = scratch.session("bo"), scratch.session("olga")
    bo.sql("insert into scratch values (1, 'one'), (2, 'two')").collect()
    bo.sql("insert into scratch (text, id) select 'more', id + 2 from scratch").collect()
    found = bo.sql("select id, text from scratch order by id").collect()
    assert [tuple(row) for row in found] == [(1, "one"), (2, "two"), (3, "more"), (4, "more")]
    ana = scratch.session("ana")
    ana.sql("insert into scratch select id, iban from customers").collect()
    read = ana.sql("select text from scratch where text like '*%'").collect()
    assert [row.text for row in read] == ["****9999"]
    bo.sql("create table sales.copied using parquet as select * from notes").collect()
    olga.sql("insert overwrite scratch select 9L, 'nine'").collect()
    assert olga.table("scratch").count() == 1
    olga.sql("alter table sales.scratch add columns (more int)").collect()
    assert [row.col_name for row in olga.sql("describe scratch").collect()] == [
        "id",
        "text",
        "more",
    ]
    olga.sql("create or replace view sales.totals as select region, sum(amount) as total"
             " from sales.orders group by region").collect()  # fmt: skip
    assert ana.sql("select count(*) as n from totals").collect()[0].n == 2
    olga.sql("truncate table scratch").collect()
    assert olga.table("scratch").count() == 0


@pytest.mark.spark
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("delete from notes where id = 9", "does not support DELETE"),
        ("update notes set text = 'x' where id in (select id from orders)", "UPDATE TABLE"),
        (
            "merge into notes n using orders o on n.id = o.id when matched then delete"
            " when not matched then insert (id, text) values (o.id, 'x')",
            "MERGE INTO TABLE",
        ),
        ("drop schema hr", "not empty|contains objects"),
    ],
)
def test_spark_understands_what_its_tables_cannot_do(
    gateway: Running, text: str, said: str
) -> None:
    with pytest.raises(PySparkException, match=said):
        gateway.session("olga").sql(text).collect()


@pytest.mark.spark
def test_lists_are_those_of_the_server(gateway: Running) -> None:
    ana = gateway.session("ana")
    shown = {row.tableName for row in ana.sql("show tables").collect() if not row.isTemporary}
    assert shown == {"orders", "customers", "notes", "totals"}
    assert [row.namespace for row in ana.sql("show databases").collect()] == ["sales"]
    ana.sql("create or replace temp view seen as select iban from customers").collect()
    assert [row.iban for row in ana.sql("select * from seen").collect()] == ["****9999"]
    ana.sql("drop view seen").collect()
    with pytest.raises(PySparkException, match="not allowed"):
        ana.sql("select * from seen").collect()
