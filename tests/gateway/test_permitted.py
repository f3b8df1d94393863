"""The lists of permitted messages and functions, compared with all existing ones."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from typing import Any

import pytest
from pyspark.sql.connect.session import SparkSession

from lakewarden.gateway import permitted
from tests.gateway import spark_server

MODULES = ("base", "relations", "commands", "expressions", "catalog", "types", "common", "ml")


def described(message: Any) -> Iterator[Any]:
    yield message
    for nested in message.nested_types:
        yield from described(nested)


def test_every_listed_message_and_field_exists() -> None:
    known = {
        one.full_name.removeprefix("spark.connect."): {field.name for field in one.fields}
        for module in MODULES
        for top in import_module(
            f"pyspark.sql.connect.proto.{module}_pb2"
        ).DESCRIPTOR.message_types_by_name.values()
        for one in described(top)
    }
    for name, fields in permitted.load().messages.items():
        assert fields <= known[name], name


def test_no_message_for_code_of_users_is_listed() -> None:
    listed = permitted.load().messages
    for word in ("UDF", "UserDefined", "DataSource", "Artifact", "WriteStream", "Pipeline", "Any"):
        assert not [name for name in listed if word in name]


@pytest.mark.spark
def test_every_function_of_spark_is_listed_or_denied(spark_port: int) -> None:
    url = f"sc://localhost:{spark_port}/;token={spark_server.TOKEN}"
    direct: SparkSession = SparkSession.builder.remote(url).create()
    there = {row[0] for row in direct.sql("show system functions").collect()}
    direct.stop()
    lists = permitted.load()
    assert there == lists.functions | lists.denied_functions | lists.user_functions
