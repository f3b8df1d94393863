"""Merges of data frames as on the wire, and attacks by users without permission."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from pyspark.sql.connect.proto import base_pb2 as base
from pyspark.sql.connect.proto import expressions_pb2 as expressions

Merge = Any
"""A `MergeIntoTableCommand`; its generated types declare no fields."""

DO: Final = expressions.MergeAction
Change = Callable[[Merge], object]


def merge(change: Change | None = None, target: str = "notes") -> base.ExecutePlanRequest:
    """Deletes the rows of `notes` that are in `orders`, and inserts the other rows of `orders`."""
    request = base.ExecutePlanRequest()
    command: Merge = request.plan.command.merge_into_table_command
    command.target_table_name = target
    command.source_table_plan.read.named_table.unparsed_identifier = "orders"
    command.merge_condition.expression_string.expression = "notes.id = orders.id"
    act(command.match_actions, DO.ACTION_TYPE_DELETE)
    act(command.not_matched_actions, DO.ACTION_TYPE_INSERT, id="orders.id", text="region")
    if change is not None:
        change(command)
    return request


def act(clause: Any, type: Any, condition: str = "", **values: str) -> None:
    """Adds an action to a clause, with values by column."""
    action = clause.add().merge_action
    action.action_type = type
    if condition:
        action.condition.expression_string.expression = condition
    for column, value in values.items():
        assignment = action.assignments.add()
        assignment.key.expression_string.expression = column
        assignment.value.expression_string.expression = value


def _matched(type: Any, condition: str = "", **values: str) -> Change:
    return lambda command: act(command.match_actions, type, condition, **values)


def _added(type: Any, condition: str = "", **values: str) -> Change:
    return lambda command: act(command.not_matched_actions, type, condition, **values)


def _unmatched(type: Any, condition: str = "", **values: str) -> Change:
    return lambda command: act(command.not_matched_by_source_actions, type, condition, **values)


def _source(**set: str) -> Change:
    def change(command: Merge) -> None:
        for path, value in set.items():
            plan: Any = command.source_table_plan
            *parents, field = path.split("__")
            for each in parents:
                plan = getattr(plan, each)
            setattr(plan, field, value)

    return change


def _condition(text: str) -> Change:
    return lambda command: setattr(command.merge_condition.expression_string, "expression", text)


def _evolving(command: Merge) -> None:
    command.with_schema_evolution = True


def _no_source(command: Merge) -> None:
    command.ClearField("source_table_plan")


def _no_condition(command: Merge) -> None:
    command.ClearField("merge_condition")


def _no_actions(command: Merge) -> None:
    del command.match_actions[:]
    del command.not_matched_actions[:]


def _no_action(command: Merge) -> None:
    command.match_actions.add().literal.boolean = True


def _inside(command: Merge) -> None:
    command.match_actions[0].merge_action.condition.merge_action.action_type = DO.ACTION_TYPE_DELETE


def _code(command: Merge) -> None:
    function = command.merge_condition.common_inline_user_defined_function
    function.function_name = "f"


def _target_column(text: str) -> Change:
    return lambda command: act(command.not_matched_actions, DO.ACTION_TYPE_INSERT, **{text: "1"})


WHERE_THEY_MAY_NOT: Final = (
    "orders", "customers", "hr.people", "totals", "nothing", "", "x.y.z", "lake.sales.notes",
    "spark_catalog.sales.notes.files", "parquet.`/tmp/x`", "`/tmp/x`", "global_temp.notes",
)  # fmt: skip
"""Attacks by a user who may insert into and delete from `notes`, and may read all of sales."""

DENIED: Final[Mapping[str, Change]] = {
    "values that are changed": _matched(DO.ACTION_TYPE_UPDATE, text="region"),
    "all values that are changed": _matched(DO.ACTION_TYPE_UPDATE_STAR),
    "values of what has no match": _unmatched(DO.ACTION_TYPE_UPDATE, text="'x'"),
    "an insert of what matches": _matched(DO.ACTION_TYPE_INSERT_STAR),
    "a delete of what is not there": _added(DO.ACTION_TYPE_DELETE),
    "an insert where the source has nothing": _unmatched(DO.ACTION_TYPE_INSERT, id="1"),
    "an action of no kind": _matched(DO.ACTION_TYPE_INVALID),
    "an action that is not known": _matched(77),
    "an expression for an action": _no_action,
    "an action inside an action": _inside,
    "no action": _no_actions,
    "no source": _no_source,
    "no condition": _no_condition,
    "columns that come along": _evolving,
    "a source that may not be read": _source(read__named_table__unparsed_identifier="hr.people"),
    "a source in SQL that may not be read": _source(sql__query="select * from hr.people"),
    "a source that reads a file": _source(sql__query="select * from text.`/etc/passwd`"),
    "a source of a format": _source(read__data_source__format="parquet"),
    "a source that is a cached relation": _source(cached_remote_relation__relation_id="x"),
    "a condition that reads": _condition("notes.id in (select salary from hr.people)"),
    "a condition that asks": _condition("exists (select 1 from hr.people)"),
    "a condition that calls Java": _condition("reflect('java.lang.System', 'exit') is null"),
    "a condition about files": _condition("notes._metadata.file_path = 'x'"),
    "a condition about files of Iceberg": _condition("notes.`_file` = 'x'"),
    "a condition of two": _condition("true; drop table hr.people"),
    "code of the user": _code,
    "an action on a condition that reads": _matched(
        DO.ACTION_TYPE_DELETE, "exists (select 1 from hr.people)"
    ),
    "a value that reads": _added(
        DO.ACTION_TYPE_INSERT, id="1", text="(select max(name) from hr.people)"
    ),
    "a value that tells of files": _added(DO.ACTION_TYPE_INSERT, id="1", text="input_file_name()"),
    "a column that reads": _target_column("(select max(salary) from hr.people)"),
}
