"""Drives a server with the PyPI client `apache-gravitino`; run by the client's own Python.

    python metadata.py http://127.0.0.1:8787 admin

Runs every metadata call of the client, and stops at the first unexpected response. Needs an empty
server whose service admin is the second argument.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager

os.environ.setdefault("GRAVITINO_USER", "admin")

from gravitino import (  # type: ignore[import-not-found]
    Catalog,
    Fileset,
    FilesetChange,
    GravitinoAdminClient,
    GravitinoClient,
    MetalakeChange,
    NameIdentifier,
    SchemaChange,
)
from gravitino.api.catalog_change import CatalogChange  # type: ignore[import-not-found]
from gravitino.api.function.function_change import (  # type: ignore[import-not-found]
    FunctionChange,
)
from gravitino.api.function.function_definition import (  # type: ignore[import-not-found]
    FunctionDefinitions,
)
from gravitino.api.function.function_impl import FunctionImpl  # type: ignore[import-not-found]
from gravitino.api.function.function_param import (  # type: ignore[import-not-found]
    FunctionParams,
)
from gravitino.api.function.function_type import FunctionType  # type: ignore[import-not-found]
from gravitino.api.function.sql_impl import SQLImpl  # type: ignore[import-not-found]
from gravitino.api.model_change import ModelChange  # type: ignore[import-not-found]
from gravitino.api.model_version_change import (  # type: ignore[import-not-found]
    ModelVersionChange,
)
from gravitino.api.rel.column import Column  # type: ignore[import-not-found]
from gravitino.api.rel.expressions.literals.literals import (  # type: ignore[import-not-found]
    Literals,
)
from gravitino.api.rel.expressions.sorts.sort_direction import (  # type: ignore[import-not-found]
    SortDirection,
)
from gravitino.api.rel.expressions.transforms.transforms import (  # type: ignore[import-not-found]
    Transforms,
)
from gravitino.api.rel.indexes.index import Index  # type: ignore[import-not-found]
from gravitino.api.rel.indexes.indexes import Indexes  # type: ignore[import-not-found]
from gravitino.api.rel.partitions.partitions import Partitions  # type: ignore[import-not-found]
from gravitino.api.rel.sql_representation import (  # type: ignore[import-not-found]
    SQLRepresentation,
)
from gravitino.api.rel.table_change import TableChange  # type: ignore[import-not-found]
from gravitino.api.rel.types.types import Types  # type: ignore[import-not-found]
from gravitino.api.rel.view_change import ViewChange  # type: ignore[import-not-found]
from gravitino.api.stats.statistic_values import (  # type: ignore[import-not-found]
    StatisticValues,
)
from gravitino.auth.simple_auth_provider import (  # type: ignore[import-not-found]
    SimpleAuthProvider,
)
from gravitino.exceptions import base as errors  # type: ignore[import-not-found]
from gravitino.namespace import Namespace  # type: ignore[import-not-found]

LAKE = "client_lake"

PARTITION = "day=2026-01-01/land=de"
"""A partition name with slashes."""


def provider(user: str) -> SimpleAuthProvider:
    """Credentials of a user, in the client's form."""
    os.environ["GRAVITINO_USER"] = user
    return SimpleAuthProvider()


@contextmanager
def refused(error: type[Exception]) -> Iterator[None]:
    """Expects this exception of the client from the block."""
    try:
        yield
    except error:
        return
    raise AssertionError(f"expected {error.__name__}")


def metalakes(url: str, admin: str) -> None:
    """Metalakes: the admin client's calls."""
    client = GravitinoAdminClient(url, auth_data_provider=provider(admin))
    made = client.create_metalake(LAKE, "a lake", {"a": "b"})
    assert (made.name(), made.comment(), made.properties()) == (LAKE, "a lake", {"a": "b"})
    assert made.audit_info().creator() == admin
    assert [one.name() for one in client.list_metalakes()] == [LAKE]
    with refused(errors.MetalakeAlreadyExistsException):
        client.create_metalake(LAKE, "again", {})
    altered = client.alter_metalake(
        LAKE, MetalakeChange.update_comment("the lake"), MetalakeChange.remove_property("a")
    )
    assert (altered.comment(), altered.properties()) == ("the lake", {})
    client.disable_metalake(LAKE)
    with refused(errors.NotInUseException):
        GravitinoClient(url, LAKE, auth_data_provider=provider(admin)).list_catalogs()
    client.enable_metalake(LAKE)
    with refused(errors.MetalakeInUseException):
        client.drop_metalake(LAKE)
    client.close()


def catalogs(lake: GravitinoClient) -> None:
    """Catalogs; this client has none for topics."""
    rel = lake.create_catalog(
        "rel", Catalog.Type.RELATIONAL, "jdbc-mysql", "tables", {"jdbc-password": "hunter2"}
    )
    assert rel.properties() == {}
    assert rel.type() == Catalog.Type.RELATIONAL
    lake.create_catalog("fil", Catalog.Type.FILESET, None, "files", {"k": "v"})
    lake.create_catalog("mod", Catalog.Type.MODEL, None, "models", {})
    lake.create_catalog("msg", Catalog.Type.FILESET, "hadoop", "more files", {})
    assert lake.list_catalogs() == ["fil", "mod", "msg", "rel"]
    assert [one.name() for one in lake.list_catalogs_info()] == ["fil", "mod", "msg", "rel"]
    assert lake.load_catalog("fil").properties() == {"k": "v"}
    altered = lake.alter_catalog(
        "msg", CatalogChange.rename("msg2"), CatalogChange.set_property("a", "b")
    )
    assert (altered.name(), altered.properties()) == ("msg2", {"a": "b"})
    lake.test_connection("msg2")
    with refused(errors.NoSuchCatalogException):
        lake.load_catalog("msg")
    with refused(errors.CatalogAlreadyExistsException):
        lake.create_catalog("fil", Catalog.Type.FILESET, None, "files", {})
    with refused(errors.CatalogInUseException):
        lake.drop_catalog("msg2")
    lake.disable_catalog("msg2")
    lake.enable_catalog("msg2")
    assert lake.drop_catalog("msg2", force=True)
    assert not lake.drop_catalog("msg2", force=True)


def schemas(lake: GravitinoClient) -> None:
    """Schemas."""
    of = lake.load_catalog("rel").as_schemas()
    of.create_schema("s", "a schema", {"a": "b"})
    assert of.list_schemas() == ["s"]
    assert of.load_schema("s").properties() == {"a": "b"}
    assert of.alter_schema("s", SchemaChange.set_property("c", "d")).properties() == {
        "a": "b",
        "c": "d",
    }
    with refused(errors.SchemaAlreadyExistsException):
        of.create_schema("s", "again", {})
    with refused(errors.NoSuchSchemaException):
        of.load_schema("none")
    of.create_schema("gone", "", {})
    assert of.drop_schema("gone", cascade=True)
    assert not of.drop_schema("gone", cascade=True)
    for name in ("fil", "mod"):
        lake.load_catalog(name).as_schemas().create_schema("s", "", {})


def tables(lake: GravitinoClient) -> None:
    """Tables with columns, partitions, statistics and tags."""
    of = lake.load_catalog("rel").as_table_catalog()
    at = NameIdentifier.of("s", "t")
    made = of.create_table(
        at,
        [
            Column.of("id", Types.LongType.get(), "the key", nullable=False),
            Column.of("day", Types.DateType.get()),
            Column.of("tags", Types.ListType.of(Types.StringType.get(), True)),
            Column.of("price", Types.DecimalType.of(10, 2), default_value=Literals.NULL),
        ],
        comment="a table",
        properties={"format": "orc"},
        partitioning=[Transforms.identity("day")],
        indexes=[Indexes.of(Index.IndexType.PRIMARY_KEY, "pk", [["id"]])],
    )
    assert [one.name() for one in made.columns()] == ["id", "day", "tags", "price"]
    assert made.columns()[3].data_type() == Types.DecimalType.of(10, 2)
    assert len(made.partitioning()) == 1
    assert len(made.index()) == 1
    assert of.list_tables(Namespace.of("s")) == [at]
    with refused(errors.TableAlreadyExistsException):
        of.create_table(at, [Column.of("id", Types.LongType.get())])
    with refused(errors.NoSuchTableException):
        of.load_table(NameIdentifier.of("s", "none"))
    altered = of.alter_table(
        at,
        TableChange.rename("t2"),
        TableChange.update_comment("the table"),
        TableChange.set_property("a", "b"),
        TableChange.remove_property("format"),
        TableChange.add_column(
            ["first"], Types.StringType.get(), "in front", TableChange.ColumnPosition.first()
        ),
        TableChange.rename_column(["tags"], "words"),
        TableChange.update_column_type(["price"], Types.DoubleType.get()),
        TableChange.update_column_comment(["price"], "what it costs"),
        TableChange.update_column_nullability(["price"], False),
        TableChange.update_column_auto_increment(["id"], True),
        TableChange.update_column_position(["price"], TableChange.ColumnPosition.after("id")),
        TableChange.update_column_default_value(["price"], Literals.double_literal(1.0)),
        TableChange.delete_column(["words"], False),
        TableChange.delete_index("pk", False),
        TableChange.add_index(Index.IndexType.UNIQUE_KEY, "uk", [["id"]]),
    )
    assert [one.name() for one in altered.columns()] == ["first", "id", "price", "day"]
    table = of.load_table(NameIdentifier.of("s", "t2"))
    _partitions(table)
    _statistics(table)
    assert of.drop_table(NameIdentifier.of("s", "t2"))
    assert not of.purge_table(NameIdentifier.of("s", "t2"))
    assert SortDirection.ASCENDING


def _partitions(table: object) -> None:
    day = Literals.date_literal
    new = Partitions.identity(PARTITION, [["day"]], [_date(day)], {})
    added = table.add_partition(new)  # type: ignore[attr-defined]
    assert added.name() == PARTITION
    assert table.list_partition_names() == [PARTITION]  # type: ignore[attr-defined]
    assert len(table.list_partitions()) == 1  # type: ignore[attr-defined]
    assert table.get_partition(PARTITION).name() == added.name()  # type: ignore[attr-defined]
    with refused(errors.NoSuchPartitionException):
        table.get_partition("none")  # type: ignore[attr-defined]
    assert table.drop_partition(PARTITION)  # type: ignore[attr-defined]


def _date(make: Callable[..., object]) -> object:
    from datetime import date

    return make(date(2026, 1, 1))


def _statistics(table: object) -> None:
    values = {"custom-rows": StatisticValues.long_value(7)}
    table.update_statistics(values)  # type: ignore[attr-defined]
    found = table.list_statistics()  # type: ignore[attr-defined]
    assert [(one.name(), one.value().value()) for one in found] == [("custom-rows", 7)]
    assert table.drop_statistics(["custom-rows"])  # type: ignore[attr-defined]
    with refused(errors.IllegalStatisticNameException):
        table.update_statistics({"rows": StatisticValues.long_value(7)})  # type: ignore[attr-defined]


def views(lake: GravitinoClient) -> None:
    """Views."""
    of = lake.load_catalog("rel").as_view_catalog()
    at = NameIdentifier.of("s", "v")
    sql = SQLRepresentation("trino", "select 1")
    made = of.create_view(at, [Column.of("id", Types.LongType.get())], [sql], comment="a view")
    assert made.representations()[0].sql() == "select 1"
    assert of.list_views(Namespace.of("s")) == [at]
    altered = of.alter_view(at, ViewChange.rename("w"), ViewChange.set_property("a", "b"))
    assert (altered.name(), altered.properties()) == ("w", {"a": "b"})
    with refused(errors.NoSuchViewException):
        of.load_view(at)
    assert of.drop_view(NameIdentifier.of("s", "w"))


def functions(lake: GravitinoClient) -> None:
    """Functions."""
    of = lake.load_catalog("rel").as_function_catalog()
    at = NameIdentifier.of("s", "plus")
    impl = SQLImpl(FunctionImpl.RuntimeType.SPARK, "x + 1")
    one = FunctionDefinitions.of(
        [FunctionParams.of("x", Types.IntegerType.get())], Types.IntegerType.get(), [impl]
    )
    made = of.register_function(at, "adds one", FunctionType.SCALAR, True, [one])
    assert (made.name(), made.deterministic()) == ("plus", True)
    assert of.list_functions(Namespace.of("s")) == [at]
    assert [one.name() for one in of.list_function_infos(Namespace.of("s"))] == ["plus"]
    assert of.get_function(at).definitions()[0].impls()[0].sql() == "x + 1"
    altered = of.alter_function(at, FunctionChange.update_comment("adds"))
    assert altered.comment() == "adds"
    with refused(errors.NoSuchFunctionException):
        of.get_function(NameIdentifier.of("s", "none"))
    assert of.drop_function(at)


def filesets(lake: GravitinoClient) -> None:
    """Filesets."""
    catalog = lake.load_catalog("fil")
    of = catalog.as_fileset_catalog()
    at = NameIdentifier.of("s", "f")
    made = of.create_fileset(at, "files", Fileset.Type.MANAGED, "file:/data/f", {"a": "b"})
    assert (made.type(), made.storage_location()) == (Fileset.Type.MANAGED, "file:/data/f")
    assert of.list_filesets(Namespace.of("s")) == [at]
    two = NameIdentifier.of("s", "g")
    of.create_multiple_location_fileset(
        two, "", Fileset.Type.EXTERNAL, {"a": "s3://b/a", "b": "s3://b/b"}, {}
    )
    assert of.load_fileset(two).storage_locations() == {"a": "s3://b/a", "b": "s3://b/b"}
    assert of.get_file_location(at, "x/y") == "file:/data/f/x/y"
    assert of.get_file_location(two, "x", "b") == "s3://b/b/x"
    altered = of.alter_fileset(
        at, FilesetChange.rename("f2"), FilesetChange.update_comment("all files")
    )
    assert (altered.name(), altered.comment()) == ("f2", "all files")
    assert of.get_credentials() == []
    with refused(errors.NoSuchFilesetException):
        of.load_fileset(at)
    assert of.drop_fileset(NameIdentifier.of("s", "f2"))
    assert of.drop_fileset(two)


def models(lake: GravitinoClient) -> None:
    """Models and their versions."""
    of = lake.load_catalog("mod").as_model_catalog()
    at = NameIdentifier.of("s", "m")
    made = of.register_model(at, "a model", {"a": "b"})
    assert made.latest_version() == 0
    assert of.list_models(Namespace.of("s")) == [at]
    of.link_model_version(at, "s3://m/0", ["live"], "first", {"c": "d"})
    of.link_model_version_with_multiple_uris(at, {"x": "s3://x", "y": "s3://y"}, [], "", {})
    assert of.list_model_versions(at) == [0, 1]
    assert [one.version() for one in of.list_model_version_infos(at)] == [0, 1]
    assert of.get_model(at).latest_version() == 2
    assert of.get_model_version(at, 0).aliases() == ["live"]
    assert of.get_model_version_by_alias(at, "live").comment() == "first"
    assert of.get_model_version_uri(at, 0) == "s3://m/0"
    assert of.get_model_version_uri(at, 1, "y") == "s3://y"
    assert of.get_model_version_uri_by_alias(at, "live") == "s3://m/0"
    altered = of.alter_model_version(
        at,
        1,
        ModelVersionChange.update_comment("second"),
        ModelVersionChange.add_uri("z", "s3://z"),
        ModelVersionChange.update_aliases(["next"], []),
    )
    assert sorted(altered.uris()) == ["x", "y", "z"]
    of.alter_model_version_by_alias(at, "next", ModelVersionChange.set_property("e", "f"))
    with refused(errors.ModelVersionAliasesAlreadyExistException):
        of.link_model_version(at, "s3://m/2", ["live"], "", {})
    with refused(errors.NoSuchModelVersionException):
        of.get_model_version(at, 9)
    assert of.delete_model_version(at, 0)
    assert of.delete_model_version_by_alias(at, "next")
    assert of.alter_model(at, ModelChange.rename("n")).name() == "n"
    with refused(errors.NoSuchModelException):
        of.get_model(at)
    assert of.delete_model(NameIdentifier.of("s", "n"))


def stranger(url: str, lake: GravitinoClient) -> None:
    """Denies a user outside the metalake; a user in it sees only granted objects."""
    with refused(Exception):
        GravitinoClient(url, LAKE, auth_data_provider=provider("eve"))
    lake.add_user("eve")
    eve = GravitinoClient(url, LAKE, auth_data_provider=provider("eve"))
    assert eve.list_catalogs() == []
    with refused(errors.ForbiddenException):
        eve.load_catalog("rel")
    eve.close()


def main(url: str, admin: str) -> None:
    """Runs everything, in an order that leaves an empty server."""
    metalakes(url, admin)
    lake = GravitinoClient(url, LAKE, auth_data_provider=provider(admin))
    for walk in (catalogs, schemas, tables, views, functions, filesets, models):
        walk(lake)
        print(f"{walk.__name__}: ok", flush=True)
    stranger(url, lake)
    lake.close()
    client = GravitinoAdminClient(url, auth_data_provider=provider(admin))
    assert client.drop_metalake(LAKE, force=True)
    assert client.list_metalakes() == []
    client.close()
    print("all: ok")


if __name__ == "__main__":
    main(*sys.argv[1:])
