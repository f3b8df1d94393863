"""Common calls of the real client by permitted users: they work as without a gateway."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql.connect import functions as fn

from tests.gateway.running import Running

pytestmark = pytest.mark.spark


def test_data_frames_are_read_as_without_a_gateway(gateway: Running) -> None:
    spark = gateway.session("bo")
    orders = spark.table("orders")
    assert orders.columns == ["id", "region", "amount"]
    assert orders.count() == 3
    assert orders.schema.fieldNames() == ["id", "region", "amount"]
    big = orders.filter(fn.col("amount") > 15).select("id", orders.region).orderBy("id")
    assert [tuple(row) for row in big.collect()] == [(2, "us"), (3, "eu")]
    grouped = orders.groupBy("region").agg(fn.sum("amount").alias("total"))
    frame: Any = grouped.orderBy("region").toPandas()
    assert frame["total"][0] == Decimal("40.75")
    notes = spark.table("sales.notes")
    joined = orders.join(notes, orders.id == notes.id).select(orders.id, "text")
    assert sorted(tuple(row) for row in joined.collect()) == [(1, "first"), (3, "third")]
    assert "first" in notes._show_string()  # type: ignore[operator]  # parsed as a column


def test_filters_and_masks_hold(gateway: Running) -> None:
    spark = gateway.session("ana")
    orders = spark.table("orders")
    assert sorted(row.id for row in orders.collect()) == [1, 3]
    assert orders.filter(orders.region != "eu").count() == 0
    customers = spark.table("customers")
    assert [tuple(row) for row in customers.collect()] == [(1, "Ida", "****9999", "eu")]
    assert customers.filter(customers.iban == "DE00123456789999").count() == 0
    joined = orders.join(customers, orders.id == customers.id).select(customers.iban, orders.id)
    assert [tuple(row) for row in joined.collect()] == [("****9999", 1)]


@pytest.mark.nightly  # by day in test_statements.py
def test_temporary_views_keep_filters_and_masks(gateway: Running) -> None:
    spark = gateway.session("ana")
    spark.table("customers").createOrReplaceTempView("mine")
    assert [row.iban for row in spark.table("mine").collect()] == ["****9999"]
    spark.createDataFrame([(1, "x")], ["id", "word"]).createOrReplaceTempView("words")
    mine, words = spark.table("mine"), spark.table("words")
    both = mine.join(words, mine.id == words.id).select("word", "name")
    assert [tuple(row) for row in both.collect()] == [("x", "Ida")]
    with pytest.raises(PySparkException, match="not allowed"):
        gateway.session("eve").table("mine").collect()


def test_who_may_not_read_is_denied(gateway: Running) -> None:
    for user, name in (("ana", "hr.people"), ("ana", "default.none")):
        with pytest.raises(PySparkException, match="not allowed: read a table or view"):
            gateway.session(user).table(name).collect()
    with pytest.raises(PySparkException, match="not allowed: open a session"):
        gateway.new_session("eve").table("orders").collect()


def test_the_catalog_lists_what_the_user_may_see(gateway: Running) -> None:
    catalog = gateway.session("ana").catalog
    assert catalog.currentDatabase() == "sales"
    assert [one.name for one in catalog.listDatabases()] == ["sales"]
    names = {one.name for one in catalog.listTables() if not one.isTemporary}
    assert names == {"orders", "customers", "notes", "totals"}
    assert catalog.tableExists("orders")
    assert [one.name for one in catalog.listColumns("notes")] == ["id", "text"]
    with pytest.raises(PySparkException, match="not allowed"):
        catalog.setCurrentDatabase("hr")
    assert {one.name for one in gateway.session("olga").catalog.listDatabases()} == {"hr", "sales"}


def test_sql_reads_through_filters_and_masks(gateway: Running) -> None:
    spark = gateway.session("ana")
    found = spark.sql("select id, amount from sales.orders where amount > 1 order by id")
    assert [row.id for row in found.collect()] == [1, 3]
    assert found.filter("id > 1 and amount is not null").count() == 1
    text = (
        "with c as (select * from customers) select o.id, c.iban, sum(o.amount) as total"
        " from orders o join c on o.id = c.id where c.id in (select id from notes)"
        " group by o.id, c.iban"
    )
    assert [tuple(row)[:2] for row in spark.sql(text).collect()] == [(1, "****9999")]
    assert gateway.session("bo").sql("select count(*) as n from orders").collect()[0].n == 3


@pytest.mark.nightly
def test_sql_reads_views_and_frames(gateway: Running) -> None:
    spark = gateway.session("ana")
    assert spark.sql("select count(*) as n from totals").collect()[0].n == 2
    spark.sql("select iban as shown from customers").createOrReplaceTempView("shown")
    assert [row.shown for row in spark.sql("select shown.shown from shown").collect()] == [
        "****9999"
    ]
    frame = spark.createDataFrame([(1, "x")], ["id", "word"])
    joined = spark.sql("select word, region from {df} d join orders o on d.id = o.id", df=frame)
    assert [tuple(row) for row in joined.collect()] == [("x", "eu")]


@pytest.mark.nightly
def test_the_current_database_is_the_gateways(gateway: Running) -> None:
    spark = gateway.new_session("olga")
    spark.sql("use hr").collect()
    assert spark.catalog.currentDatabase() == "hr"
    assert spark.sql("select count(*) as n from people").collect()[0].n == 2
    assert spark.table("people").selectExpr("max(salary) as m").collect()[0].m == 200
    spark.stop()
