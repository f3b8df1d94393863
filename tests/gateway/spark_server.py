"""A Spark Connect server with the tables of `estate`, on a free port of this machine.

Run as a program it prints its port, and ends when its input does.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

TOKEN: Final = "token-of-the-spark-connect-server"
SAFE: Final = {"spark.sql.runSQLOnFiles": "false", "spark.sql.variable.substitute": "false"}
_SETTINGS: Final = {
    "spark.plugins": "org.apache.spark.sql.connect.SparkConnectPlugin",
    "spark.connect.grpc.binding.address": "127.0.0.1",
    "spark.connect.grpc.binding.port": "0",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.extraJavaOptions": (
        "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:+ExitOnOutOfMemoryError"
    ),
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.leafNodeDefaultParallelism": "1",
    "spark.sql.shuffle.partitions": "1",
    "spark.ui.enabled": "false",
}
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
def running(folder: Path, **settings: str) -> Iterator[int]:
    """A server that keeps its tables in the folder; its port."""
    arguments = [f"{name}={value}" for name, value in settings.items()]
    log = folder / "spark.log"
    with (
        log.open("w") as errors,
        subprocess.Popen(
            [sys.executable, __file__, str(folder), *arguments],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)},
            cwd=folder,
        ) as process,
    ):
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            line = process.stdout.readline()
            assert line, log.read_text()[-2000:]
            yield int(line)
        finally:
            process.stdin.close()
            process.wait(60)


def _serve(folder: str, settings: dict[str, str]) -> None:
    from pyspark.sql import SparkSession

    from lakewarden.pipeline.java import ensure_java

    os.environ["JAVA_HOME"] = str(ensure_java())
    builder = SparkSession.builder.master("local[2]").appName("tests of the gateway")
    own = {
        "spark.sql.warehouse.dir": f"{folder}/warehouse",
        "spark.connect.authenticate.token": TOKEN,
    }
    for name, value in {**_SETTINGS, **own, **SAFE, **settings}.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    for statement in TABLES:
        session.sql(statement)
    jvm: Any = session._jvm
    service = getattr(jvm, "org.apache.spark.sql.connect.service.SparkConnectService$")
    print(service.__getattr__("MODULE$").localPort(), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    _serve(sys.argv[1], dict(one.split("=", 1) for one in sys.argv[2:]))
