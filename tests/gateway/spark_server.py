"""A Spark Connect server with the tables of `estate`, on a free local port."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from lakewarden.gateway import local_spark, permitted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TOKEN: Final = "token-of-the-spark-connect-server"
TABLES: Final = (
    "create database sales",
    "create database hr",
    "create table sales.orders using parquet as select * from values"
    " (1L, 'eu', 10.5BD), (2L, 'us', 20.0BD), (3L, 'eu', 30.25BD) as t(id, region, amount)",
    "create table sales.customers using parquet as select * from values"
    " (1L, 'Ida', 'DE00123456789999', 'eu'), (2L, 'Ian', 'GB00123456781111', 'apac')"
    " as t(id, name, iban, region)",
    "create table sales.notes using parquet as select * from values"
    " (1L, 'first'), (3L, 'third') as t(id, text)",
    "create table hr.people using parquet as select * from values"
    " ('Ana', 100), ('Bo', 200) as t(name, salary)",
    "create view sales.totals as select region, sum(amount) as total"
    " from sales.orders group by region",
)

_SCHEMAS: Final = ("sales", "hr")


@contextmanager
def running(folder: Path) -> Iterator[int]:
    """Runs a server that stores its tables in the folder; yields its port."""
    with local_spark.running(folder, TOKEN, TABLES) as port:
        yield port


@contextmanager
def inside(session: SparkSession, folder: Path) -> Iterator[int]:
    """Runs a server in the JVM of an existing session; yields its port.

    Its sessions have their own settings. Both share the schemas of the catalog.
    """
    java: Any = session._jsc.sc()
    wanted = {
        **local_spark.SETTINGS,
        **permitted.load().required,
        "spark.connect.authenticate.token": TOKEN,
    }
    settings = {
        name: value
        for name, value in wanted.items()
        if name.startswith(("spark.sql.", "spark.connect."))
    }
    for name, value in settings.items():
        java.conf().set(name, value)
    for schema in _SCHEMAS:
        session.sql(f"create database {schema} location '{folder.as_uri()}/{schema}.db'")
    for statement in TABLES:
        if not statement.startswith("create database "):
            session.sql(statement)
    jvm: Any = session._jvm
    service = getattr(jvm, "org.apache.spark.sql.connect.service.SparkConnectService$")
    service = service.__getattr__("MODULE$")
    service.start(java)
    try:
        yield service.localPort()
    finally:
        service.stop(jvm.scala.Option.empty(), jvm.scala.Option.empty())
        for name in settings:
            java.conf().remove(name)
        for schema in _SCHEMAS:
            session.sql(f"drop database {schema} cascade")
