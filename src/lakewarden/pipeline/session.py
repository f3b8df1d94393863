"""The Spark session that every job runs in.

Distinguishes a local run, which is tuned here, from a Spark that is configured elsewhere, which is
left unchanged: no master, no memory and no JVM flags are set then. Sends this package to its
workers. Imports PySpark only when a session is needed. A `Deferred` session is started by the first
job that has work for it.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias, cast

from lakewarden.kernel.errors import BadInput, Conflict, Unavailable, not_installed
from lakewarden.pipeline import class_archive, package
from lakewarden.pipeline.failing_store import of_failing_store
from lakewarden.pipeline.full_disk import of_full_disk
from lakewarden.pipeline.java import OLDEST, ensure_java
from lakewarden.pipeline.memory import machine_bytes
from lakewarden.pipeline.storage.location import uri_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    Session = SparkSession

Conf: TypeAlias = tuple[tuple[str, str], ...]
"""Settings of Spark: name and value."""

# Any of these variables means that Spark is configured outside: spark-submit, a shell, a cluster.
_SET_UP_OUTSIDE = (
    "MASTER",
    "PYSPARK_GATEWAY_PORT",
    "PYSPARK_SUBMIT_ARGS",
    "SPARK_CONF_DIR",
    "SPARK_HOME",
    "SPARK_REMOTE",
)

# The result of a job must not depend on where it runs: an unreadable file is an error, a number out
# of range is an error, and a written file is not split.
_ALWAYS = {
    "spark.sql.ansi.enabled": "true",
    "spark.sql.execution.arrow.pyspark.enabled": "true",
    "spark.sql.files.ignoreCorruptFiles": "false",
    "spark.sql.files.ignoreMissingFiles": "false",
    "spark.sql.files.maxRecordsPerFile": "0",
    "spark.sql.session.timeZone": "UTC",
}

# Absolute: a worker may import this from an archive below its working folder.
_LOG_SETTINGS = Path(__file__).absolute().with_name("log4j2.properties")

_S3A: Final = "spark.hadoop.fs.s3a"
_CALLED: Final = "An error occurred while calling"

CONNECT_SECONDS: Final = 20.0
"""How long a Spark Connect server may take to accept a connection. PySpark itself tries for many
minutes and reports nothing meanwhile."""

_RETRIES: Final = 6
"""How often a request to a Spark Connect server is retried: over about a minute. PySpark itself
retries for ten, and for ten more when the session ends."""

_CLIENTLESS: Final = {
    "S3AFileSystem not found": "S3",
    "GoogleHadoopFileSystem not found": "Google Cloud Storage",
    'No FileSystem for scheme "gs"': "Google Cloud Storage",
    "AzureBlobFileSystem not found": "Azure",
    'No FileSystem for scheme "abfss"': "Azure",
}
"""Hadoop's message for a store whose client is missing, and the store."""

_GONE: Final = "StatusCode.UNAVAILABLE"

_TRACE: Final = "Traceback (most recent call last):"
"""May follow the first words of a message from Spark, if a Python worker failed."""

_JAVA_OPTIONS: Final = "spark.driver.extraJavaOptions"

_ROOMY: Final = 8 << 30
"""Memory of a machine, in bytes, from which a local Spark gets two gigabytes: with one, it collects
garbage while it builds the hash tables of joins (decision 0117).
"""

_LOCAL = {
    # A local run is not reachable from other machines.
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.host": "127.0.0.1",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # Secrets that the event log leaves out; the first line is Spark's default.
    "spark.redaction.regex": (
        "(?i)secret|password|token|access[.]?key"
        "|passwd|credential|jaas|(account|api|private)[._-]?key"
    ),
    "spark.sql.shuffle.partitions": "2",
    _JAVA_OPTIONS: (
        # The default code cache for the quick compiler fills within half an hour of jobs; then
        # compiled code is discarded again and again.
        "-XX:ReservedCodeCacheSize=256m -XX:+UseSerialGC"
        # Out of memory, the driver would wait forever for a result that it has lost.
        " -XX:+ExitOnOutOfMemoryError"
        f" -Dlog4j2.configurationFile={_LOG_SETTINGS.as_uri()}"
    ),
}

_GIVES_UP: Final = {
    # One layer of retries is enough: the client repeats the requests of Amazon's library.
    f"{_S3A}.attempts.maximum": "0",
    f"{_S3A}.connection.timeout": "30s",
    # Its newer stream fails when a response is cut off; so do reads of several ranges at once.
    f"{_S3A}.input.stream.type": "classic",
    "spark.hadoop.parquet.hadoop.vectored.io.enabled": "false",
    f"{_S3A}.retry.interval": "1s",
    f"{_S3A}.retry.limit": "4",
    f"{_S3A}.retry.throttle.limit": "7",
}
"""How long Hadoop's client of S3 repeats a request: up to 20 s if the store refuses it, up to three
minutes if it does not respond. By default a store that is busy (503) is asked for more than a day.
"""

_MANY_ROWS: Final = 10_000_000
"""From this many rows of input on, Java's optimizing compiler pays back its own cost (decision
0126). Fewer rows are processed with the quick compiler alone.
"""

_QUICK_COMPILER: Final = "-XX:TieredStopAtLevel=1"


def spark_session(
    app_name: str,
    master: str | None = None,
    remote: str | None = None,
    event_log: Path | None = None,
    conf: Conf = (),
    rows: int = 0,
) -> SparkSession:
    """The current Spark session; creates one if there is none.

    `master` is a Spark master (`local[2]`, `spark://host:7077`), `remote` a Spark Connect address
    (`sc://host`); give at most one of them. With neither, the session is the one that the
    environment configures (spark-submit, `SPARK_HOME`, `SPARK_REMOTE`, …), else a local one on
    every core. `event_log` is a folder for Spark's event log, created if missing. `conf` are Spark
    settings by name; they override those made here. `rows` says about how many rows the session
    will process: it decides how a local Java compiles.

    Sets `JAVA_HOME` if it must start a Java. For a local run, sets `PYSPARK_PYTHON` unless it is
    set: workers then use this Python. Workers elsewhere are sent this package, unless it came with
    `--py-files`; its dependencies must be installed there. Raises `BadInput` for both `master` and
    `remote`, and for an `event_log` of a remote session; `Unavailable` if PySpark is not installed,
    no Java is found or no server accepts a connection at the Connect address.
    """
    _check_place(master, remote, event_log)
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise _without_pyspark(remote) from error
    java_home = _provide_java() if _starts_java(remote) else None
    if address := _connect_address(remote):
        _reach(address)

    settings = dict(_ALWAYS)
    archive_options: tuple[str, ...] = ()
    is_ours = _is_ours(master or remote)
    if is_ours:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    if is_ours and not remote:  # a Connect client may only set query options
        if java_home is not None and not _has_java() and _JAVA_OPTIONS not in dict(conf):
            archive_options = class_archive.java_options(java_home)
        settings |= _LOCAL | _GIVES_UP
        if rows < _MANY_ROWS:
            settings[_JAVA_OPTIONS] += f" {_QUICK_COMPILER}"
        settings["spark.driver.memory"] = "2g" if machine_bytes() >= _ROOMY else "1g"
    if event_log is not None:
        event_log.mkdir(parents=True, exist_ok=True)
        settings |= {
            "spark.eventLog.enabled": "true",
            "spark.eventLog.dir": uri_of(event_log),
            "spark.eventLog.rolling.enabled": "false",
        }
    settings |= {**_object_stores(), **dict(conf)}
    java_options = settings.get(_JAVA_OPTIONS, "")
    if archive_options:
        settings[_JAVA_OPTIONS] = " ".join((java_options, *map(_quoted, archive_options)))
    if address:
        # Without settings, so without a request: the first one has the limits of `_retry` too.
        _retry(SparkSession.builder.remote(address).getOrCreate(), _RETRIES)
    builder = SparkSession.builder.appName(app_name)
    if master:
        builder = builder.master(master)
    if remote:
        builder = builder.remote(remote)
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = _started(builder, archive_options, java_options)
    if not is_ours:
        package.send(session)
    return session


def _started(
    builder: SparkSession.Builder, archive_options: Sequence[str], java_options: str
) -> SparkSession:
    """The session; if Java does not start with its archive, it has the other options alone."""
    from pyspark.errors import PySparkRuntimeError

    try:
        return builder.getOrCreate()
    except PySparkRuntimeError:
        if not class_archive.discard(archive_options):
            raise
        return builder.config(_JAVA_OPTIONS, java_options).getOrCreate()


Place = tuple[str | None, str | None, Path | None, Conf]
"""Where a session should run: master, remote, event log, settings."""

_ANYWHERE: Final[Place] = (None, None, None, ())

_OPEN: ContextVar[tuple[SparkSession, Place] | None] = ContextVar("open", default=None)
"""The session of the surrounding block, and its place."""


@contextmanager
def session(
    name: str,
    master: str | None = None,
    remote: str | None = None,
    event_log: Path | None = None,
    conf: Conf = (),
) -> Iterator[SparkSession]:
    """A session for jobs, see `spark_session`; stopped at the end if it was started here.

    The first job that has work for Spark starts it, and says so on standard error. Jobs on small
    estates have no such work, and need no PySpark. A nested session reuses the outer one; raises
    `BadInput` if the two should run in different places. Any failure of Spark is raised as
    `Unavailable` with the first line of its message; so is a conflict with another process that
    works in the same folder.
    """
    around, place = _OPEN.get(), (master, remote, event_log, conf)
    try:
        if around is None:
            with _new_session(name, place) as spark:
                yield spark
        elif place in (_ANYWHERE, around[1]):
            yield around[0]
        else:
            raise BadInput("the jobs of one run share one session: name one master or remote")
    except Conflict as error:  # the caller can retry
        raise Unavailable(str(error)) from error
    except _errors_of_spark() as error:
        raise Unavailable(f"spark failed: {_reason(error)}") from error


@contextmanager
def _new_session(name: str, place: Place) -> Iterator[SparkSession]:
    master, remote, event_log, _ = place
    _check_place(master, remote, event_log)
    has_pyspark = find_spec("pyspark") is not None
    if not has_pyspark and (master or remote):
        raise _without_pyspark(remote)
    is_shared = has_pyspark and _is_active()

    def start() -> SparkSession:
        if not has_pyspark:
            raise _without_pyspark(remote)
        print("starting Spark …", file=sys.stderr)
        try:
            return spark_session(name, *place, rows=spark.rows)
        except _errors_of_spark():
            if not is_shared:
                _stop_half_started()
            raise

    spark = Deferred(start, is_here=_is_ours(master or remote))
    token = _OPEN.set((cast("SparkSession", spark), place))
    try:
        yield cast("SparkSession", spark)
    finally:
        _OPEN.reset(token)
        if spark.started is not None and not is_shared:
            _stop(spark.started)


def _stop_half_started() -> None:
    """Stops a Connect session that could not be configured.

    Its client would ask the server for more when the process ends, and may block there for ever.
    """
    from pyspark.sql import SparkSession

    if (active := SparkSession.getActiveSession()) is not None:
        _stop(active)


def _stop(session: SparkSession) -> None:
    if is_remote(session):
        _retry(session, 0)  # do not wait for a server that is gone
    # A session that is already lost must not hide why the job failed.
    with suppress(ConnectionError, *_errors_of_spark()):
        session.stop()


def _retry(session: SparkSession, times: int) -> None:
    from pyspark.sql.connect.client.retries import DefaultPolicy

    session.client.set_retry_policies([DefaultPolicy(max_retries=times)])


def _without_pyspark(remote: str | None) -> Unavailable:
    return not_installed("pyspark", "connect" if _connect_address(remote) else "spark")


def _reason(error: Exception) -> str:
    """Spark's own reason for the failure, and what to do about a missing part."""
    lines = str(error).strip().splitlines() or [type(error).__name__]
    # The first line about a call says only that it failed.
    first = lines[1].lstrip(": ") if lines[0].startswith(_CALLED) and lines[1:] else lines[0]
    if first.endswith(_TRACE):  # the error follows the calls, which are indented
        at = next(number for number, line in enumerate(lines) if line.endswith(first))
        behind = lines[at + 1 :]
        first = first.removesuffix(_TRACE) + next((s for s in behind if s[:1].strip()), "")
    if reason := of_full_disk(str(error)) or of_failing_store(str(error)):
        return reason
    if _GONE in str(error):
        return "the Spark Connect server does not answer; start it and run the command again"
    store = next((store for said, store in _CLIENTLESS.items() if said in first), None)
    if store is not None:
        first += f"; add Hadoop's client of {store}, see `--spark-conf` and docs/clusters.md"
    return first


def _object_stores() -> dict[str, str]:
    """Hadoop's settings for S3, from the variable that other clients use."""
    endpoint = os.environ.get("AWS_ENDPOINT_URL")
    if not endpoint:
        return {}
    return {
        f"{_S3A}.endpoint": endpoint,
        f"{_S3A}.endpoint.region": os.environ.get("AWS_REGION", "us-east-1"),
        f"{_S3A}.path.style.access": "true",
    }


def _is_active() -> bool:
    from pyspark.sql import SparkSession

    return SparkSession.getActiveSession() is not None


def is_lost(spark: SparkSession | Deferred) -> bool:
    """Whether a session that was started no longer works, even for a small job.

    Its Java has ended, or its Connect server is gone. Starts no session.
    """
    started = spark.started if isinstance(spark, Deferred) else spark
    try:
        return started is not None and started.range(1).count() != 1
    except Exception:  # noqa: BLE001 — a lost session raises many kinds of errors
        return True


def _errors_of_spark() -> tuple[type[Exception], ...]:
    """The exceptions that Spark raises; none without PySpark."""
    if find_spec("pyspark") is None:
        return ()
    from py4j.protocol import Py4JError  # type: ignore[import-untyped]  # theirs has none
    from pyspark.errors import PySparkException

    return PySparkException, Py4JError


class Deferred:
    """Stands for a session, which is started when any attribute is read.

    A job that finishes without Spark, as on small estates, therefore starts no Java. `start` makes
    the session; `is_here` says whether its tasks will run on this machine alone. `rows` is the size
    of the largest input so far, see `expect`.
    """

    def __init__(self, start: Callable[[], SparkSession], *, is_here: bool) -> None:
        self._start = start
        self._session: SparkSession | None = None
        self._stage: tuple[str, str] | None = None
        self.is_here = is_here
        self.rows = 0

    @property
    def started(self) -> SparkSession | None:
        """The session, if it was started."""
        return self._session

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # lookups by copy and pickle must not start Java
            raise AttributeError(name)
        return getattr(self.begin(), name)

    def begin(self) -> SparkSession:
        """The session; starts it if needed."""
        if self._session is None:
            self._session = self._start()
            _mark(self._session, self._stage)
        return self._session

    def mark(self, stage: tuple[str, str] | None) -> None:
        """See `stage_of`; a session that is not started yet is marked when it starts."""
        self._stage = stage
        if self._session is not None:
            _mark(self._session, stage)


def begin(spark: SparkSession | Deferred) -> None:
    """Starts a session that work would start anyway, while other steps run in parallel."""
    if isinstance(spark, Deferred):
        spark.begin()


def expect(spark: SparkSession | Deferred, rows: int) -> None:
    """Says how many rows the session will process: if it is not started yet, its Java fits them."""
    if isinstance(spark, Deferred):
        spark.rows = max(spark.rows, rows)


@contextmanager
def stage_of(spark: SparkSession, job: str, stage: str) -> Iterator[None]:
    """While the block runs, Spark's work is labelled with the name of the stage of a job.

    In Spark's UI and its event log, the label is the description of Spark's jobs and stages, in the
    job group `lakewarden JOB`; on Connect it is a tag of the operations. Starts no session.
    """
    _mark(spark, (job, stage))
    try:
        yield
    finally:
        _mark(spark, None)


def _mark(spark: SparkSession | Deferred, stage: tuple[str, str] | None) -> None:
    if isinstance(spark, Deferred):
        spark.mark(stage)
    elif is_remote(spark):
        spark.clearTags()
        if stage is not None:
            spark.addTag(f"lakewarden {stage[0]}: {stage[1]}")
    else:
        job, name = (None, None) if stage is None else (f"lakewarden {stage[0]}", ": ".join(stage))
        for key, value in (("spark.jobGroup.id", job), ("spark.job.description", name)):
            # None removes a property; the declared type omits None.
            spark.sparkContext.setLocalProperty(key, value)  # type: ignore[arg-type]


def is_remote(spark: SparkSession | Deferred) -> bool:
    """Whether the session belongs to a Spark Connect server. Starts it if needed."""
    session = spark.begin() if isinstance(spark, Deferred) else spark
    return type(session).__module__.startswith("pyspark.sql.connect")


def runs_locally(spark: SparkSession | Deferred) -> bool:
    """Whether the tasks of a session run on this machine alone. Starts no session."""
    if isinstance(spark, Deferred):
        return spark.is_here
    return not is_remote(spark) and _is_local(spark.conf.get("spark.master", None))


def _check_place(master: str | None, remote: str | None, event_log: Path | None) -> None:
    if master and remote:
        raise BadInput(f"expected a master or a remote, got both: `{master}`, `{remote}`")
    if event_log is not None and (remote or os.environ.get("SPARK_REMOTE")):
        message = "a Spark Connect server writes its own event log: set `spark.eventLog.dir` there"
        raise BadInput(message)


def _is_ours(address: str | None) -> bool:
    """Whether the run is local, or will be, and Spark is not configured elsewhere."""
    is_local = address is None or _is_local(address)
    return is_local and not any(os.environ.get(name) for name in _SET_UP_OUTSIDE)


def _is_local(address: str | None) -> bool:
    return address is not None and (address == "local" or address.startswith("local["))


def _connect_address(remote: str | None) -> str | None:
    """The address of the Spark Connect server in use; None if there is none."""
    address = remote or os.environ.get("SPARK_REMOTE", "")
    return address if address.startswith("sc://") else None


def _reach(address: str) -> None:
    """Raises `Unavailable` unless a server accepts a connection within `CONNECT_SECONDS`."""
    try:
        import grpc
        from pyspark.sql.connect.client import DefaultChannelBuilder
    except ImportError as error:
        raise not_installed("grpc", "connect") from error
    # The part after the host may be a token.
    server = address.partition(";")[0].rstrip("/")
    channel = DefaultChannelBuilder(address).toChannel()
    try:
        grpc.channel_ready_future(channel).result(timeout=CONNECT_SECONDS)
    except grpc.FutureTimeoutError as error:
        message = f"no Spark Connect server accepts connections at `{server}`"
        raise Unavailable(f"{message}; is it running, and does TLS (`use_ssl`) match?") from error
    finally:
        channel.close()


def _starts_java(remote: str | None) -> bool:
    """Whether PySpark will start a Java itself: not below spark-submit, not for a server."""
    return _connect_address(remote) is None and "PYSPARK_GATEWAY_PORT" not in os.environ


def _has_java() -> bool:
    """Whether this process has started its one Java."""
    from pyspark import SparkContext

    return SparkContext._gateway is not None


def _quoted(option: str) -> str:
    """An option, quoted for Spark's list of options: a path may have spaces."""
    return '"{}"'.format(option.replace("\\", "\\\\").replace('"', '\\"'))


def _provide_java() -> Path:
    home = ensure_java()
    if home is None:
        raise Unavailable(
            f"no java of version {OLDEST} or later was found; install one"
            " (on Debian or Ubuntu: `apt-get install openjdk-17-jre-headless`)"
            " or name it in `JAVA_HOME`"
        )
    os.environ["JAVA_HOME"] = str(home)
    return home
