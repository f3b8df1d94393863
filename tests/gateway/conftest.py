"""A realm for all tests of the gateway."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from tests.gateway import spark_server
from tests.gateway.estate import Estate
from tests.gateway.running import Running, served


@pytest.fixture(scope="session")
def estate(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Estate]:
    made = Estate(tmp_path_factory.mktemp("gateway"))
    yield made
    made.store.close()


@pytest.fixture(scope="session")
def spark_port(spark: SparkSession, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of a Spark Connect server, in the JVM of the tests' session."""
    with spark_server.inside(spark, tmp_path_factory.mktemp("spark-connect")) as port:
        yield port


@pytest.fixture(scope="session")
def gateway(estate: Estate, spark_port: int) -> Iterator[Running]:
    """A gateway in front of the Spark Connect server."""
    with served(estate, spark_port) as running:
        yield running
