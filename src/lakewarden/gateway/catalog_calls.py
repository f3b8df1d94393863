"""Requests to the catalog of Spark: `spark.catalog`. A list has only what the user may see."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pyspark.sql.connect.proto import catalog_pb2 as catalogs
from pyspark.sql.connect.proto import expressions_pb2 as expressions
from pyspark.sql.connect.proto import relations_pb2 as relations

from lakewarden.gateway import identifiers
from lakewarden.gateway.access import Access
from lakewarden.gateway.errors import Denied
from lakewarden.gateway.resolver import literal
from lakewarden.gateway.session import Session

_FIRST_DATABASE = "default"


class CatalogCalls:
    """Checks the catalog requests of one call. The gateway keeps track of the current database."""

    def __init__(self, session: Session, access: Access) -> None:
        self._session = session
        self._access = access

    def answered(self, plan: relations.Relation) -> relations.Relation:
        """The plan to send to Spark instead of the request. Raises `Denied`."""
        question: catalogs.Catalog = plan.catalog
        match question.WhichOneof("cat_type"):
            case "current_database":
                return _value(self._session.database)
            case "current_catalog":
                return _value(self._session.catalog)
            case "set_current_database":
                return self.use(identifiers.split(question.set_current_database.db_name))
            case "set_current_catalog":
                return self._use_catalog(question.set_current_catalog.catalog_name)
            case "list_catalogs":
                return _filtered(plan, _is_one_of(self._access.catalogs()))
            case "list_databases":
                return self._databases(plan)
            case "list_tables":
                return self._tables(plan)
            case "get_database":
                question.get_database.db_name = self._database(question.get_database.db_name)
            case "database_exists":
                asked = question.database_exists
                asked.db_name = self._database(asked.db_name)
            case "list_columns" | "get_table" | "table_exists" as kind:
                return self._about_table(plan, getattr(question, kind))
            case "drop_temp_view":
                self._session.views.pop(question.drop_temp_view.view_name.lower(), None)
            case _:
                raise Denied("this question to the catalog is not permitted")
        return plan

    def use(self, names: Sequence[str]) -> relations.Relation:
        """Makes a database the current one, if the user may."""
        catalog, database = self._session.qualified_schema(names)
        self._access.require("UseSchema", (catalog, database))
        self._session.catalog, self._session.database = catalog, database
        return _value(database)

    def _use_catalog(self, text: str) -> relations.Relation:
        (catalog,) = self._one(identifiers.split(text))
        self._access.require("UseCatalog", (catalog,))
        self._session.catalog, self._session.database = catalog, _FIRST_DATABASE
        return _value(catalog)

    def _databases(self, plan: relations.Relation) -> relations.Relation:
        # Spark lists those of its own current catalog, which is the one of the first session.
        if self._session.catalog != self._session.first_catalog:
            raise Denied("databases are listed in the first catalog of a session only")
        return _filtered(plan, _is_one_of(self._access.schemas(self._session.catalog)))

    def _tables(self, plan: relations.Relation) -> relations.Relation:
        asked = plan.catalog.list_tables
        names = identifiers.split(asked.db_name) if asked.HasField("db_name") else ()
        catalog, database = self._session.qualified_schema(names)
        self._access.require("UseSchema", (catalog, database))
        asked.db_name = identifiers.join((catalog, database))
        visible = _is_one_of(self._access.tables(catalog, database))
        return _filtered(plan, _function("or", _attribute("isTemporary"), visible))

    def _about_table(
        self,
        plan: relations.Relation,
        asked: catalogs.ListColumns | catalogs.GetTable | catalogs.TableExists,
    ) -> relations.Relation:
        names = identifiers.split(asked.table_name)
        if asked.HasField("db_name"):
            names = (*identifiers.split(asked.db_name), *names)
        name = self._session.qualified(names)
        self._access.require("DescribeTable", name)
        asked.ClearField("db_name")
        asked.table_name = identifiers.join(name)
        return plan

    def _database(self, text: str) -> str:
        name = self._session.qualified_schema(identifiers.split(text))
        self._access.require("UseSchema", name)
        return identifiers.join(name)

    def _one(self, names: Sequence[str]) -> Sequence[str]:
        if len(names) != 1:
            raise Denied("a name of a catalog has one part")
        return names


def _value(value: str) -> relations.Relation:
    """A table with one row and one column."""
    row = relations.Relation(range=relations.Range(start=0, end=1, step=1))
    project = relations.Project(input=row, expressions=[literal(value)])
    return relations.Relation(project=project)


def _filtered(plan: relations.Relation, condition: expressions.Expression) -> relations.Relation:
    return relations.Relation(filter=relations.Filter(input=plan, condition=condition))


def _is_one_of(names: Iterable[str]) -> expressions.Expression:
    values = [literal(name) for name in names]
    if not values:
        return expressions.Expression(literal=expressions.Expression.Literal(boolean=False))
    return _function("in", _attribute("name"), *values)


def _function(name: str, *arguments: expressions.Expression) -> expressions.Expression:
    function = expressions.Expression.UnresolvedFunction(function_name=name, arguments=arguments)
    return expressions.Expression(unresolved_function=function)


def _attribute(name: str) -> expressions.Expression:
    attribute = expressions.Expression.UnresolvedAttribute(unparsed_identifier=name)
    return expressions.Expression(unresolved_attribute=attribute)
