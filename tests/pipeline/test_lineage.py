"""Jobs report their inputs and outputs to OpenLineage, and never a secret."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest

from lakewarden.cli import main
from lakewarden.pipeline import lineage
from lakewarden.pipeline.lineage import dataset, is_configured

pytest.importorskip("openlineage.client")

ENTITIES = "type,name,parent_type,parent_name\nmetalake,lk,,\ncatalog,lk:c,metalake,lk\n"


@pytest.fixture
def source(tmp_path: Path) -> Path:
    folder = tmp_path / "source"
    folder.mkdir()
    (folder / "entities.csv").write_text(ENTITIES, "utf-8")
    return folder


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file to which the client appends its events."""
    file = tmp_path / "events.jsonl"
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__TYPE", "file")
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__LOG_FILE_PATH", str(file))
    monkeypatch.setenv("OPENLINEAGE__TRANSPORT__APPEND", "true")
    return file


def events(file: Path) -> list[Any]:
    return [json.loads(line) for line in file.read_text("utf-8").splitlines()]


def run(source: Path, out: Path) -> int:
    words = ["--source", "csv", "--model", "gravitino", "--out", str(out)]
    return main(["pipeline", "ingest", str(source), *words])


def test_a_job_starts_and_completes_and_the_next_one_reads_what_it_made(
    source: Path, tmp_path: Path, log: Path, unstarted: object
) -> None:
    lake, index = tmp_path / "lake", tmp_path / "index"
    assert run(source, lake) == 0
    assert main(["pipeline", "index", str(lake), "--out", str(index)]) == 0
    started, done, _, indexed = events(log)
    assert [one["eventType"] for one in (started, done, indexed)] == [
        "START",
        "COMPLETE",
        "COMPLETE",
    ]
    assert started["run"]["runId"] == done["run"]["runId"] != indexed["run"]["runId"]
    assert (done["job"]["namespace"], done["job"]["name"]) == ("lakewarden", "ingest.lake")
    (read,) = done["inputs"]
    assert (read["namespace"], read["name"]) == ("file", source.as_posix())
    (made,) = done["outputs"]
    assert made["facets"]["version"]["datasetVersion"] == "1"
    assert made["outputFacets"]["outputStatistics"]["rowCount"] == 2
    assert "facets" not in started["outputs"][0] or not started["outputs"][0]["facets"]
    (taken,) = indexed["inputs"]
    assert (taken["namespace"], taken["name"]) == (made["namespace"], made["name"])
    assert taken["facets"]["version"] == made["facets"]["version"]


def test_a_job_that_fails_says_why(
    source: Path, tmp_path: Path, log: Path, unstarted: object
) -> None:
    (source / "entities.csv").write_text("type,surname\n", "utf-8")
    assert run(source, tmp_path / "lake") == 2
    _, failed = events(log)
    assert failed["eventType"] == "FAIL"
    assert "surname" in failed["run"]["facets"]["errorMessage"]["message"]


@pytest.mark.parametrize(("verb", "option"), [("lint", "--from"), ("review", "--used")])
def test_what_is_read_beside_the_index_is_an_input(
    tmp_path: Path, log: Path, unstarted: object, verb: str, option: str
) -> None:
    index, beside, out = (str(tmp_path / name) for name in ("index", "beside", "out"))
    assert main(["pipeline", verb, index, option, beside, "--out", out]) == 2
    started, _ = events(log)
    assert [one["name"] for one in started["inputs"]] == [index, beside]


def test_no_secret_is_told(tmp_path: Path, log: Path, unstarted: object) -> None:
    sqlite3.connect(tmp_path / "empty.db").close()
    url = "postgresql://ana:s3cret-word@127.0.0.1:1/estate?password=s3cret-word"
    words = ["--source", "sql", "--metalake", "lk", "--catalog", "c"]
    assert main(["pipeline", "ingest", url, *words, "--out", str(tmp_path / "lake")]) == 3
    started, failed = events(log)
    assert "s3cret-word" not in json.dumps([started, failed])
    (read,) = started["inputs"]
    assert (read["namespace"], read["name"]) == ("postgresql://127.0.0.1:1", "estate")


def test_nothing_is_sent_unless_it_is_asked_for(
    source: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, unstarted: object
) -> None:
    def load(_: object) -> None:
        raise AssertionError("the client was loaded")

    monkeypatch.setattr(lineage, "_loaded", load)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert run(source, tmp_path / "lake") == 0
    assert not is_configured({"OPENLINEAGE_NAMESPACE": "team"})
    assert is_configured({"OPENLINEAGE_URL": "http://localhost"})
    (tmp_path / "openlineage.yml").write_text("transport:\n  type: noop\n", "utf-8")
    assert is_configured({})


@contextmanager
def collector(status: int) -> Iterator[tuple[str, list[Any]]]:
    """A server that accepts events, and responds with a status."""
    taken: list[Any] = []

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            taken.append((self.path, json.loads(body)))
            self.send_response(status)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", taken
    finally:
        server.shutdown()
        server.server_close()


@pytest.mark.parametrize(("status", "warned"), [(201, False), (400, True)])
def test_events_go_over_http_and_their_loss_stops_no_job(
    source: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    unstarted: object,
    capsys: pytest.CaptureFixture[str],
    status: int,
    warned: bool,
) -> None:
    with collector(status) as (address, taken):
        monkeypatch.setenv("OPENLINEAGE_URL", address)
        monkeypatch.setenv("OPENLINEAGE_NAMESPACE", "team")
        assert run(source, tmp_path / "lake") == 0
    assert [event["eventType"] for _, event in taken] == ["START", "COMPLETE"]
    assert {path for path, _ in taken} == {"/api/v1/lineage"}
    assert {event["job"]["namespace"] for _, event in taken} == {"team"}
    assert ("lineage was not sent" in capsys.readouterr().err) is warned


def test_a_folder_without_a_manifest_has_no_version(tmp_path: Path) -> None:
    (tmp_path / "manifest.json").write_text('{"version": 3, "tables": []}', "utf-8")
    assert dataset(tmp_path) == lineage.Dataset("file", tmp_path.resolve().as_posix())
