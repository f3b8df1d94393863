"""Plans of users: permitted ones, and their rewritten form for Spark."""

from __future__ import annotations

import pytest
from pyspark.sql.connect.proto import base_pb2 as base
from pyspark.sql.connect.proto import relations_pb2 as relations

from lakewarden.gateway.errors import Denied
from tests.gateway.estate import Estate, new_session


def read(name: str, plan_id: int = 1) -> relations.Relation:
    plan = relations.Relation()
    plan.common.plan_id = plan_id
    plan.read.named_table.unparsed_identifier = name
    return plan


def executed(estate: Estate, user: str, plan: relations.Relation) -> relations.Relation:
    request = base.ExecutePlanRequest()
    request.plan.root.CopyFrom(plan)
    estate.plans(user).execute(request)
    return request.plan.root


@pytest.mark.parametrize(
    "name", ["notes", "sales.notes", "spark_catalog.sales.notes", "`Sales`.`NOTES`", "totals"]
)
def test_what_may_be_read_is_read_by_its_complete_name(estate: Estate, name: str) -> None:
    plan = executed(estate, "ana", read(name))
    table = "totals" if name == "totals" else "notes"
    assert plan == read(f"`spark_catalog`.`sales`.`{table}`")


@pytest.mark.parametrize(
    ("user", "name"),
    [
        ("ana", "hr.people"),
        ("ana", "sales.nothing"),
        ("ana", "default.notes"),
        ("ana", "other.sales.notes"),
        ("ana", "lake.sales.notes"),
        ("ana", "spark_catalog.sales.notes.files"),
        ("ana", "parquet.`/tmp/x`"),
        ("ana", "`/etc/passwd`"),
        ("ana", "sales.`notes`x"),
        ("ana", "sales..notes"),
        ("ana", ""),
        ("ana", "sales.notes "),
        ("ana", "sales.notes--"),
        ("eve", "sales.notes"),
        ("nobody", "sales.notes"),
    ],
)
def test_everything_else_is_denied(estate: Estate, user: str, name: str) -> None:
    with pytest.raises(Denied):
        executed(estate, user, read(name))


def test_what_is_not_there_is_denied_like_what_is_hidden(estate: Estate) -> None:
    with pytest.raises(Denied) as hidden:
        executed(estate, "ana", read("hr.people"))
    with pytest.raises(Denied) as missing:
        executed(estate, "ana", read("hr.absent"))
    assert str(missing.value) == str(hidden.value).replace("people", "absent")
    assert str(hidden.value) == (
        "not allowed: read a table or view: `spark_catalog.hr.people` (spark.SelectFromTable);"
        " this takes `may(table.load)` or `may(view.load)`"
    )


def test_a_filter_is_put_over_the_table(estate: Estate) -> None:
    plan = executed(estate, "ana", read("orders"))
    assert plan.common.plan_id == 1
    alias = plan.subquery_alias
    assert (alias.alias, list(alias.qualifier)) == ("orders", ["spark_catalog", "sales"])
    project = alias.input.project
    assert [one.unresolved_attribute.unparsed_identifier for one in project.expressions] == [
        *("`id`", "`region`", "`amount`")
    ]
    filter = project.input.filter
    assert filter.condition.expression_string.expression == "`region` = 'eu'"
    inner = filter.input
    assert inner.read.named_table.unparsed_identifier == "`spark_catalog`.`sales`.`orders`"
    assert not inner.HasField("common")
    assert executed(estate, "bo", read("orders")).HasField("read")


def test_a_mask_takes_the_place_of_the_column(estate: Estate) -> None:
    project = executed(estate, "ana", read("customers")).subquery_alias.input.project
    ids = [one.WhichOneof("expr_type") for one in project.expressions]
    assert ids == ["unresolved_attribute", "unresolved_attribute", "alias", "unresolved_attribute"]
    masked = project.expressions[2].alias
    assert list(masked.name) == ["iban"]
    assert "****" in masked.expr.expression_string.expression


def test_a_view_of_the_session_is_what_it_was_made_of(estate: Estate) -> None:
    session = new_session()
    request = base.ExecutePlanRequest()
    request.plan.command.create_dataframe_view.name = "Mine"
    request.plan.command.create_dataframe_view.input.CopyFrom(read("orders", 5))
    plans = estate.plans("ana", session)
    plans.execute(request)
    assert request.plan.command.create_dataframe_view.name == "`mine`"
    assert request.plan.command.create_dataframe_view.input.HasField("subquery_alias")
    assert plans.new_view is not None
    session.keep_view(plans.new_view.name, plans.new_view.plan)
    session.database = "hr"
    asked = base.ExecutePlanRequest()
    asked.plan.root.CopyFrom(read("mine"))
    estate.plans("ana", session).execute(asked)
    inner = asked.plan.root.subquery_alias
    assert inner.alias == "mine"
    assert inner.input.subquery_alias.alias == "orders"
    assert inner.input.common.plan_id > 1_000_000
    asked.plan.root.CopyFrom(read("mine"))
    with pytest.raises(Denied):
        estate.plans("eve", session).execute(asked)
