"""The second check of the analyzed plan: its reads are permitted, and restricted."""

from __future__ import annotations

from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql.connect.proto import relations_pb2 as relations

from lakewarden.gateway.analysis import check_analyzed, pieces
from lakewarden.gateway.errors import Denied
from lakewarden.gateway.plan_enforcer import PlanEnforcer
from tests.gateway.running import Running

ORDERS = ("spark_catalog", "sales", "orders")
NOTES = ("spark_catalog", "sales", "notes")
TOTALS = ("spark_catalog", "sales", "totals")
READS: dict[Any, int | None] = {ORDERS: 1, NOTES: None, TOTALS: None}


def explained(tree: str) -> str:
    analyzed = f"== Analyzed Logical Plan ==\nid: bigint\n{tree.strip()}\n\n"
    optimized = "== Optimized Logical Plan ==\nRelation spark_catalog.hr.people[x] parquet\n"
    return f"== Parsed Logical Plan ==\n'X\n\n{analyzed}{optimized}"


LIMITED = """
Project [id#1L]
+- SubqueryAlias lw_00000000000000000000000000000000
   +- View (`lw_00000000000000000000000000000000`, [id#1L])
      +- SubqueryAlias spark_catalog.sales.orders
         +- Project [id#1L, region#2]
            +- Filter (region#2 = eu)
               +- SubqueryAlias spark_catalog.sales.orders
                  +- Relation spark_catalog.sales.orders[id#1L,region#2] parquet
"""
JOINED = """
Filter id#1L IN (list#3 [])
:  +- Project [id#4L]
:     +- SubqueryAlias spark_catalog.sales.notes
:        +- RelationV2[id#4L, text#5] spark_catalog.sales.notes
+- Join Inner
   :- LocalRelation [a#1]
   +- SubqueryAlias spark_catalog.sales.totals
      +- View (`spark_catalog`.`sales`.`totals`, [region#6])
         +- Aggregate [region#7]
            +- SubqueryAlias spark_catalog.hr.people
               +- Relation spark_catalog.hr.people[region#7] parquet
"""


@pytest.mark.parametrize("tree", [LIMITED, JOINED, "OneRowRelation", "Range (0, 1)"])
def test_a_plan_with_all_its_limits_passes(tree: str) -> None:
    check_analyzed(explained(tree), READS)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("sales.orders[", "hr.people["),
        ("sales.orders[", "sales.orders2["),
        ("Relation spark_catalog.sales.orders[", "Relation ["),
        ("Relation spark_catalog.sales.orders", "LogicalRDD "),
        ("Relation spark_catalog.sales.orders", "InMemoryRelation "),
        ("            +- Filter (region#2 = eu)\n   ", ""),
        ("         +- Project [id#1L, region#2]\n            +- Filter", "         +- Filter"),
        ("View (`lw_00000000000000000000000000000000`", "View (`orders`"),
        ("View (`lw_00000000000000000000000000000000`", "View (`spark_catalog`.`hr`.`people`"),
        ("Project [id#1L]\n", "Project [id#1L]\nx AS y]\n"),
        ("\n+- SubqueryAlias lw", "\n      +- SubqueryAlias lw"),
        ("Filter (", "Sort ("),
    ],
)
def test_a_plan_that_lost_a_limit_is_refused(old: str, new: str) -> None:
    assert old in LIMITED
    with pytest.raises(Denied):
        check_analyzed(explained(LIMITED.replace(old, new)), READS)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("`totals`", "`other`"),
        ("RelationV2[id#4L, text#5] spark_catalog.sales.notes", "RelationV2[x] spark_catalog.hr.p"),
        ("LocalRelation [a#1]", "HiveTableRelation [`spark_catalog`.`hr`.`people`, x]"),
        ("LocalRelation [a#1]", "StreamingRelation x"),
        ("LocalRelation [a#1]", "UnresolvedRelation [hr, people]"),
    ],
)
def test_a_table_that_was_not_asked_about_is_refused(old: str, new: str) -> None:
    assert old in JOINED
    with pytest.raises(Denied):
        check_analyzed(explained(JOINED.replace(old, new)), READS)


def test_a_text_that_is_no_explanation_is_refused() -> None:
    for text in ("", "== Analyzed Logical Plan ==\nid: bigint\nOneRowRelation"):
        with pytest.raises(Denied, match="cannot be checked"):
            check_analyzed(text, READS)


def test_what_spark_would_execute_is_looked_at_below() -> None:
    plan = relations.Relation()
    plan.show_string.input.filter.input.read.named_table.unparsed_identifier = "a"
    plan.show_string.input.filter.condition.literal.string = "x\ny"
    (piece,) = pieces(plan)
    assert piece.filter.input.read.named_table.unparsed_identifier == "a"
    assert piece.filter.condition.literal.string == "x y"
    pivot = relations.Relation()
    pivot.aggregate.input.read.named_table.unparsed_identifier = "b"
    pivot.aggregate.pivot.col.unresolved_attribute.unparsed_identifier = "c"
    (below,) = pieces(pivot)
    assert below.read.named_table.unparsed_identifier == "b"


@pytest.mark.spark
def test_a_limit_that_the_gateway_forgot_is_noticed(
    gateway: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    ana = gateway.session("ana")
    orders = ana.table("orders")
    assert orders.filter("id > 0 and region <> 'a\nb'").count() == 2
    monkeypatch.setattr(PlanEnforcer, "_limited", lambda self, plan, name: (
        self.reads.__setitem__(name, 1) or plan))  # fmt: skip
    for read in (
        orders.collect,
        lambda: ana.sql("select * from orders").collect(),
        lambda: ana.sql("select 1 from notes where id in (select id from orders)").collect(),
        lambda: ana.sql("insert into scratch select id, region from orders").collect(),
        lambda: orders.limit(5).show(),
        lambda: orders.createOrReplaceTempView("x"),
    ):
        with pytest.raises(PySparkException, match="without its filters and masks"):
            read()


@pytest.mark.spark
def test_a_read_that_nobody_asked_about_is_noticed(
    gateway: Running, monkeypatch: pytest.MonkeyPatch
) -> None:
    def blind(self: Any, plan: Any) -> None:
        self.reads[NOTES] = None

    monkeypatch.setattr(PlanEnforcer, "enforce", blind)
    with pytest.raises(PySparkException, match="a table that was not asked about"):
        gateway.session("ana").sql("select * from hr.people").collect()
