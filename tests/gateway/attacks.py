"""Attacks by users without permission: SQL texts, and messages that no real client sends."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

import zstandard
from pyspark.sql.connect.proto import base_pb2 as base
from pyspark.sql.connect.proto import relations_pb2 as relations

SQL: Final = (
    # tables that the user may not read, named in every place of a query
    "select * from hr.people",
    "select * from spark_catalog.hr.people",
    "select * from `hr`.`people`",
    "select * from HR.PEOPLE",
    "select (select max(salary) from hr.people) as m",
    "select 1 from notes where exists (select 1 from hr.people)",
    "select * from notes where id in (select salary from hr.people)",
    "select * from notes n join hr.people p on true",
    "select * from notes, hr.people",
    "select * from notes n, lateral (select * from hr.people p) x",
    "with c as (select * from hr.people) select * from c",
    "with people as (select 1) select * from people, hr.people",
    "with notes as (select * from hr.people) select * from notes",
    "select * from notes union all select name, salary from hr.people",
    "select * from (select * from hr.people)",
    "select * from (table hr.people)",
    "table hr.people",
    "from hr.people select *",
    "from hr.people |> select name",
    "select * from hr.people tablesample (10 rows)",
    "select * from hr.people version as of 1",
    "select * from notes order by (select max(salary) from hr.people)",
    "select * from notes limit (select max(salary) from hr.people)",
    "select count(*) from hr.people",
    "values ((select max(salary) from hr.people))",
    "select * from identifier('hr.people')",
    "select * from identifier('hr' || '.people')",
    "select * from hr.people -- sales.notes",
    "select /*+ broadcast(p) */ * from hr.people p",
    "select * from global_temp.people",
    "select * from default.people",
    # files, formats, functions that read
    "select * from parquet.`/etc/passwd`",
    "select * from text.`/etc/passwd`",
    "select * from csv.`file:///etc/passwd`",
    "select * from binaryFile.`/etc`",
    "select * from read_files('/etc/passwd')",
    "select reflect('java.lang.System', 'getenv', 'PATH')",
    "select java_method('java.lang.System', 'getProperty', 'user.home')",
    "select try_reflect('java.lang.System', 'getenv')",
    "select input_file_name() from notes",
    "select from_protobuf(cast('x' as binary), 'M', '/etc/passwd')",
    "select * from python_worker_logs()",
    "select _metadata.file_path from notes",
    "select `_METADATA`.file_size from notes",
    # Iceberg metadata
    "select _file from notes",
    "select n.`_FILE` from notes n",
    "select `_f\u0131le`, `_f\u0130le` from notes",
    "select * from sales.notes.files",
    "select * from notes.snapshots",
    "select * from spark_catalog.sales.notes.all_data_files",
    "select * from spark_catalog.sales.notes.branch_main",
    "select * from notes for system_version as of 1",
    "select * from notes timestamp as of '2026-01-01'",
    "select * from spark_catalog.sales.`notes$files`",
    "call spark_catalog.system.rollback_to_snapshot('sales.notes', 1)",
    "call spark_catalog.system.add_files('sales.notes', '`parquet`.`/etc`')",
    "select * from range(10) r, hr.people",
    "select '${env:PATH}'",
    "select '${spark.connect.authenticate.token}'",
    # changes of the session or the server
    "set spark.sql.optimizer.excludedRules=x",
    "set spark.sql.runSQLOnFiles=true",
    "set -v",
    "reset",
    "set var x = (select max(salary) from hr.people)",
    "declare variable x = (select max(salary) from hr.people)",
    "set time zone '+14:00'",
    "add jar '/tmp/x.jar'",
    "add file '/tmp/x.py'",
    "list jars",
    "create temporary function f as 'java.lang.String'",
    "create function sales.f as 'x.Y' using jar '/tmp/x.jar'",
    "create function sales.f() returns int return (select max(salary) from hr.people)",
    "execute immediate 'select * from hr.people'",
    "begin select * from hr.people; end",
    "call system.procedure()",
    "select 1; select * from hr.people",
    "use hr",
    "use spark_catalog.hr",
    "use catalog other",
    # statements that reveal or write data
    "explain select * from hr.people",
    "explain extended select * from orders",
    "describe hr.people",
    "describe query select * from hr.people",
    "describe function extended upper",
    "show tables in hr",
    "show databases in hr",
    "show databases from other",
    "show columns in people in hr",
    "show table extended in sales like '*'",
    "show tables in `sales`.`x`.`y`",
    "show create table hr.people",
    "show columns in hr.people",
    "show tblproperties hr.people",
    "show partitions hr.people",
    "show functions",
    "cache table x as select * from hr.people",
    "cache table hr.people",
    "clear cache",
    "refresh table hr.people",
    "analyze table hr.people compute statistics",
    "create table sales.stolen as select * from hr.people",
    "create table sales.stolen using csv location '/tmp/x' as select 1 as a",
    "create view sales.stolen as select * from hr.people",
    "create or replace temporary view notes as select * from hr.people",
    "create temporary view x using csv options (path '/etc/passwd')",
    "insert into sales.notes select salary, name from hr.people",
    "insert overwrite directory '/tmp/x' select * from hr.people",
    "insert overwrite local directory '/tmp/x' using csv select * from orders",
    "load data inpath '/etc/passwd' into table sales.notes",
    "update sales.notes set text = 'x'",
    "delete from sales.notes",
    "truncate table sales.notes",
    "merge into sales.notes n using hr.people p on true when matched then delete",
    "drop table sales.notes",
    "drop database sales cascade",
    "alter table sales.orders rename column region to r",
    "alter view sales.totals as select * from hr.people",
    "comment on table sales.notes is 'x'",
    "msck repair table sales.notes",
    "select transform(id) using '/bin/sh' as (x string) from notes",
    "grant select on table hr.people to ana",
    "select * from notes where id = :x",
    "",
    ";",
    "select",
    "not sql at all",
)

EXPRESSIONS: Final = (
    "(select max(salary) from hr.people)",
    "exists (select 1 from hr.people)",
    "id in (select salary from hr.people)",
    "reflect('java.lang.System', 'getenv', 'PATH')",
    "'${env:PATH}'",
    "1 from hr.people",
    "1; select 1",
    "1 union select salary from hr.people",
    "input_file_name()",
    "current_user()",
    "_metadata.file_path) from hr.people --",
    "",
)

Build = Callable[[base.ExecutePlanRequest], Any]


def _notes(plan: relations.Relation) -> None:
    plan.read.named_table.unparsed_identifier = "notes"


def _expression(fill: Callable[[Any], Any]) -> Build:
    def build(request: base.ExecutePlanRequest) -> None:
        _notes(request.plan.root.project.input)
        fill(request.plan.root.project.expressions.add())

    return build


def _over_notes(kind: str) -> Build:
    return lambda request: _notes(getattr(request.plan.root, kind).input)


def _command(kind: str) -> Build:
    return lambda request: getattr(request.plan.command, kind).SetInParent()


def _unknown_field(request: base.ExecutePlanRequest) -> None:
    _notes(request.plan.root)
    request.plan.root.MergeFromString(b"\x82\x7d\x02\x08\x01")


def _unknown_enumeration(request: base.ExecutePlanRequest) -> None:
    join: Any = request.plan.root.join
    _notes(join.left)
    _notes(join.right)
    join.join_type = 77


def _read_option(request: base.ExecutePlanRequest) -> None:
    _notes(request.plan.root)
    request.plan.root.read.named_table.options["path"] = "/etc/passwd"


def _data_source(format: str, **options: str) -> Build:
    def build(request: base.ExecutePlanRequest) -> None:
        source = request.plan.root.read.data_source
        source.format = format
        source.paths.append("/etc/passwd")
        source.options.update(options)

    return build


def _view_of(name: str) -> Build:
    def build(request: base.ExecutePlanRequest) -> None:
        view = request.plan.command.create_dataframe_view
        view.name = name
        view.input.range.end = 1
        view.is_global = name.startswith("global")

    return build


def _write(**fields: Any) -> Build:
    def build(request: base.ExecutePlanRequest) -> None:
        operation: Any = request.plan.command.write_operation
        operation.input.range.end = 1
        operation.mode = 1
        for name, value in fields.items():
            if name == "table":
                operation.table.table_name = value
                operation.table.save_method = 1
            elif name == "options":
                operation.options.update(value)
            else:
                setattr(operation, name, value)

    return build


def _compressed(name: str = "hr.people", size: int = 0) -> Build:
    def build(request: base.ExecutePlanRequest) -> None:
        plan = relations.Relation()
        plan.read.named_table.unparsed_identifier = name
        data = b"\0" * size if size else plan.SerializeToString()
        operation = request.plan.compressed_operation
        operation.op_type = operation.OP_TYPE_RELATION
        operation.compression_codec = base.COMPRESSION_CODEC_ZSTD
        operation.data = zstandard.compress(data)

    return build


def _nested_catalog(request: base.ExecutePlanRequest) -> None:
    request.plan.root.filter.input.catalog.list_tables.db_name = "hr"


def _catalog(kind: str, **fields: str) -> Build:
    def build(request: base.ExecutePlanRequest) -> None:
        question = getattr(request.plan.root.catalog, kind)
        question.SetInParent()
        for name, value in fields.items():
            setattr(question, name, value)

    return build


def _deep(request: base.ExecutePlanRequest) -> None:
    plan = request.plan.root
    for _ in range(200):
        plan = plan.filter.input
    _notes(plan)


def _function(name: str, **flags: bool) -> Build:
    def fill(expression: Any) -> None:
        expression.unresolved_function.function_name = name
        for flag, value in flags.items():
            setattr(expression.unresolved_function, flag, value)

    return _expression(fill)


def _set(path: str, value: Any = None) -> Callable[[Any], Any]:
    *above, last = path.split(".")

    def fill(message: Any) -> None:
        for name in above:
            message = getattr(message, name)
        if value is None:
            getattr(message, last).SetInParent()
        else:
            setattr(message, last, value)

    return fill


PLANS: Final[Mapping[str, Build]] = {
    "an unknown field": _unknown_field,
    "an unknown value of an enumeration": _unknown_enumeration,
    "an extension relation": _set("plan.root.extension.type_url", "x"),
    "an extension command": _set("plan.command.extension.type_url", "x"),
    "an extension expression": _expression(_set("extension.type_url", "x")),
    "an extension of the user": lambda r: r.user_context.extensions.add(),
    "a relation of no kind": _set("plan.root"),
    "a plan of no kind": _set("plan"),
    "no plan": lambda r: None,
    "a path": _data_source("parquet"),
    "a database by JDBC": _data_source("jdbc", url="jdbc:x"),
    "a data source of the user": (
        _set("plan.root.common_inline_user_defined_data_source.name", "x")
    ),
    "options of a table": _read_option,
    "a stream of a table": _set("plan.root.read.is_streaming", True),
    "changes of a table": _set("plan.root.relation_changes.unparsed_identifier", "hr.people"),
    "a cached remote relation": _set("plan.root.cached_remote_relation.relation_id", "x"),
    "a cached local relation": _set("plan.root.cached_local_relation.hash", "x"),
    "a chunked local relation": (_set("plan.root.chunked_cached_local_relation.schemaHash", "x")),
    "a machine learning relation": _set("plan.root.ml_relation"),
    "a map of partitions": _over_notes("map_partitions"),
    "a map of groups": _over_notes("group_map"),
    "a map of two groups": _over_notes("co_group_map"),
    "pandas with state": _over_notes("apply_in_pandas_with_state"),
    "a watermark": _over_notes("with_watermark"),
    "a table function of the user": (
        _set("plan.root.common_inline_user_defined_table_function.function_name", "x")
    ),
    "a table function that is not known": (
        _set("plan.root.unresolved_table_valued_function.function_name", "read_files")
    ),
    "logs of workers": (
        _set("plan.root.unresolved_table_valued_function.function_name", "python_worker_logs")
    ),
    "a user-defined type": (
        _set("plan.root.local_relation.schema", '{"type":"udt","class":"x.Y"}')
    ),
    "a function of the user": _expression(
        _set("common_inline_user_defined_function.function_name", "f")
    ),
    "an aggregate of the user": _expression(_set("typed_aggregate_expression")),
    "a merge action": _expression(_set("merge_action")),
    "a metadata column": _expression(_set("unresolved_attribute.is_metadata_column", True)),
    "a column about files": _expression(
        _set("unresolved_attribute.unparsed_identifier", "_metadata.file_path")
    ),
    "all about files": _expression(_set("unresolved_star.unparsed_target", "`_metadata`.*")),
    "reflection": _function("reflect"),
    "reflection in capitals": _function("JAVA_METHOD"),
    "a qualified function": _function("system.builtin.reflect"),
    "a function of a schema": _function("sales.f"),
    "a registered function": _function("upper", is_user_defined_function=True),
    "an internal function": _function("upper", is_internal=True),
    "the name of the input file": _function("input_file_name"),
    "an Avro schema in a file": _function("from_avro"),
    "an Avro schema in a file, told": _function("schema_of_avro"),
    "an XML schema in a file": _function("from_xml"),
    "an XML schema in a file, told": _function("schema_of_xml"),
    "a called function": _expression(_set("call_function.function_name", "reflect")),
    "a parameter of SQL": lambda r: r.plan.root.sql.args["x"].SetInParent(),
    "an old form of SQL": _set("plan.command.sql_command.sql", "select * from hr.people"),
    "a statement that is a relation": (
        _set("plan.command.sql_command.input.read.named_table.unparsed_identifier", "hr.people")
    ),
    "a registered function of the user": _command("register_function"),
    "a registered table function": _command("register_table_function"),
    "a registered data source": _command("register_data_source"),
    "a stream": _command("write_stream_operation_start"),
    "a streaming query": _command("streaming_query_command"),
    "the streams": _command("streaming_query_manager_command"),
    "a listener": _command("streaming_query_listener_bus_command"),
    "the resources": _command("get_resources_command"),
    "a resource profile": _command("create_resource_profile_command"),
    "a checkpoint": _command("checkpoint_command"),
    "the end of a checkpoint": _command("remove_cached_remote_relation_command"),
    "a merge": _command("merge_into_table_command"),
    "an external command": _command("execute_external_command"),
    "a pipeline": _command("pipeline_command"),
    "machine learning": _set("plan.command.ml_command.fit"),
    "a model that is read": _set("plan.command.ml_command.read.path", "/tmp/x"),
    "a model that is written": _set("plan.command.ml_command.write.path", "/tmp/x"),
    "a global view": _view_of("global_view"),
    "a view with the name of a table": _view_of("notes"),
    "a view with the whole name of a table": _view_of("hr.people"),
    "a file that is written": _write(path="/tmp/x", source="parquet"),
    "a source that is written": _write(source="jdbc"),
    "a table by a path": _write(table="sales.new", options={"path": "/tmp/x"}),
    "a table of another format": _write(table="sales.notes", source="jdbc"),
    "a table that may not be written": _write(table="sales.notes"),
    "a table of another schema": _write(table="hr.people"),
    "a compressed plan": _compressed(),
    "a bomb": _compressed(size=80 * 1024 * 1024),
    "a deep plan": _deep,
    "a question to the catalog inside a plan": _nested_catalog,
    "tables of another schema": _catalog("list_tables", db_name="hr"),
    "columns of another table": _catalog("list_columns", table_name="hr.people"),
    "columns by schema": _catalog("list_columns", table_name="people", db_name="hr"),
    "whether a table exists": _catalog("table_exists", table_name="hr.people"),
    "a table of the catalog": _catalog("get_table", table_name="hr.people"),
    "a database of the catalog": _catalog("get_database", db_name="hr"),
    "another current database": _catalog("set_current_database", db_name="hr"),
    "another current catalog": _catalog("set_current_catalog", catalog_name="other"),
    "functions": _catalog("list_functions"),
    "a cached table": _catalog("cache_table", table_name="hr.people"),
    "an empty cache": _catalog("clear_cache"),
    "partitions": _catalog("recover_partitions", table_name="hr.people"),
    "a file that is refreshed": _catalog("refresh_by_path", path="/etc/passwd"),
    "an external table": _catalog("create_external_table", table_name="x", path="/etc/passwd"),
    "a created table": _catalog("create_table", table_name="sales.x", path="/etc/passwd"),
    "a dropped table": _catalog("drop_table", table_name="sales.notes"),
    "the text of a table": _catalog("get_create_table_string", table_name="hr.people"),
}
