"""Checks the reads of a complete plan, and adds filters and masks to them."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from google.protobuf.message import Message
from pyspark.sql.connect.proto import expressions_pb2 as expressions
from pyspark.sql.connect.proto import relations_pb2 as relations

from lakewarden.gateway import identifiers
from lakewarden.gateway.access import Access, Name
from lakewarden.gateway.errors import Denied
from lakewarden.gateway.inspection import parts

Columns = Mapping[str, str]
"""The columns of a table with their SQL types, in order."""


class PlanEnforcer:
    """Limits plans of one call, in place. `is_limiting`: a filter or mask was added.

    `reads` are the tables and views that are read, each with its number of filters, or None.

    `columns_of` queries Spark for the columns of a table.
    """

    def __init__(self, access: Access, columns_of: Callable[[Name], Columns]) -> None:
        self._access = access
        self._columns_of = columns_of
        self.is_limiting = False
        self.reads: dict[Name, int | None] = {}

    def enforce(self, plan: Message) -> None:
        """Checks and limits every read in the message. Raises `Denied`."""
        for part in parts(plan):
            self.enforce(part)
        if not isinstance(plan, relations.Relation):
            return
        match plan.WhichOneof("rel_type"):
            case "read":
                self._enforce_read(plan)
            case "catalog":
                raise Denied("a question to the catalog is not permitted inside a plan")

    def _enforce_read(self, plan: relations.Relation) -> None:
        name = identifiers.split(plan.read.named_table.unparsed_identifier)
        self._access.require("SelectFromTable", name)
        self.reads[name] = None
        if not self._access.is_limited(name):
            return
        self.is_limiting = True
        limited = self._limited(relations.Relation(read=plan.read), name)
        alias = relations.SubqueryAlias(input=limited, alias=name[-1], qualifier=name[:-1])
        # The new root gets the id: columns of the plan then refer to the masked columns.
        plan.CopyFrom(relations.Relation(common=plan.common, subquery_alias=alias))

    def _limited(self, plan: relations.Relation, name: Name) -> relations.Relation:
        """The rows that pass the filters, with masked values.

        The columns are listed, so a column that is added meanwhile is not shown.
        """
        columns = self._columns_of(name)
        conditions = self._access.filters(name, columns)
        self.reads[name] = len(conditions)
        for condition in conditions:
            passing = relations.Filter(input=plan, condition=_sql(condition))
            plan = relations.Relation(filter=passing)
        shown = [_column(column, self._access.mask(name, column, columns)) for column in columns]
        project = relations.Project(input=plan, expressions=shown)
        return relations.Relation(project=project)


def _column(name: str, mask: str | None) -> expressions.Expression:
    if mask is None:
        attribute = expressions.Expression.UnresolvedAttribute(
            unparsed_identifier=identifiers.join([name])
        )
        return expressions.Expression(unresolved_attribute=attribute)
    alias = expressions.Expression.Alias(expr=_sql(mask), name=[name])
    return expressions.Expression(alias=alias)


def _sql(text: str) -> expressions.Expression:
    string = expressions.Expression.ExpressionString(expression=text)
    return expressions.Expression(expression_string=string)
