"""Credentials in addresses, options and variables never appear in a job's outputs."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

import pytest

from lakewarden.cli import main
from tests.pipeline.faults import estate
from tests.pipeline.faults.estate import FIRST, JOBS

pytest.importorskip("openlineage.client")

WORD: Final = "pl4nted-w0rd"
_LAKE: Final = ("--metalake", "lk", "--catalog", "c")
_CONF: Final = (
    *("--spark-conf", f"spark.hadoop.fs.s3a.secret.key={WORD}"),
    *("--spark-conf", f"spark.hadoop.fs.azure.account.key.box={WORD}"),
    *("--spark-conf", f"spark.hadoop.fs.gs.auth.service.account.private.key={WORD}"),
    *("--spark-conf", f"spark.ssl.keyPassword={WORD}"),
)
_PLAIN: Final = ("--spark-conf", "spark.eventLog.compress=false")
_JAAS: Final = f"kafka.sasl.jaas.config=Login required username='x' password='{WORD}';"
_HERE: Final = "127.0.0.1:1"

COMMANDS: Final[Mapping[str, tuple[str, ...]]] = {
    "a database": (
        *("ingest", f"postgresql+psycopg://ana:{WORD}@{_HERE}/x", "--source", "sql"),
        *_LAKE,
    ),
    "a word with signs of an address": (
        *("ingest", f"postgresql+psycopg://ana:a/{WORD}#b?c@{_HERE}/x", "--source", "sql"),
        *_LAKE,
    ),
    "a database that is no address": (
        *("ingest", f"postgresql://ana:{WORD}@host:port/x", "--source", "sql"),
        *_LAKE,
    ),
    "a driver that is not there": (
        *("ingest", f"frobnicate://ana:{WORD}@{_HERE}/x", "--source", "sql"),
        *_LAKE,
    ),
    "a database by a variable": ("ingest", "env:SOURCE_URL", "--source", "sql", *_LAKE),
    "a metastore": (
        *("ingest", f"postgresql+psycopg://ana:{WORD}@{_HERE}/x", "--source", "hive-metastore"),
        *("--metalake", "lk"),
    ),
    "a store": ("ingest", f"postgresql+psycopg://ana:{WORD}@{_HERE}/x", "--source", "store"),
    "a store at no port": ("ingest", f"postgresql://ana:{WORD}/@h:x/y", "--source", "store"),
    "a running system": ("ingest", f"http://ana:{WORD}@{_HERE}", "--source", "gravitino"),
    "a system at no address": ("ingest", f"ftp://ana:{WORD}@{_HERE}", "--source", "gravitino"),
    "a query": ("ingest", f"http://{_HERE}/?token={WORD}", "--source", "datahub"),
    "an Iceberg catalog": (
        *("ingest", f"https://ana:{WORD}@{_HERE}", "--source", "iceberg-rest"),
        *_LAKE,
    ),
    "a file that is an address": (
        *("ingest", f"http://ana:{WORD}@{_HERE}/x", "--source", "csv", "--model", "gravitino"),
    ),
    "a bucket": (
        *("ingest", f"s3://ana:{WORD}@bucket/x", "--source", "csv", "--model", "gravitino"),
    ),
    "a store that does not answer": (
        *("ingest", "s3://bucket/x", "--source", "csv", "--model", "gravitino"),
    ),
    "Spark Connect": (
        *("index", "{place}/lake", "--remote", f"sc://{_HERE}/;use_ssl=true;token={WORD}"),
    ),
    "a queue": (*("stream", "--index", "{place}/index", "--source", "kafka", "--option", _JAAS),),
    "a log in a database": (
        *("unused", "{place}/index", "--days", "9"),
        *("--log", f"usage:postgresql+psycopg://ana:{WORD}@{_HERE}/x"),
    ),
    "a log that is an address": (
        *("unused", "{place}/index", "--days", "9"),
        *("--log", f"postgresql://ana:{WORD}@host/x"),
    ),
    "a catalog of tables": (
        *("index", "{place}/lake", "--table-format", "iceberg"),
        *("--table-catalog", "{place}/catalog.toml"),
    ),
    "settings of Spark": ("index", "{place}/lake", *_CONF),
}
"""Commands with the secret word in their arguments, most of which fail."""

_NO_OUT: Final = ("a queue",)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    place = tmp_path_factory.mktemp("estate")
    estate.make(place, FIRST)
    catalog = f'type = "rest"\nuri = "http://ana:{WORD}@{_HERE}"\ncredential = "ana:{WORD}"\n'
    (place / "catalog.toml").write_text(catalog, "utf-8")
    return place


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The file of lineage events, in an environment with the secret word."""
    file = tmp_path / "events.jsonl"
    variables = {
        "OPENLINEAGE__TRANSPORT__TYPE": "file",
        "OPENLINEAGE__TRANSPORT__LOG_FILE_PATH": str(file),
        "OPENLINEAGE__TRANSPORT__APPEND": "true",
        "SOURCE_URL": f"postgresql+psycopg://ana:{WORD}@{_HERE}/x",
        "LAKEWARDEN_SOURCE_TOKEN": WORD,
        "AWS_ACCESS_KEY_ID": "key",
        "AWS_SECRET_ACCESS_KEY": WORD,
        "AWS_SESSION_TOKEN": WORD,
        "AWS_REGION": "us-east-1",
        "AWS_ENDPOINT_URL": f"http://{_HERE}",
    }
    for name, value in variables.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr("lakewarden.pipeline.spark_session.CONNECT_SECONDS", 0.2)
    monkeypatch.setattr("lakewarden.pipeline.extract.original.TRIES", 1)
    return file


def _holding(folder: Path) -> list[str]:
    """The files below a folder that contain the secret word."""
    files = (file for file in sorted(folder.rglob("*")) if file.is_file())
    return [str(file) for file in files if WORD.encode() in file.read_bytes()]


def _words(name: str, made: Path, out: Path) -> list[str]:
    words = [word.replace("{place}", str(made)) for word in COMMANDS[name]]
    return words if name in _NO_OUT else [*words, "--out", str(out)]


@pytest.mark.by_day(8)
@pytest.mark.parametrize("name", COMMANDS)
def test_no_secret_is_said_or_left(
    name: str, made: Path, told: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    words = _words(name, made, tmp_path / "out")
    code = main(["pipeline", *words, *(() if name in _NO_OUT else ("--format", "json"))])
    said = capfd.readouterr()
    assert WORD not in said.out + said.err
    assert "Traceback" not in said.err
    assert (code == 0) is (name == "settings of Spark"), said.err
    assert _holding(tmp_path) == []


@pytest.mark.by_day(1)
@pytest.mark.parametrize("name", ["a database", "a queue", "settings of Spark", "Spark Connect"])
def test_a_run_of_several_jobs_prints_and_leaves_no_secret(
    name: str, made: Path, told: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    words = _words(name, made, tmp_path / "out")
    lake = ["index", str(made / "lake"), "--out", str(tmp_path / "other")]
    assert main(["pipeline", *words, "+", *lake]) in (0, 2, 3)
    assert WORD not in "".join(capfd.readouterr())
    assert any(WORD in word for word in words)
    assert _holding(tmp_path) == []


def test_a_gateway_that_does_not_answer_is_named_without_it(
    made: Path, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "jobs.toml"
    job = f'[[job]]\nverb = "index"\narguments = ["{made}/lake"]\nout = "{tmp_path}/out"\n'
    file.write_text(job, "utf-8")
    for gateway in (f"http://ana:{WORD}@{_HERE}", f"ana:{WORD}@{_HERE}"):
        words = [str(file), "--every", "1s", "--rounds", "1", "--push-gateway", gateway]
        assert main(["pipeline", "watch", *words]) == 0
        said = capfd.readouterr().err
        assert "metrics were not written" in said
        assert WORD not in said


@pytest.fixture
def spark_home() -> dict[str, str]:
    """The environment of a command that starts its own Spark."""
    names = ("SPARK_", "PYSPARK_")
    return {n: v for n, v in os.environ.items() if not n.startswith(names)}


@pytest.mark.nightly
@pytest.mark.slow
@pytest.mark.spark
def test_the_event_log_of_spark_has_no_secret(
    made: Path, tmp_path: Path, spark_home: dict[str, str]
) -> None:
    estate.make(tmp_path / "estate", FIRST)
    (export,) = (job for job in JOBS if job.verb == "export")
    words = export.arguments(tmp_path / "estate")
    log = tmp_path / "events"
    run = subprocess.run(
        [sys.executable, "-m", "lakewarden.cli", *words, "--event-log", str(log), *_CONF, *_PLAIN],
        env=spark_home,
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert run.returncode == 0, run.stderr
    assert WORD not in run.stdout + run.stderr
    assert list(log.iterdir())
    assert _holding(tmp_path) == []
