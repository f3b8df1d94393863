"""A real Spark cluster of several processes, only on this machine, and a Connect server on it."""

from __future__ import annotations

import os
import re
import shutil
import signal
import subprocess
import sys
import sysconfig
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pyspark

from lakewarden.pipeline.java import ensure_java
from tests.servers import free_port

WORKERS = 2
_START_SECONDS = 300
_LOOPBACK = "127.0.0.1"
_SPARK = Path(pyspark.__file__).parent
_QUICK_JAVA = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC"
_DEFAULTS = {
    "spark.driver.bindAddress": _LOOPBACK,
    "spark.driver.host": _LOOPBACK,
    "spark.driver.memory": "600m",
    "spark.executor.memory": "500m",
    # Compiling a query takes longer than any query here: the tests have few rows.
    "spark.sql.codegen.factoryMode": "NO_CODEGEN",
    "spark.sql.codegen.wholeStage": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.ui.enabled": "false",
}
_SETTINGS = "spark.conf"
_ARCHIVE = "classes.jsa"

# The workers' Python has the libraries that are installed here, but not this package.
_BARE_PYTHON = """\
#!/bin/sh
PYTHONPATH="$PYTHONPATH:{libraries}" exec {python} -S "$@"
"""


class NotStarted(Exception):
    """A process of the cluster ended, or was not ready in time; the message contains its log."""


class Application(NamedTuple):
    """The master's record of an application: its name, and the workers with an executor of it."""

    name: str
    workers: tuple[str, ...]


@dataclass
class Process:
    """A process that leads its own group, so all its children end with it."""

    log: Path
    process: subprocess.Popen[bytes]

    @classmethod
    def started(
        cls, words: list[str], log: Path, environment: dict[str, str], out: Path | None = None
    ) -> Process:
        """Runs a command; standard output goes to `out`, everything else to `log`."""
        with log.open("ab") as errors, (out or log).open("ab") as output:
            process = subprocess.Popen(
                words,
                stdout=output,
                stderr=errors,
                stdin=subprocess.DEVNULL,
                env=environment,
                start_new_session=True,
            )
        return cls(log, process)

    def kill(self) -> None:
        """Kills it and all its children."""
        if self.process.returncode is None:
            os.killpg(self.process.pid, signal.SIGKILL)
            self.process.wait()

    def wait_for(self, ready: Callable[[str], object]) -> None:
        """Waits until `ready` is true for its log."""
        deadline = time.monotonic() + _START_SECONDS
        while time.monotonic() < deadline and self.process.poll() is None:
            if ready(self.text()):
                return
            time.sleep(0.05)
        raise NotStarted(f"{self.process.args!r} is not ready:\n{self.text()[-5000:]}")

    def text(self) -> str:
        """Its log."""
        return self.log.read_text("utf-8", errors="replace")


@dataclass
class Cluster:
    """A master and its workers, with one core each."""

    folder: Path
    master: Process
    address: str
    environment: dict[str, str]
    workers: dict[int, Process] = field(default_factory=dict)

    def start_worker(self, number: int) -> None:
        """Starts a worker, and waits until it is registered with the master."""
        known = self.master.text().count("Registering worker")
        words = ["org.apache.spark.deploy.worker.Worker", "--host", _LOOPBACK, "--webui-port", "0"]
        words += ["--cores", "1", "--memory", "700m"]
        words += ["--work-dir", str(self.folder / f"work-{number}"), self.address]
        log = self.folder / f"worker-{number}.log"
        self.workers[number] = Process.started(_class(*words), log, self.environment)
        self.master.wait_for(lambda said: said.count("Registering worker") > known)

    def kill_worker(self, number: int) -> None:
        """Kills a worker, with its executors and their Python."""
        self.workers[number].kill()

    def applications(self) -> list[Application]:
        """The applications that were registered with the master, in order."""
        said = self.master.text()
        names = re.findall(r"Registered app (.+) with ID (\S+)", said)
        placed = re.findall(r"Launching executor (\S+)/\d+ on worker (\S+)", said)
        return [
            Application(name, tuple(sorted({worker for of, worker in placed if of == id})))
            for name, id in names
        ]

    def configured(self) -> dict[str, str]:
        """The environment of a Spark that is not submitted: its files set the cluster's needs."""
        folder = self.folder / "defaults"
        folder.mkdir(exist_ok=True)
        shutil.copyfile(self.folder / _SETTINGS, folder / "spark-defaults.conf")
        others = {n: v for n, v in self.environment.items() if n != "SPARK_HOME"}
        return others | {"SPARK_CONF_DIR": str(folder)}

    @contextmanager
    def connect(self) -> Iterator[str]:
        """A Connect server with jobs on the cluster; yields its address."""
        with self.connect_server() as (address, _):
            yield address

    @contextmanager
    def connect_server(self) -> Iterator[tuple[str, Process]]:
        """Like `connect`, with the process of the server."""
        port = free_port()
        words = ["--name", "connect", "--conf", f"spark.connect.grpc.binding.address={_LOOPBACK}"]
        words += ["--conf", f"spark.connect.grpc.binding.port={port}"]
        words += ["--class", "org.apache.spark.sql.connect.service.SparkConnectServer"]
        # Spark also applies the memory setting of a master to this server.
        environment = {n: v for n, v in self.environment.items() if n != "SPARK_DAEMON_MEMORY"}
        server = Process.started(self.submit(*words), self.folder / "connect.log", environment)
        try:
            server.wait_for(lambda said: "Spark Connect server started" in said)
            yield f"sc://{_LOOPBACK}:{port}", server
        finally:
            server.kill()

    def submit(self, *words: str) -> list[str]:
        """The command that submits an application to the cluster."""
        return _submit(self.folder, "--master", self.address, *words)


@contextmanager
def cluster(folder: Path, rehearsal: Sequence[str] = ()) -> Iterator[Cluster]:
    """A cluster with all its workers; its logs are in `folder`.

    `rehearsal` is an application that runs first, alone: later ones load the classes that it needed
    from an archive, which is faster. It is worthwhile for many runs.
    """
    environment = _environment(folder)
    if rehearsal:
        _rehearse(folder, environment, rehearsal)
    port = free_port()
    words = ["org.apache.spark.deploy.master.Master", "--host", _LOOPBACK, "--webui-port", "0"]
    words = _class(*words, "--port", str(port))
    with ExitStack() as ends:
        master = Process.started(words, folder / "master.log", environment)
        ends.callback(master.kill)
        found = Cluster(folder, master, f"spark://{_LOOPBACK}:{port}", environment)
        master.wait_for(lambda said: "New state: ALIVE" in said)
        for number in range(WORKERS):
            ends.callback(partial(_kill, found, number))
            found.start_worker(number)
        yield found


def _kill(found: Cluster, number: int) -> None:
    if number in found.workers:
        found.kill_worker(number)


def _rehearse(folder: Path, environment: dict[str, str], words: Sequence[str]) -> None:
    keeping = f"{_QUICK_JAVA} -XX:ArchiveClassesAtExit={folder / _ARCHIVE} -Xlog:disable"
    words = _submit(folder, "--master", "local[2]", "--driver-java-options", keeping, *words)
    run = Process.started(words, folder / "rehearsal.log", environment)
    if run.process.wait():
        raise NotStarted(f"the rehearsal failed:\n{run.text()[-5000:]}")
    _write_settings(folder, f"{_QUICK_JAVA} -XX:SharedArchiveFile={folder / _ARCHIVE}")


def _submit(folder: Path, *words: str) -> list[str]:
    program = str(_SPARK / "bin" / "spark-submit")
    return [program, "--properties-file", str(folder / _SETTINGS), *words]


def _write_settings(folder: Path, java: str) -> None:
    """The settings of every application on the cluster, and its Java options."""
    options = {f"spark.{part}.extraJavaOptions": java for part in ("driver", "executor")}
    lines = [f"{name} {value}\n" for name, value in {**_DEFAULTS, **options}.items()]
    (folder / _SETTINGS).write_text("".join(lines))


def _class(*words: str) -> list[str]:
    return [str(_SPARK / "bin" / "spark-class"), *words]


def _environment(folder: Path) -> dict[str, str]:
    """The environment of the cluster and of jobs submitted to it."""
    nothing = folder / "conf"  # it is on the class path, so it is empty
    nothing.mkdir(parents=True)
    _write_settings(folder, _QUICK_JAVA)
    java = ensure_java()
    if java is None:
        raise NotStarted("there is no Java")
    return unconfigured() | {
        "JAVA_HOME": str(java),
        "PYSPARK_DRIVER_PYTHON": sys.executable,
        "PYSPARK_PYTHON": str(_bare_python(folder)),
        "SPARK_CONF_DIR": str(nothing),
        "SPARK_DAEMON_JAVA_OPTS": _QUICK_JAVA,
        "SPARK_DAEMON_MEMORY": "128m",
        "SPARK_HOME": str(_SPARK),
        "SPARK_LOCAL_DIRS": str(folder / "local"),
        "SPARK_LOCAL_IP": _LOOPBACK,
    }


def unconfigured() -> dict[str, str]:
    """The environment without variables that configure Spark."""
    names = ("SPARK_", "PYSPARK_", "JAVA_", "PYTHON")
    inherited = {n: v for n, v in os.environ.items() if not n.startswith(names) and n != "MASTER"}
    return inherited | {"PYTHONUNBUFFERED": "1"}


def _bare_python(folder: Path) -> Path:
    program = folder / "python"
    libraries = sysconfig.get_path("purelib")
    program.write_text(_BARE_PYTHON.format(libraries=libraries, python=sys.executable))
    program.chmod(0o755)
    return program
