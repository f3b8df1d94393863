"""Views that show values which a mask hides in the tables below."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from pyroaring import BitMap

from lakewarden.analysis.limit_reach import bound_users, users_of
from lakewarden.analysis.lint.finding import Severity, Violation, rule
from lakewarden.analysis.lint.lint_context import LintContext, at, some
from lakewarden.analysis.lint.rules.obligations import limits
from lakewarden.expressions.engines import engines_of
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import WardenError
from lakewarden.kernel.grants import Grant
from lakewarden.kernel.principal import USER
from lakewarden.kernel.relations import READS
from lakewarden.kernel.statement import Effect, On

_AS_THE_VIEW: Final = "spark"
"""The engine that reads a view with the statements on the view, regardless of its owner."""


@rule(
    title="Masked column that a view exposes",
    severity=Severity.WARNING,
    why="Engines read the tables of a view as its owner, or without an access check. If the mask"
    " does not bind the owner, everyone who reads the view sees the values.",
    mend="Revoke access to the view, mask the columns in its schema, make the mask bind its owner,"
    " or have the engine refuse such views (`definer_views` of Trino).",
    source="lakewarden: row filters and column masks; Trino documentation, CREATE VIEW, security",
    applies=limits,
    misses="Does not report views whose text is not stored or cannot be parsed, or columns that an"
    " underlying view renames. Also reports views that run with the rights of the caller.",
)
def unmasked_view(context: LintContext) -> Iterator[Violation]:
    reads = _reads(context)
    masks = list(context.table.obligations(Effect.MASK)) if reads else []
    for grant in masks:
        columns: dict[tuple[int, str], set[str]] = {}
        for table, column in _masked(context, grant):
            for view in _handing_on(context, reads, table, column):
                columns.setdefault((view, table), set()).add(column)
        for (view, table), names in sorted(columns.items()):
            users = _shown_to(context, grant, masks, view)
            if users and not _is_bound(context, grant, view):
                people = some((context.principal(id).name for id in users), len(users))
                yield Violation(
                    at(grant.statement),
                    f"{context.entity(view)} exposes {some(sorted(names))} of {table} to {people},"
                    " whom this mask binds",
                    "revoke access to the view, bind its owner, or mask its schema",
                )


def _reads(context: LintContext) -> dict[str, dict[int, frozenset[str]]]:
    """By table or view name, the views that read it, each with the columns; empty means all.

    Names are in lower case, as in most engines.
    """
    reads: dict[str, dict[int, frozenset[str]]] = {}
    for view, attributes in context.coded.attributes.items():
        for text in attributes.get(READS, ()):
            for table, columns in _source(context, text):
                of_table = reads.setdefault(table, {})
                of_table[view] = of_table.get(view, frozenset()) | columns
    return reads


def _source(context: LintContext, text: str) -> Iterator[tuple[str, frozenset[str]]]:
    """The table of one value and the column that it names; nothing if it cannot be parsed."""
    spelling, (type, _, name) = context.coded.spelling, text.partition(":")
    try:
        entity = spelling.parse(type, name)
    except WardenError:
        return
    table = spelling.parent(entity)
    if type in context.model.types and context.model.types[type].masked and table is not None:
        yield table.name.lower(), frozenset({_last(context, entity).lower()})
    else:
        yield entity.name.lower(), frozenset()


def _masked(context: LintContext, grant: Grant) -> Iterator[tuple[str, str]]:
    """The masked columns, as the name of the table and of the column."""
    types = context.model.types
    entities = {context.tree.entity(id) for id in context.stored(grant)}
    if isinstance(grant.statement.scope, On):
        entities.add(grant.statement.scope.entity)
    for entity in sorted(entities):
        table = context.coded.spelling.parent(entity)
        if types[entity.type].masked and table is not None:
            yield table.name, _last(context, entity)


def _handing_on(
    context: LintContext,
    reads: Mapping[str, Mapping[int, frozenset[str]]],
    table: str,
    column: str,
) -> BitMap:
    """The stored views that show a column of a table under its name, including indirect ones."""
    views = BitMap()
    todo = [table]
    while todo:
        for view, columns in reads.get(todo.pop().lower(), {}).items():
            if view not in views and (not columns or column.lower() in columns):
                views.add(view)
                todo.append(context.tree.names[view])
    return views & context.tree.stored


def _shown_to(context: LintContext, grant: Grant, masks: list[Grant], view: int) -> BitMap:
    """The users whom the mask binds and who read the view without a mask on it or above it."""
    users = bound_users(context, grant) & _readers(context, view)
    above = int(context.tree.parents[view])
    covering = BitMap([view] if above < 0 else [view, above])
    for other in masks:
        if users and covering & context.ids(other):
            users -= bound_users(context, other)
    return users


def _readers(context: LintContext, view: int) -> BitMap:
    """The users who may read the view by grants on it, or above it."""
    type = context.tree.entity(view).type
    readers = BitMap()
    for operation in context.model.access.get("read", ()):
        for way in context.meaning.ways(operation, type):
            users = context.users
            for privilege in sorted(way):
                users = users & _holders(context, privilege, view)
            readers |= users
    return readers


def _holders(context: LintContext, privilege: str, view: int) -> BitMap:
    def of(effect: Effect) -> BitMap:
        users = BitMap()
        for grant in context.overlapping(effect, privilege, BitMap([view])):
            users |= users_of(context, grant.principals)
        return users

    return of(Effect.ALLOW) - of(Effect.DENY)


def _is_bound(context: LintContext, grant: Grant, view: int) -> bool:
    """Whether all owners of the view see masked values, if engines read it as its owner."""
    owners = [context.principal(id) for id, _ in context.coded.owners.of(view)]
    if not owners or _AS_THE_VIEW in engines_of(context.model.settings):
        return False
    if grant.statement.except_owners is not None or any(one.kind != USER for one in owners):
        return False
    bound = bound_users(context, grant)
    return all(context.memberships.ids[owner] in bound for owner in owners)


def _last(context: LintContext, entity: Entity) -> str:
    return context.coded.spelling.parts(entity)[-1]
