"""Makes a Spark session, for a local run or for a Spark that is configured elsewhere.

A local run is tuned here. A Spark that is configured elsewhere is left unchanged: no master, no
memory and no JVM flags are set then. Sends this package to its workers. Imports PySpark only when a
session is made.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from lakewarden.kernel.errors import BadInput, Unavailable, not_installed
from lakewarden.pipeline import class_archive, package
from lakewarden.pipeline.java import OLDEST, ensure_java
from lakewarden.pipeline.memory import machine_bytes
from lakewarden.pipeline.storage.location import uri_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

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

CONNECT_SECONDS: Final = 20.0
"""How long a Spark Connect server may take to accept a connection. PySpark itself tries for many
minutes and reports nothing meanwhile."""

_RETRIES: Final = 6
"""How often a request to a Spark Connect server is retried: over about a minute. PySpark itself
retries for ten, and for ten more when the session ends."""

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
    check_place(master, remote, event_log)
    try:
        from pyspark.sql import SparkSession
    except ImportError as error:
        raise without_pyspark(remote) from error
    java_home = _provide_java() if _starts_java(remote) else None
    is_tuned = is_tuned_here(master or remote)
    if is_tuned:
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    settings, archive_options = dict(_ALWAYS), tuple[str, ...]()
    if is_tuned and not remote:  # a Connect client may only set query options
        settings |= _local_settings(rows)
        archive_options = _archive_options(java_home, conf)
    if event_log is not None:
        settings |= _event_log_settings(event_log)
    settings |= {**_object_stores(), **dict(conf)}
    java_options = settings.get(_JAVA_OPTIONS, "")
    if archive_options:
        settings[_JAVA_OPTIONS] = " ".join((java_options, *map(_quoted, archive_options)))
    if address := _connect_address(remote):
        _connect(address)
    builder = SparkSession.builder.appName(app_name)
    if master:
        builder = builder.master(master)
    if remote:
        builder = builder.remote(remote)
    for name, value in settings.items():
        builder = builder.config(name, value)
    session = _started(builder, archive_options, java_options)
    if not is_tuned:
        package.send(session)
    return session


def _local_settings(rows: int) -> dict[str, str]:
    """The settings of a local run that processes so many rows."""
    settings = _LOCAL | _GIVES_UP
    if rows < _MANY_ROWS:
        settings[_JAVA_OPTIONS] += f" {_QUICK_COMPILER}"
    settings["spark.driver.memory"] = "2g" if machine_bytes() >= _ROOMY else "1g"
    return settings


def _archive_options(java_home: Path | None, conf: Conf) -> tuple[str, ...]:
    """The options of Java for an archive of its classes; none if Java runs, or has own options."""
    if java_home is None or _has_java() or _JAVA_OPTIONS in dict(conf):
        return ()
    return class_archive.java_options(java_home)


def _event_log_settings(folder: Path) -> dict[str, str]:
    folder.mkdir(parents=True, exist_ok=True)
    return {
        "spark.eventLog.enabled": "true",
        "spark.eventLog.dir": uri_of(folder),
        "spark.eventLog.rolling.enabled": "false",
    }


def _connect(address: str) -> None:
    """Opens the session of a Connect server. Raises `Unavailable` if there is none."""
    from pyspark.sql import SparkSession

    _reach(address)
    # Without settings, so without a request: the first one has the limit of retries, too.
    limit_retries(SparkSession.builder.remote(address).getOrCreate(), _RETRIES)


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


def limit_retries(session: SparkSession, times: int) -> None:
    """Limits how often a session repeats a request to its Connect server."""
    from pyspark.sql.connect.client.retries import DefaultPolicy

    session.client.set_retry_policies([DefaultPolicy(max_retries=times)])


def without_pyspark(remote: str | None) -> Unavailable:
    """The error without PySpark: it names the extra."""
    return not_installed("pyspark", "connect" if _connect_address(remote) else "spark")


def check_place(master: str | None, remote: str | None, event_log: Path | None) -> None:
    """Raises `BadInput` if a session cannot have all of these."""
    if master and remote:
        raise BadInput(f"expected a master or a remote, got both: `{master}`, `{remote}`")
    if event_log is not None and (remote or os.environ.get("SPARK_REMOTE")):
        message = "a Spark Connect server writes its own event log: set `spark.eventLog.dir` there"
        raise BadInput(message)


def is_tuned_here(address: str | None) -> bool:
    """Whether the run is local, or will be, and Spark is not configured elsewhere."""
    may_be_local = address is None or is_local(address)
    return may_be_local and not any(os.environ.get(name) for name in _SET_UP_OUTSIDE)


def is_local(address: str | None) -> bool:
    """Whether the tasks of a master run in its own process."""
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
