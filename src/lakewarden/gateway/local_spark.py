"""A Spark Connect server on this machine, with tables of its own: for the demo and for tests.

    python -m lakewarden.gateway.local_spark FOLDER [NAME=VALUE ...]

Its token is in `LAKEWARDEN_SPARK_TOKEN`; its first line of input is a JSON list of statements that
create the tables in the folder. It prints its port, and ends when its input ends.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import MappingProxyType
from typing import IO, Any, Final, cast

from lakewarden.gateway import permitted
from lakewarden.kernel.errors import Unavailable

TOKEN: Final = "LAKEWARDEN_SPARK_TOKEN"  # noqa: S105 — the name of a variable
SETTINGS: Final = {
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
_LOG_SHOWN: Final = 2_000
_END_SECONDS: Final = 60.0


@contextmanager
def running(
    folder: Path,
    token: str,
    statements: Sequence[str],
    settings: Mapping[str, str] = MappingProxyType({}),
    interpreter: str = "",
) -> Iterator[int]:
    """A server that keeps its tables in the folder; yields its port. Raises `Unavailable`.

    `interpreter` is the Python of another environment, whose Spark is used.
    """
    arguments = [f"{name}={value}" for name, value in settings.items()]
    log = folder / "spark.log"
    package = str(Path(__file__).parents[2])
    path = package if interpreter else os.pathsep.join(sys.path)
    with (
        log.open("w") as errors,
        subprocess.Popen(  # noqa: S603 — this very program
            [
                interpreter or sys.executable,
                "-m",
                "lakewarden.gateway.local_spark",
                str(folder),
                *arguments,
            ],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
            env={**os.environ, "PYTHONPATH": path, TOKEN: token},
            cwd=folder,
        ) as process,
    ):
        written, read = cast("IO[str]", process.stdin), cast("IO[str]", process.stdout)
        try:
            written.write(json.dumps(list(statements)) + "\n")
            written.flush()
            line = read.readline()
            if not line:
                raise Unavailable(f"Spark did not start: {log.read_text()[-_LOG_SHOWN:]}")
            yield int(line)
        finally:
            written.close()
            process.wait(_END_SECONDS)


def _serve(folder: str, settings: dict[str, str]) -> None:
    from pyspark.sql import SparkSession

    from lakewarden.pipeline.java import ensure_java

    statements = json.loads(sys.stdin.readline())
    os.environ["JAVA_HOME"] = str(ensure_java())
    builder = SparkSession.builder.master("local[2]").appName("lakewarden: local Spark")
    own = {
        "spark.sql.warehouse.dir": f"{folder}/warehouse",
        "spark.connect.authenticate.token": os.environ.pop(TOKEN),
    }
    required = permitted.load().required
    for name, value in {**SETTINGS, **own, **required, **settings}.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    for statement in statements:
        session.sql(statement)
    jvm: Any = session._jvm
    service = getattr(jvm, "org.apache.spark.sql.connect.service.SparkConnectService$")
    print(service.__getattr__("MODULE$").localPort(), flush=True)
    sys.stdin.read()


if __name__ == "__main__":
    _serve(sys.argv[1], dict(one.split("=", 1) for one in sys.argv[2:]))
