"""SQL of users other than queries: checked by the realm, and rewritten for Spark.

A statement that writes reads as queries do, through plans that are limited. The table that it
writes or changes has its complete name in a text of the gateway. A user with a filter or a mask on
a table changes nothing in it: hidden rows must not be deleted, and hidden values not be revealed.
"""

from __future__ import annotations

import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace

from pyspark.sql.connect.proto import relations_pb2 as relations

from lakewarden.expressions import statement as sql
from lakewarden.expressions.query import Name, Query
from lakewarden.expressions.statement import Statement
from lakewarden.gateway import identifiers
from lakewarden.gateway.access import Access
from lakewarden.gateway.errors import Denied
from lakewarden.gateway.following import SCHEMA, TABLE, VIEW, CatalogChange, Exists
from lakewarden.gateway.plan_enforcer import PlanEnforcer
from lakewarden.gateway.resolver import Resolver, check_column, renumbered
from lakewarden.gateway.session import NewView, Session
from lakewarden.gateway.sql import nothing
from lakewarden.gateway.writes import check_format
from lakewarden.kernel.errors import BadInput

_ACTS = {sql.DELETE: "DeleteFromTable", sql.UPDATE: "UpdateTable", sql.INSERT: "InsertIntoTable"}
TextOf = Callable[[Mapping[Name, Name]], str]
"""The text of a statement in which tables have other names."""


def read(text: str) -> Statement | None:
    """Parses a statement; None for a query; raises `Denied`."""
    check_column(text)
    try:
        return sql.read_statement(text)
    except BadInput as error:
        raise Denied(f"this SQL is not permitted: {error}") from None


class Statements:
    """Checks the statements of one call, and rewrites them for Spark."""

    def __init__(
        self,
        session: Session,
        access: Access,
        resolver: Resolver,
        enforcer: PlanEnforcer,
        exists: Exists,
    ) -> None:
        self._session = session
        self._access = access
        self._resolver = resolver
        self._enforcer = enforcer
        self._exists = exists
        self.new_view: NewView | None = None
        self.done: CatalogChange | None = None

    def rewritten(self, statement: Statement) -> relations.Relation:
        """The plan that Spark gets instead. Raises `Denied`."""
        try:
            return self._rewritten(statement)
        except BadInput as error:
            raise Denied(f"this SQL is not permitted: {error}") from None

    def _rewritten(self, statement: Statement) -> relations.Relation:
        match statement:
            case sql.Insert():
                return self._insert(statement)
            case sql.CreateTable():
                return self._create_table(statement)
            case sql.CreateView(is_temporary=True):
                return self._create_temporary_view(statement)
            case sql.CreateView():
                return self._create_view(statement)
            case sql.Change():
                return self._change(statement)
            case sql.Drop():
                return self._drop(statement)
            case sql.CreateSchema():
                return self._create_schema(statement)
            case sql.Truncate():
                name = self._writable(("DeleteFromTable",), statement.table)
                return _plain(f"TRUNCATE TABLE {_join(name)}")
            case sql.AddColumns():
                name = self._writable(("AlterTable",), statement.table)
                columns = ", ".join(f"{sql.quoted(n)} {type}" for n, type in statement.columns)
                return _plain(f"ALTER TABLE {_join(name)} ADD COLUMNS ({columns})")
            case sql.Rename():
                return self._rename(statement)
        raise Denied("this statement is not permitted")

    def name(self, written: Name) -> Name:
        """The complete name of a table, like in Spark's session catalog."""
        return self._session.qualified(identifiers.split(identifiers.join(written)))

    def _schema_name(self, written: Name) -> Name:
        return self._session.qualified_schema(identifiers.split(identifiers.join(written)))

    def _insert(self, statement: sql.Insert) -> relations.Relation:
        acts = ("InsertIntoTable", *(("DeleteFromTable",) if statement.overwrites else ()))
        name = self._writable(acts, statement.table)
        return self._reading(statement.query, lambda names: statement.text(_join(name), names))

    def _create_table(self, statement: sql.CreateTable) -> relations.Relation:
        name = self.name(statement.table)
        check_format(statement.format)
        self._access.require("CreateTable", name[:-1])
        if statement.replaces:
            self._access.require_writable("DropTable", name)
        elif self._creates_followed(TABLE, name, statement.unless_there):
            statement = replace(statement, unless_there=False)
        if statement.query is None:
            return _plain(statement.text(_join(name), {}))
        return self._reading(statement.query, lambda names: statement.text(_join(name), names))

    def _create_view(self, statement: sql.CreateView) -> relations.Relation:
        """A stored view shows its readers its tables' data, so its creator must see all of it."""
        name = self.name(statement.view)
        self._access.require("CreateView", name[:-1])
        if statement.replaces:
            self._access.require_writable("DropView", name)
        elif self._creates_followed(VIEW, name, statement.unless_there):
            statement = replace(statement, unless_there=False)
        names = {}
        for table in statement.query.tables:
            if len(table) == 1 and table[0].lower() in self._session.views:
                raise Denied(f"`{table[0]}` is a view of the session, which no stored view reads")
            names[table] = self.name(table)
            self._access.require_writable("SelectFromTable", names[table])
        return _plain(statement.text(_join(name), names))

    def _create_temporary_view(self, statement: sql.CreateView) -> relations.Relation:
        names = identifiers.split(identifiers.join(statement.view))
        if len(names) != 1 or statement.unless_there:
            raise Denied("a name of a temporary view has one part, and it is made or replaced")
        (name,) = names
        if self._access.sees(self._session.qualified(names)):
            raise Denied(f"`{name}` is a table of the current database")
        if not statement.replaces and name in self._session.views:
            raise Denied(f"there is a temporary view `{name}`")
        plan = self._resolved(statement.query.tables, statement.query.renamed)
        self.new_view = NewView(name, renumbered(plan))
        # Spark only checks the query; the gateway stores the view.
        view = f"lw_{uuid.uuid4().hex}"
        text = f"SELECT * FROM {sql.quoted(view)} LIMIT 0"  # noqa: S608 — a name of our own
        tried = _with({(view,): plan}, text)
        self._enforcer.enforce(tried)
        return tried

    def _change(self, statement: sql.Change) -> relations.Relation:
        acts = tuple(_ACTS[does] for does in sorted(statement.does))
        target = self._writable(("SelectFromTable", *acts), statement.table)
        others = [name for name in statement.query.tables if name != statement.table]

        def text_of(names: Mapping[Name, Name]) -> str:
            return statement.text({**names, statement.table: target})

        plan = self._resolved(others, text_of)
        self._enforcer.enforce(plan)
        return plan

    def _drop(self, statement: sql.Drop) -> relations.Relation:
        there = "IF EXISTS " if statement.if_there else ""
        if statement.kind == "schema":
            schema = self._schema_name(statement.name)
            self._access.require("DropSchema", schema)
            self.done = CatalogChange(SCHEMA, dropped=schema)
            return _plain(f"DROP SCHEMA {there}{_join(schema)} RESTRICT")
        if statement.kind == "view" and len(statement.name) == 1:
            view = self._session.views.pop(statement.name[0].lower(), None)
            if view is not None:
                return nothing()
        act, kind = ("DropView", VIEW) if statement.kind == VIEW else ("DropTable", TABLE)
        name = self._writable((act,), statement.name)
        self.done = CatalogChange(kind, dropped=name)
        return _plain(f"DROP {kind.upper()} {there}{_join(name)}")

    def _create_schema(self, statement: sql.CreateSchema) -> relations.Relation:
        schema = self._schema_name(statement.schema)
        self._access.require("CreateSchema", schema[:-1])
        is_new = self._creates_followed(SCHEMA, schema, statement.unless_there)
        there = "IF NOT EXISTS " if statement.unless_there and not is_new else ""
        return _plain(f"CREATE SCHEMA {there}{_join(schema)}")

    def _creates_followed(self, kind: str, name: Name, unless_there: bool) -> bool:
        """Whether the statement creates an object that the realm must follow.

        Then it must fail if the object exists: otherwise the creator is unknown.
        """
        if not self._access.follows or (unless_there and self._exists(kind, name)):
            return False
        self.done = CatalogChange(kind, created=name)
        return True

    def _rename(self, statement: sql.Rename) -> relations.Relation:
        name, new = self.name(statement.table), self.name(statement.new)
        self._access.require_renamable("AlterTable", name)
        if new[0] != name[0]:
            raise Denied("a table stays in its catalog")
        self._access.require("CreateTable", new[:-1])
        self.done = CatalogChange(TABLE, created=new, dropped=name)
        # Spark resolves the new name in the same catalog.
        return _plain(f"ALTER TABLE {_join(name)} RENAME TO {_join(new[1:])}")

    def _writable(self, acts: Sequence[str], written: Name) -> Name:
        name = self.name(written)
        for act in acts:
            self._access.require_writable(act, name)
        return name

    def _reading(self, query: Query, text_of: TextOf) -> relations.Relation:
        plan = self._resolved(query.tables, text_of)
        self._enforcer.enforce(plan)
        return plan

    def _resolved(self, tables: Sequence[Name], text_of: TextOf) -> relations.Relation:
        """The text with names that nobody else knows, and the plans for them."""
        names: dict[Name, Name] = {name: (f"lw_{uuid.uuid4().hex}",) for name in tables}
        plans = {names[name]: self._resolver.table(name) for name in tables}
        return _with(plans, text_of(names))


def _with(plans: Mapping[Name, relations.Relation], text: str) -> relations.Relation:
    root = relations.Relation(sql=relations.SQL(query=text))
    if not plans:
        return root
    references = [
        relations.Relation(subquery_alias=relations.SubqueryAlias(input=plan, alias=alias))
        for (alias,), plan in plans.items()
    ]
    with_relations = relations.WithRelations(root=root, references=references)
    return relations.Relation(with_relations=with_relations)


def _plain(text: str) -> relations.Relation:
    return relations.Relation(sql=relations.SQL(query=text))


def _join(name: Name) -> str:
    return identifiers.join(name)
