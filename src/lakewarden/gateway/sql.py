"""SQL of users, accepted only if all of it is known (`lakewarden.expressions.query`).

Each table of a query is read by a name of its own, which only Spark knows while it reads the text.
The name stands for a plan, which is checked and limited like any other. So no text of a user names
a table to Spark.
"""

from __future__ import annotations

import re
import uuid
from collections.abc import Callable
from typing import Final

from pyspark.sql.connect.proto import relations_pb2 as relations

from lakewarden.expressions.query import Name, read_expression, read_query
from lakewarden.gateway.errors import Denied
from lakewarden.kernel.errors import BadInput

_DIALECT: Final = "spark"
_USE: Final = re.compile(
    r"\s*USE\s+(?:(?:DATABASE|SCHEMA|NAMESPACE)\s+)?([\w`.]+?)\s*;?\s*", re.IGNORECASE | re.ASCII
)


def used_database(text: str) -> str | None:
    """The name in a USE statement; None for another statement.

    >>> used_database("use sales"), used_database("select 1")
    ('sales', None)
    """
    match = _USE.fullmatch(text)
    return match.group(1) if match else None


def nothing() -> relations.Relation:
    """A query without rows: the result of a statement that has none."""
    return relations.Relation(sql=relations.SQL(query="SELECT 'used' AS result LIMIT 0"))


def checked_expression(text: str) -> str:
    """The expression in the form that Spark gets; raises `Denied`."""
    try:
        return read_expression(text, _DIALECT)
    except BadInput as error:
        raise Denied(f"this expression is not permitted: {error}") from None


PlanOf = Callable[[Name], relations.Relation]
"""The plan for a table of a query."""


def checked_query(sql: relations.SQL, plan_of: PlanOf) -> relations.Relation:
    """The query with the plans for its tables; raises `Denied`."""
    if sql.args or sql.pos_args or sql.named_arguments or sql.pos_arguments:
        raise Denied("SQL with parameters is not permitted")
    try:
        query = read_query(sql.query, _DIALECT)
        names: dict[Name, Name] = {name: (f"lw_{uuid.uuid4().hex}",) for name in query.tables}
        text = relations.SQL(query=query.renamed(names))
    except BadInput as error:
        raise Denied(f"this SQL is not permitted: {error}") from None
    root = relations.Relation(sql=text)
    if not names:
        return root
    references = [
        relations.Relation(subquery_alias=relations.SubqueryAlias(input=plan_of(name), alias=alias))
        for name, (alias,) in names.items()
    ]
    with_relations = relations.WithRelations(root=root, references=references)
    return relations.Relation(with_relations=with_relations)
