"""Fixtures for all tests: servers and a Spark session, each started once and only on demand.

A test that uses one of them is marked accordingly, and all tests with one mark run in the same
worker process. So there is only one of each, regardless of the number of workers.

A run is a function of its seed: with the same seed, every property draws the same examples, on
every machine and in any order of the tests.
"""

from __future__ import annotations

import functools
import gc
import itertools
import logging
import math
import os
import re
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest
import structlog
from _pytest.doctest import DoctestModule
from hypothesis import HealthCheck, settings
from hypothesis.internal.conjecture import providers
from hypothesis.internal.constants_ast import Constants
from structlog.dev import ConsoleRenderer, plain_traceback
from xdist.remote import Producer
from xdist.scheduler.loadgroup import LoadGroupScheduling

from tests import by_day, scheduling, servers

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

# A test with several of them runs in the worker of the first one.
_MARK_BY_FIXTURE = {
    "cluster": "cluster",
    "spark": "spark",
    "postgres_url": "postgres",
    "mariadb_url": "mariadb",
    "mysql_url": "mariadb",
}
_LONGEST = ("spark", "browser")
_FULLY_COVERED = (
    *(
        Path(__file__).parents[1] / place / package
        for place in ("tests", "src/lakewarden")
        for package in ("kernel", "models", "names")
    ),
    *Path(__file__).parent.glob("systems/*/test_names.py"),
)
DEFAULT_SEED = "1"

# Slow drawing depends on the machine, and the database of found examples on earlier runs.
settings.register_profile(
    "day",
    max_examples=25,
    deadline=None,
    database=None,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("night", settings.get_profile("day"), max_examples=500)
settings.load_profile("day")
# Hypothesis also draws constants of the modules imported so far, which differ between workers.
providers._get_local_constants = Constants


# By default it prints every local variable of an unexpected error: whole models, for a minute.
structlog.configure(processors=[ConsoleRenderer(exception_formatter=plain_traceback)])
_LOGS: Final = structlog.get_config()

# httpx tries to import it for each in-process request, and searches every folder of the path.
if find_spec("sniffio") is None:
    sys.modules["sniffio"] = None  # type: ignore[assignment]

# Tests have few rows: compiling a query, replanning it between stages, and splitting its input
# among tasks each take longer than the query. The cluster's tests use the default plans; work
# after a shuffle is split among tasks here, too.
_FOR_FEW_ROWS = {
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.files.minPartitionNum": "1",
    "spark.sql.leafNodeDefaultParallelism": "1",
}

# Every task receives all 1,100 settings of Hadoop, and copies them several times: a third of the
# cost of tasks with few rows. The files of the tests need only these settings.
_OF_HADOOP = (
    "fs.AbstractFileSystem.file.impl",
    "fs.defaultFS",
    "mapreduce.fileoutputcommitter.algorithm.version",
)

YOUNG = 20_000
"""The number of new objects that triggers a garbage collection; the default is 700."""


def pytest_xdist_make_scheduler(config: pytest.Config, log: Producer) -> LoadGroupScheduling:
    """See `ByMarkOrFile`."""
    return scheduling.ByMarkOrFile(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_protocol(item: pytest.Item, nextitem: pytest.Item | None) -> bool | None:
    """Run a test, without messages that nobody reads."""
    if not scheduling.is_brief(item.config):
        return None
    scheduling.run_briefly(item, nextitem)
    return True


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Give the properties a seed, the same in every worker."""
    if config.option.hypothesis_seed is None:
        config.option.hypothesis_seed = DEFAULT_SEED
    from lakewarden.cli import status_line

    # The progress messages of a slow verb depend on the machine.
    status_line.PATIENCE = math.inf


def pytest_report_header(config: pytest.Config) -> str:
    """Show the seed that reproduces the examples."""
    hashes = os.environ.get("PYTHONHASHSEED", "random")
    return f"examples: --hypothesis-seed={config.option.hypothesis_seed} PYTHONHASHSEED={hashes}"


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Collect tests without garbage collection: nearly all new objects stay to the end."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_collect_file() -> Generator[None, list[pytest.Collector], list[pytest.Collector]]:
    """Skip doctests in tests; doctests run in `src`, where they are documentation."""
    collectors = yield
    return [one for one in collectors if not isinstance(one, DoctestModule)]


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests by the fixtures that they use, and group the tests of each mark."""
    places = []
    for item in items:
        is_property = getattr(getattr(item, "obj", None), "is_hypothesis_test", False)
        if is_property:
            item.add_marker("property")
        elif _is_fully_covered(item.path):
            item.add_marker("coverage_gate")
        # A test may request a fixture by name, as a parameter.
        parameters = item.callspec.params.values() if hasattr(item, "callspec") else ()
        asked = {value for value in parameters if isinstance(value, str)}
        for fixture in _MARK_BY_FIXTURE.keys() & asked.union(getattr(item, "fixturenames", ())):
            item.add_marker(_MARK_BY_FIXTURE[fixture])
        marks = {mark.name for mark in item.iter_markers()}
        for mark in _MARK_BY_FIXTURE.values():
            if mark in marks:
                # The cluster's results are compared with those of the local session, which is warm.
                group = "spark" if mark == "cluster" else mark
                item.add_marker(pytest.mark.xdist_group(group))
                break
        places.append(_place_in_run(marks))
    by_day.leave_rest_to_the_night(items)
    # The longest groups begin first, so no worker runs one alone at the end.
    items[:] = [items[n] for n in sorted(range(len(items)), key=places.__getitem__)]


@functools.cache
def _is_fully_covered(file: Path) -> bool:
    return any(file.is_relative_to(folder) for folder in _FULLY_COVERED)


def _place_in_run(marks: set[str]) -> int:
    return next((n for n, mark in enumerate(_LONGEST) if mark in marks), len(_LONGEST))


def pytest_collection_finish() -> None:
    """Freeze modules and tests, which stay to the end, so the garbage collector skips them."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG)


def pytest_unconfigure() -> None:
    """Unfreeze them: at exit Python frees only unfrozen objects; DuckDB reports the others."""
    gc.unfreeze()


@pytest.fixture(scope="session", autouse=True)
def cheap_stores() -> Iterator[None]:
    """See `tests.cheap_stores`; imported here, when the tracer of coverage is active."""
    from tests.cheap_stores import cheap_stores

    with cheap_stores():
        yield


@pytest.fixture
def tmp_path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The test's own folder, numbered by a counter.

    pytest's own fixture lists the folders of all earlier tests, for each test again.
    """
    name = re.sub(r"\W", "_", request.node.name)[:30]
    folder = tmp_path_factory.getbasetemp() / "t" / f"{name}{next(_numbers)}"
    folder.mkdir(mode=0o700, parents=True)
    return folder


_numbers: Final = itertools.count()


@pytest.fixture
def logs_as_before() -> Iterator[None]:
    """For a test that configures the logs of this process: restores them afterwards."""
    root = logging.getLogger()
    handlers, level = root.handlers[:], root.level
    yield
    structlog.configure(**_LOGS)
    root.handlers[:] = handlers
    root.setLevel(level)


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    """The one local Spark session of the test run."""
    from lakewarden.pipeline.spark_session import spark_session

    session = spark_session("lakewarden tests", master="local[2]")
    for name, value in _FOR_FEW_ROWS.items():
        session.conf.set(name, value)
    hadoop = session.sparkContext._jsc.hadoopConfiguration()
    kept = {name: hadoop.get(name) for name in _OF_HADOOP}
    hadoop.clear()
    for name, value in kept.items():
        hadoop.set(name, value)
    yield session
    session.stop()


@pytest.fixture
def distributed(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> SparkSession:
    """The session, for a test in which Spark does all work, even on small inputs."""
    from tests.pipeline import spared

    spared.spare_nothing(monkeypatch)
    return spark


@pytest.fixture
def unstarted(monkeypatch: pytest.MonkeyPatch) -> SparkSession:
    """A session for jobs on small inputs: the test fails if it, or a verb, starts Spark."""
    from tests.pipeline import spared

    spared.spare(monkeypatch)
    return spared.session()


@pytest.fixture
def declared(spark: SparkSession) -> Iterator[SparkSession]:
    """The session, for a test that declares an export's tables; they are dropped afterwards."""
    from lakewarden.pipeline.export.schemas import FOLDER

    yield spark
    for row in spark.sql("SHOW VIEWS").collect():
        spark.catalog.dropTempView(row["viewName"])
    spark.conf.unset(FOLDER)


@pytest.fixture(scope="session")
def postgres_url() -> Iterator[str]:
    """SQLAlchemy URL of an empty PostgreSQL database, as a superuser."""
    yield from _running(servers.postgres)


@pytest.fixture(scope="session")
def mariadb_url() -> Iterator[str]:
    """SQLAlchemy URL of an empty MariaDB database, as an account with every right."""
    yield from _running(servers.mariadb)


@pytest.fixture(scope="session")
def mysql_url() -> Iterator[str]:
    """SQLAlchemy URL of an empty MySQL database, as an account with every right."""
    yield from _running(servers.mysql)


def _running(server: Callable[[], AbstractContextManager[str]]) -> Iterator[str]:
    try:
        started = server()
        url = started.__enter__()
    except servers.NoServer as error:
        pytest.skip(str(error))
    try:
        yield url
    finally:
        started.__exit__(None, None, None)
