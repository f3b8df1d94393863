"""Row filters and column masks without their intended effect."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from pyroaring import BitMap

from lakewarden.analysis.limit_reach import bound_users, in_force, users_of, with_rows
from lakewarden.analysis.lint.finding import Severity, Violation, rule
from lakewarden.analysis.lint.lint_context import (
    LintContext,
    at,
    criteria_of,
    some,
    values_of,
)
from lakewarden.analysis.lint.rules.criteria import editing, editing_of_columns
from lakewarden.analysis.table_columns import columns_read, expression_problem, missing_columns
from lakewarden.expressions.engines import engines_of
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.grants import Grant
from lakewarden.kernel.model import Model
from lakewarden.kernel.principal import ALL_USERS
from lakewarden.kernel.statement import Effect, Statement

_TAG: Final = "TAG"
_APPLY_TAG: Final = "APPLY_TAG"
"""The privilege on a tag that allows assigning and removing it, where the model has one."""


def limits(model: Model) -> bool:
    """For rules about systems with rows to filter or columns to mask."""
    return any(type.filtered or type.masked for type in model.types.values())


@rule(
    title="Row filter or column mask that applies to no stored table or column",
    severity=Severity.WARNING,
    why="Nothing is hidden: the table or column was dropped, the tag was removed, or a name is"
    " misspelled.",
    mend="Correct the scope, or delete the statement.",
    source="lakewarden: row filters and column masks",
    applies=limits,
    misses="Does not report a mask on a stored table whose columns are not stored individually.",
)
def idle_obligation(context: LintContext) -> Iterator[Violation]:
    for grant in in_force(context):
        statement = grant.statement
        if not context.stored(grant) & with_rows(context):
            noun = statement.effect.value
            yield Violation(
                at(statement),
                f"this {noun} applies to no stored table or column",
                f"correct its scope, or delete the {noun}",
            )


@rule(
    title="Row filter or column mask whose exceptions cover everyone",
    severity=Severity.WARNING,
    why="An exception as wide as the statement cancels it: all its principals see all rows and"
    " values.",
    mend="Narrow the exception, or delete the statement.",
    source="lakewarden: row filters and column masks",
    applies=limits,
    misses="Does not check exceptions for owners, or users who are not stored.",
)
def undone_obligation(context: LintContext) -> Iterator[Violation]:
    for grant in in_force(context):
        statement = grant.statement
        by_name = statement.principals and statement.principals <= statement.exceptions
        by_users = grant.exceptions and context.users and not bound_users(context, grant)
        if by_name or by_users or ALL_USERS in statement.exceptions:
            spared = some(sorted(principal.name for principal in statement.exceptions))
            yield Violation(
                at(statement),
                f"binds no one: exceptions for {spared} cover all its principals",
                "narrow the exceptions, or delete it",
            )


@rule(
    title="Row filter or column mask that cannot be evaluated",
    severity=Severity.ERROR,
    why="The expression reads a column that a table does not have, uses a lookup table that is"
    " missing or has other columns, requires a feature that an engine of the realm lacks, or can"
    " no longer be parsed. For the users whom it binds, the engine then refuses to read the table,"
    " or returns no rows and no values.",
    mend="Correct the expression, or restore the column or the lookup table.",
    source="lakewarden: row filters and column masks",
    applies=limits,
    misses="Does not check tables whose columns are not stored, or columns whose names cannot be"
    " stored.",
)
def broken_obligation(context: LintContext) -> Iterator[Violation]:
    for grant in in_force(context):
        statement = grant.statement
        try:
            read = columns_read(statement)
        except BadInput as error:
            yield Violation(at(statement), f"cannot be parsed: {error}", "correct the expression")
            continue
        problem = _problem(context, statement)
        if problem:
            yield Violation(
                at(statement),
                f"cannot be evaluated: {problem}",
                "correct the expression, or declare the lookup table",
            )
        for table in _tables(context, grant) if read else ():
            missing = missing_columns(context.coded, table, read)
            if missing:
                yield Violation(
                    at(statement),
                    f"reads {some(missing)}, which {context.entity(table)} does not have",
                    "correct the expression, or restore the column",
                )


@rule(
    title="Row filter or column mask that the users whom it binds can remove",
    severity=Severity.WARNING,
    why="The statement selects by a tag or another field that a user whom it binds can change."
    " Once the tag is removed, that user sees all data.",
    mend="Select by a field that these users cannot change, or revoke the privilege to change it.",
    source="lakewarden: row filters and column masks; DataHub, Policies Guide",
    applies=limits,
    misses="Does not report owners, or privileges with a constraint.",
)
def removable_obligation(context: LintContext) -> Iterator[Violation]:
    for grant in in_force(context):
        statement = grant.statement
        fields = sorted({criterion.field for criterion in criteria_of(statement)})
        bound = bound_users(context, grant)
        changing = [one for field in fields for one in editing(context, field)]
        changing += _applying(context, statement)
        if statement.effect is Effect.MASK:
            changing += [one for field in fields for one in editing_of_columns(context, field)]
        ids = {one.statement.id for one in changing if users_of(context, one.principals) & bound}
        if ids:
            yield Violation(
                at(statement),
                f"selects by {', '.join(fields)}, which {some(sorted(ids))} allows users whom it"
                " binds to change",
                "select by a field that these users cannot change, or revoke that privilege",
            )


def _problem(context: LintContext, statement: Statement) -> str:
    """The error in the types of an expression, or in its use on an engine of the realm."""
    if context.lookups is None:
        return ""
    engines = engines_of(context.model.settings)
    return expression_problem(statement, context.lookups, engines)


def _applying(context: LintContext, statement: Statement) -> list[Grant]:
    """The grants that allow removing the tags that the statement selects by."""
    if _APPLY_TAG not in context.model.privileges:
        return []
    tags = (Entity(_TAG.lower(), value) for value in values_of(statement, _TAG))
    numbers = (context.tree.find(tag) for tag in tags)
    wanted = BitMap([number for number in numbers if number is not None])
    grants = context.table.allows(_APPLY_TAG).every
    return [grant for grant in grants if context.stored(grant) & wanted]


def _tables(context: LintContext, grant: Grant) -> Iterator[int]:
    """The stored tables that a filter binds, or whose columns a mask binds."""
    types, tree = context.model.types, context.tree
    ids = context.stored(grant)
    tables = {id for id in ids if types[tree.entity(id).type].filtered}
    if grant.statement.effect is Effect.MASK:
        tables |= {
            int(tree.parents[id])
            for id in ids
            if types[tree.entity(id).type].masked and tree.parents[id] >= 0
        }
    yield from sorted(tables)
