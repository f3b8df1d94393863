"""A Spark Connect server with the tables of `estate`, on a free port of this machine."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from lakewarden.gateway import local_spark

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


@contextmanager
def running(folder: Path) -> Iterator[int]:
    """A server that keeps its tables in the folder; its port."""
    with local_spark.running(folder, TOKEN, TABLES) as port:
        yield port
