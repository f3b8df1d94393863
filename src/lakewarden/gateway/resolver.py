"""Completes a plan: full names of tables, and views replaced by their plans.

Nothing in the result depends on the state of the session in Spark, so Spark reads exactly what is
checked later. Functions are checked here, because they read nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import count
from typing import Any, Final

from google.protobuf.message import Message
from pyspark.sql.connect.proto import expressions_pb2 as expressions
from pyspark.sql.connect.proto import relations_pb2 as relations

from lakewarden.expressions.query import Name
from lakewarden.gateway import identifiers, permitted
from lakewarden.gateway.errors import Denied, Malformed
from lakewarden.gateway.inspection import MAX_BYTES, parts
from lakewarden.gateway.session import Session
from lakewarden.gateway.sql import PlanOf, checked_expression, checked_query

_FIRST_PLAN_ID: Final = 1 << 40
"""The first id of plans in views: a client counts its own ids from 0."""

_FILES: Final = re.compile(r"_metadata|(?<!\w)_file(?!\w)", re.IGNORECASE)
"""Hidden columns with data about a table's files, Spark's and Iceberg's."""

_plan_ids = count(_FIRST_PLAN_ID)


class Resolver:
    """Completes plans of one call of a session's user, in place."""

    def __init__(self, session: Session, user: str) -> None:
        self._session = session
        self._bytes = 0
        self._values = {
            **dict.fromkeys(permitted.load().user_functions, user),
            "current_catalog": session.catalog,
            "current_database": session.database,
            "current_schema": session.database,
        }

    def resolve(self, plan: Message) -> None:
        """Completes everything in the message. Raises `Denied` and `Malformed`."""
        if isinstance(plan, relations.Relation) and plan.with_relations.root.HasField("sql"):
            self._resolve_query(plan)
            return
        for part in parts(plan):
            self.resolve(part)
        match plan:
            case relations.Relation():
                self._resolve_relation(plan)
            case expressions.Expression():
                self._resolve_expression(plan)
            case relations.LocalRelation():
                check_schema(plan.schema)

    def _resolve_relation(self, plan: relations.Relation) -> None:
        match plan.WhichOneof("rel_type"):
            case "read":
                self._resolve_read(plan)
            case "sql":
                self._replace(plan, self._query(plan.sql, self.table))
            case "unresolved_table_valued_function":
                check_function(plan.unresolved_table_valued_function.function_name)
            case None:
                raise Denied("a relation of no kind is not permitted")

    def _resolve_query(self, plan: relations.Relation) -> None:
        """A query with the data frames that it names; no other query has these names."""
        given: dict[str, relations.Relation] = {}
        for reference in plan.with_relations.references:
            if not reference.HasField("subquery_alias"):
                raise Denied("SQL with parameters is not permitted")
            self.resolve(reference)
            given[reference.subquery_alias.alias.lower()] = reference.subquery_alias.input

        def plan_of(name: Name) -> relations.Relation:
            named = given.get(name[0].lower()) if len(name) == 1 else None
            return self.table(name) if named is None else named

        self._replace(plan, self._query(plan.with_relations.root.sql, plan_of))

    def table(self, name: Name) -> relations.Relation:
        """The table or view named in a query."""
        plan = relations.Relation()
        plan.read.named_table.unparsed_identifier = identifiers.join(name)
        self._resolve_read(plan)
        return plan

    def _query(self, sql: relations.SQL, plan_of: PlanOf) -> relations.Relation:
        check_column(sql.query)
        return checked_query(sql, plan_of)

    def _replace(self, plan: relations.Relation, other: relations.Relation) -> None:
        if plan.HasField("common"):
            other.common.CopyFrom(plan.common)
        plan.CopyFrom(other)

    def _resolve_read(self, plan: relations.Relation) -> None:
        table = plan.read.named_table
        names = identifiers.split(table.unparsed_identifier)
        view = self._session.views.get(names[0]) if len(names) == 1 else None
        if view is None:
            table.unparsed_identifier = identifiers.join(self._session.qualified(names))
            return
        self._bytes += view.ByteSize()
        if self._bytes > MAX_BYTES:
            raise Malformed("the views of the plan are too large in all")
        alias = relations.SubqueryAlias(input=view, alias=names[0])
        self._replace(plan, relations.Relation(subquery_alias=alias))

    def _resolve_expression(self, plan: expressions.Expression) -> None:
        match plan.WhichOneof("expr_type"):
            case "unresolved_function":
                function = plan.unresolved_function
                if function.is_user_defined_function or function.is_internal:
                    raise Denied(f"function `{function.function_name}` is not permitted")
                self._resolve_function(plan, function.function_name)
            case "call_function":
                self._resolve_function(plan, plan.call_function.function_name)
            case "unresolved_attribute":
                attribute = plan.unresolved_attribute
                check_column(attribute.unparsed_identifier, hidden=attribute.is_metadata_column)
            case "unresolved_star":
                check_column(plan.unresolved_star.unparsed_target)
            case "expression_string":
                string = plan.expression_string
                check_column(string.expression)
                string.expression = checked_expression(string.expression)
            case "merge_action":
                raise Denied("only a merge has clauses of one")
            case None:
                raise Denied("an expression of no kind is not permitted")

    def _resolve_function(self, plan: expressions.Expression, name: str) -> None:
        value = self._values.get(name.lower())
        if value is None:
            check_function(name)
        else:
            plan.CopyFrom(literal(value))


def check_function(name: str) -> None:
    """Raises `Denied` for a function that is not one of Spark's own for users."""
    if name.lower() not in permitted.load().functions:
        raise Denied(f"function `{name[:100]}` is not permitted")


def check_column(text: str, *, hidden: bool = False) -> None:
    """Raises `Denied` for a column with data about a table's files."""
    if hidden or _FILES.search(text):
        raise Denied("columns about files are not permitted")


def check_schema(text: str) -> None:
    """Raises `Denied` for a type that is a class of the server."""
    if "udt" in text.lower() and '"class"' in text:
        raise Denied("user-defined types are not permitted")


def literal(value: str) -> expressions.Expression:
    """A string as an expression."""
    return expressions.Expression(literal=expressions.Expression.Literal(string=value))


def renumbered(plan: relations.Relation) -> relations.Relation:
    """The plan with new ids of its own, so that it can be part of any other plan."""
    copy = relations.Relation()
    copy.CopyFrom(plan)
    numbers: dict[int, int] = {}
    part: Any
    for part in _all_parts(copy):
        field = part.DESCRIPTOR.fields_by_name.get("plan_id")
        if field is not None and part.HasField("plan_id"):
            part.plan_id = _new_id(numbers, part.plan_id)
    return copy


def _new_id(numbers: dict[int, int], old: int) -> int:
    if old not in numbers:
        numbers[old] = next(_plan_ids)
    return numbers[old]


def _all_parts(plan: Message) -> Iterator[Message]:
    yield plan
    for part in parts(plan):
        yield from _all_parts(part)
