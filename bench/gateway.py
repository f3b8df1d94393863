"""The overhead of the Spark Connect gateway: the same queries through it and directly.

    python -m bench.gateway [--rounds N]

Prints the median of milliseconds for each query, from the client's call to the last row, and for
the gateway's own work on a plan. The rows are compared first. Needs Java, as the tests do.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

from pyspark.sql.connect.proto import base_pb2 as base
from pyspark.sql.connect.session import SparkSession

from bench.result import machine, rounded
from bench.timing import median
from lakewarden.gateway.inspection import parsed
from tests.gateway import spark_server
from tests.gateway.estate import Estate
from tests.gateway.running import served

ROUNDS: Final = 30
SQL: Final = "select o.id, c.name from sales.orders o join sales.customers c on o.id = c.id"
QUERIES: Final[Mapping[str, Callable[[SparkSession], Any]]] = {
    "table": lambda spark: spark.table("sales.orders").filter("amount > 1").collect(),
    "sql": lambda spark: spark.sql(SQL).collect(),
}


def milliseconds(query: Callable[[SparkSession], Any], spark: SparkSession, rounds: int) -> float:
    """The median of the rounds."""
    times = []
    for _ in range(rounds):
        begun = time.perf_counter()
        query(spark)
        times.append((time.perf_counter() - begun) * 1_000)
    return float(median(times))


def own_work(estate: Estate, user: str, text: str, rounds: int) -> float:
    """The median of the gateway's own time for a statement, without Spark."""
    request = base.ExecutePlanRequest()
    request.plan.command.sql_command.input.sql.query = text
    data = request.SerializeToString()
    times = []
    for _ in range(rounds * 10):
        begun = time.perf_counter()
        estate.plans(user).execute(parsed(base.ExecutePlanRequest, data))
        times.append((time.perf_counter() - begun) * 1_000)
    return float(median(times))


def measured(folder: Path, rounds: int) -> dict[str, object]:
    """The figures, by query: direct, through the gateway, and with filters and masks."""
    estate = Estate(folder)
    found: dict[str, object] = {}
    with spark_server.running(folder) as port, served(estate, port) as running:
        url = f"sc://localhost:{port}/;token={spark_server.TOKEN}"
        direct: SparkSession = SparkSession.builder.remote(url).create()
        plain, limited = running.session("bo"), running.session("ana")
        for name, query in QUERIES.items():
            assert query(direct) == query(plain)
            assert query(limited) != query(plain)
            sessions = {"direct": direct, "gateway": plain, "limited": limited}
            for spark in sessions.values():
                milliseconds(query, spark, rounds // 2)
            found[name] = {
                kind: rounded(milliseconds(query, spark, rounds))
                for kind, spark in sessions.items()
            }
        with suppress(Exception):  # the measurements are complete
            direct.stop()
    found["own_work_ms"] = rounded(own_work(estate, "ana", SQL, rounds))
    estate.store.close()
    return found


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    rounds = parser.parse_args().rounds
    with tempfile.TemporaryDirectory() as folder:
        found = measured(Path(folder), rounds)
    json.dump({"machine": machine(), "rounds": rounds, "p50_ms": found}, sys.stdout, indent=2)
    print()


if __name__ == "__main__":
    main()
