"""`mergeInto` of data frames: permitted ones, their rewritten form for Spark, and denied ones."""

from __future__ import annotations

import pytest
from pyspark.sql.connect.proto import base_pb2 as base

from lakewarden.gateway.errors import Denied, Malformed
from lakewarden.gateway.inspection import parsed
from tests.gateway import merges
from tests.gateway.estate import Estate
from tests.gateway.merges import DO, act, merge

NOTES = "`spark_catalog`.`sales`.`notes`"


def asked(estate: Estate, user: str, request: base.ExecutePlanRequest) -> merges.Merge:
    """The rewritten request to Spark."""
    read = parsed(base.ExecutePlanRequest, request.SerializeToString())
    estate.plans(user).execute(read)
    return read.plan.command.merge_into_table_command


def test_who_may_do_each_thing_may_merge(estate: Estate) -> None:
    command = asked(estate, "bo", merge(target="Sales.NOTES"))
    assert command.target_table_name == NOTES
    source = command.source_table_plan.read.named_table
    assert source.unparsed_identifier == "`spark_catalog`.`sales`.`orders`"
    assert command.merge_condition.expression_string.expression == "`notes`.`id` = `orders`.`id`"
    ((removal,), (addition,)) = (command.match_actions, command.not_matched_actions)
    assert removal.merge_action.action_type == DO.ACTION_TYPE_DELETE
    assert [
        (one.key.expression_string.expression, one.value.expression_string.expression)
        for one in addition.merge_action.assignments
    ] == [("`id`", "`orders`.`id`"), ("`text`", "`region`")]


def test_the_owner_may_do_all_of_it(estate: Estate) -> None:
    def all(command: merges.Merge) -> None:
        act(command.match_actions, DO.ACTION_TYPE_UPDATE, "region = 'eu'", text="region")
        act(command.match_actions, DO.ACTION_TYPE_UPDATE_STAR)
        act(command.not_matched_actions, DO.ACTION_TYPE_INSERT_STAR)
        act(command.not_matched_by_source_actions, DO.ACTION_TYPE_DELETE, "text = 'x'")
        act(command.not_matched_by_source_actions, DO.ACTION_TYPE_UPDATE, text="'y'")

    command = asked(estate, "olga", merge(all))
    assert len(command.match_actions) == 3


def test_what_a_merge_reads_is_limited(estate: Estate) -> None:
    def customers(command: merges.Merge) -> None:
        command.source_table_plan.read.named_table.unparsed_identifier = "customers"

    source = asked(estate, "ana", merge(customers, "scratch")).source_table_plan
    limited = source.subquery_alias.input
    assert limited.project.expressions[2].alias.expr.expression_string.expression.count("****")
    assert limited.project.input.HasField("filter")


@pytest.mark.parametrize("target", merges.WHERE_THEY_MAY_NOT)
def test_another_table_is_not_merged_into(estate: Estate, target: str) -> None:
    with pytest.raises((Denied, Malformed)):
        asked(estate, "bo", merge(target=target))


@pytest.mark.parametrize("name", merges.DENIED)
def test_merges_are_denied(estate: Estate, name: str) -> None:
    with pytest.raises((Denied, Malformed)):
        asked(estate, "bo", merge(merges.DENIED[name]))


@pytest.mark.parametrize("target", ["customers", "orders"])
def test_whom_a_filter_or_mask_binds_merges_nothing(estate: Estate, target: str) -> None:
    with pytest.raises(Denied, match="without a row filter or column mask on it"):
        asked(estate, "ana", merge(target=target))


def test_a_merge_is_not_analyzed(estate: Estate) -> None:
    request = base.AnalyzePlanRequest()
    request.schema.plan.CopyFrom(merge().plan)
    with pytest.raises(Denied):
        estate.plans("olga").analyze(request)
