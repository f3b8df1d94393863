"""A parsed request of Trino: the user, the operation, and the resource.

Unknown members are ignored, because newer releases send more; members that are read must have their
type, and a missing name is refused.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

import msgspec
from msgspec import Struct

from lakewarden.http.opa.body import decoded
from lakewarden.kernel.errors import BadInput
from lakewarden.names.canonical import check_text

MOST_RESOURCES: Final = 100_000
"""The most resources of one question."""


class Catalog(Struct, rename="camel", gc=False):
    """`catalog`: a catalog by its name."""

    name: str


class Schema(Struct, rename="camel", gc=False):
    """`schema`: a schema of a catalog; `properties` of one that is created."""

    catalog_name: str
    schema_name: str
    properties: dict[str, object] | None = None


class Table(Struct, rename="camel", gc=False):
    """`table`: a table or a view; `columns` for single columns, and its `properties`."""

    catalog_name: str
    schema_name: str
    table_name: str
    columns: list[str] | None = None
    properties: dict[str, object] | None = None


class Column(Struct, rename="camel", gc=False):
    """`column`: one column of a table or a view."""

    catalog_name: str
    schema_name: str
    table_name: str
    column_name: str
    column_type: str = ""


class Function(Struct, rename="camel", gc=False):
    """`function`: a function of a schema; for a procedure on a table its name alone."""

    function_name: str
    catalog_name: str = ""
    schema_name: str = ""


class User(Struct, rename="camel", gc=False):
    """`user`: the owner of the queries, or the user to impersonate."""

    user: str


class SystemProperty(Struct, rename="camel", gc=False):
    """`systemSessionProperty`: a session property."""

    name: str


class CatalogProperty(Struct, rename="camel", gc=False):
    """`catalogSessionProperty`: a session property of a catalog."""

    catalog_name: str
    property_name: str = ""


class Resource(Struct, rename="camel", gc=False):
    """The resource of an operation: one of its members is set."""

    catalog: Catalog | None = None
    schema: Schema | None = None
    table: Table | None = None
    column: Column | None = None
    function: Function | None = None
    user: User | None = None
    system_session_property: SystemProperty | None = None
    catalog_session_property: CatalogProperty | None = None


class Action(Struct, rename="camel", gc=False):
    """The operation and its resource; `filterResources` are those of a list."""

    operation: str
    resource: Resource | None = None
    target_resource: Resource | None = None
    filter_resources: list[Resource] | None = None


class Identity(Struct, rename="camel", gc=False):
    """The user, and the groups that Trino knows."""

    user: str
    groups: list[str] = []


class Context(Struct, rename="camel", gc=False):
    """The context of a question."""

    identity: Identity
    query_id: str = ""


class Question(Struct, rename="camel", gc=False):
    """One question."""

    context: Context
    action: Action


class _Body(Struct, rename="camel", gc=False):
    input: Question


_MEMBERS: Final = {member.encode_name: member.name for member in msgspec.structs.fields(Resource)}
_DECODER: Final = msgspec.json.Decoder(_Body)


def read(body: bytes) -> Question:
    """The question of a body; raises `BadInput` that names the member."""
    question = decoded(_DECODER, body).input
    check_text(question.context.identity.user, "the user name")
    resources = question.action.filter_resources or ()
    if len(resources) > MOST_RESOURCES:
        message = f"{len(resources):,} resources, at most {MOST_RESOURCES:,} are allowed"
        raise BadInput(message, where="input.action.filterResources")
    return question


def member(resource: Resource, name: str) -> Struct | None:
    """The member of a resource with this name in JSON."""
    value: Struct | None = getattr(resource, _MEMBERS[name])
    return value


def parts(resource: Resource) -> Mapping[str, str]:
    """The names that a resource gives: `catalog`, `schema`, `table`, `function`."""
    if resource.table is not None:
        return _of_table(resource.table)
    if resource.column is not None:
        return _of_table(resource.column)
    if resource.schema is not None:
        schema = resource.schema
        return {"catalog": schema.catalog_name, "schema": schema.schema_name}
    if resource.catalog is not None:
        return {"catalog": resource.catalog.name}
    if resource.function is not None:
        function = resource.function
        return {
            "catalog": function.catalog_name,
            "schema": function.schema_name,
            "function": function.function_name,
        }
    if resource.catalog_session_property is not None:
        return {"catalog": resource.catalog_session_property.catalog_name}
    return {}


def chosen(resource: Resource) -> Iterator[tuple[str, str]]:
    """The further choices of a request, as pairs of the engine's kind and a name.

    A property may contain others, such as `extra_properties` of Iceberg tables.
    """
    for one in (resource.table, resource.schema):
        for name, value in ((one and one.properties) or {}).items():
            for inner in (name, *(value if isinstance(value, dict) else ())):
                yield "table_properties", inner
    if resource.catalog_session_property is not None:
        yield "session_properties", resource.catalog_session_property.property_name
    if resource.table is not None and resource.function is not None:
        yield "procedures", resource.function.function_name
    elif resource.function is not None:
        yield "function_schemas", resource.function.schema_name


def _of_table(table: Table | Column) -> Mapping[str, str]:
    return {"catalog": table.catalog_name, "schema": table.schema_name, "table": table.table_name}
