"""An interrupted run is resumed, and its result is the same."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from lakewarden.kernel.errors import BadInput
from lakewarden.pipeline.directory import load
from lakewarden.pipeline.extract.original import Credential
from lakewarden.pipeline.ingest import run
from lakewarden.pipeline.ingest.live import Live
from lakewarden.pipeline.ingest.run import ingest
from lakewarden.pipeline.ingest.tabular import Tabular
from lakewarden.pipeline.ingest.version import DirectoryDraft
from tests.pipeline.extract.scripted import scripted

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ENTITIES = "type,name\nmetalake,lk\ncatalog,lk:c\ncatalog,lk:c\nschema,lk:d.s\n"

KILLED = """
import os, signal, sys
from pathlib import Path
from lakewarden.pipeline import check_local
from lakewarden.pipeline.ingest.run import ingest
from lakewarden.pipeline.ingest.tabular import Tabular
from lakewarden.pipeline.session import Deferred
check_local.check = lambda rows, model: os.kill(os.getpid(), signal.SIGKILL)
source, out = map(Path, sys.argv[1:])
no_session = Deferred(sys.exit, is_here=True)
ingest(Tabular(source, "csv", "gravitino"), out, spark=no_session)
"""


def lake(folder: Path, text: str = ENTITIES) -> Tabular:
    """A small metalake as CSV."""
    folder.mkdir(exist_ok=True)
    (folder / "entities.csv").write_text(text, "utf-8")
    return Tabular(folder, "csv", "gravitino")


def stop(*_: Any) -> None:
    raise KeyboardInterrupt


def test_a_killed_run_is_taken_up_behind_its_last_finished_stage(
    unstarted: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, out = lake(tmp_path / "in"), tmp_path / "out"
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, str(source.path), str(out)],
        check=False,
        capture_output=True,
        timeout=300,
    )
    assert killed.returncode == -9, killed.stderr
    assert not (out / "manifest.json").exists()

    def cut(target: object, name: str) -> None:
        with monkeypatch.context() as patch:
            patch.setattr(target, name, stop)
            with pytest.raises(KeyboardInterrupt):
                ingest(source, out, spark=unstarted)

    cut(DirectoryDraft, "put")
    cut(run, "_report")
    result = ingest(source, out, spark=unstarted)
    assert result.report.reused == ("read", "check", "write")
    saved = json.loads((out / "versions/1/report.json").read_text("utf-8"))
    assert saved["reused"] == ["read", "check", "write"]
    assert set(saved["seconds"]) == {"read", "check", "own", "write"}
    assert {p.name for p in out.iterdir()} == {".lock", "current", "manifest.json", "versions"}
    whole = ingest(source, tmp_path / "other", spark=unstarted)
    assert whole.report.reused == ()
    assert whole.manifest == result.manifest
    assert load(out).facts == load(tmp_path / "other").facts


@pytest.mark.parametrize("change", ["input", "option", "fresh"])
def test_a_stage_is_taken_over_only_for_the_same_input(
    unstarted: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    source, out = lake(tmp_path / "in"), tmp_path / "out"
    with monkeypatch.context() as patch:
        patch.setattr("lakewarden.pipeline.check_local.check", stop)
        with pytest.raises(KeyboardInterrupt):
            ingest(source, out, spark=unstarted)
    settings: dict[str, str] = {}
    if change == "input":
        lake(tmp_path / "in", ENTITIES + "catalog,lk:e\n")
    elif change == "option":
        settings = {"mode": "next"}
    result = ingest(source, out, spark=unstarted, settings=settings, fresh=change == "fresh")
    assert result.report.reused == ()
    assert len(load(out).facts.entities) == (3 if change == "input" else 2)


def test_the_report_says_how_good_the_data_is(unstarted: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "in"
    source = lake(folder)
    owners = "type,name,owner_kind,owner_name,ownership\ncatalog,lk:c,user,ana,\n"
    (folder / "owners.csv").write_text(owners, "utf-8")
    report = ingest(source, tmp_path / "out", spark=unstarted).report
    assert report.quality.table() == {
        "without_owner": {
            "catalog": {"lacking": 0, "of": 1, "share": 0.0},
            "metalake": {"lacking": 1, "of": 1, "share": 1.0},
        },
        "without_description": {},
        "dangling": {"user": 1},
        "duplicates": 2,
        "unknown_types": {},
    }
    assert report.quarantined == {"dangling parent": 2, "repeated": 2}


EMPTY = {"code": 0, "names": [], "users": [], "groups": [], "catalogs": [], "tags": []}
LAKE = "/api/metalakes/lk"
SCRIPT: dict[str, Any] = {
    "/api/metalakes": (200, {"code": 0, "metalakes": [{"name": "lk"}]}),
    **{f"{LAKE}/{word}": (200, EMPTY) for word in ("users", "groups", "roles", "catalogs", "tags")},
    f"{LAKE}/policies": (200, {"code": 0, "policies": []}),
    f"{LAKE}/jobs/templates": (200, {"code": 0, "jobTemplates": []}),
    f"{LAKE}/jobs/runs": (200, {"code": 0, "jobs": []}),
    f"{LAKE}/owners/metalake/lk": (200, {"code": 0, "owner": {"name": "ana", "type": "user"}}),
}


def test_a_running_system_is_not_asked_again_for_what_it_answered(
    unstarted: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    with scripted(SCRIPT) as server:
        source = Live("gravitino", server.address, Credential(token="s3cret-token"))
        with monkeypatch.context() as patch:
            patch.setattr("lakewarden.pipeline.check_local.check", stop)
            with pytest.raises(KeyboardInterrupt):
                ingest(source, out, spark=unstarted)
        asked = len(server.asked)
        assert asked > 5
        assert set(server.headers) == {"Bearer s3cret-token"}
        result = ingest(source, out, spark=unstarted)
        assert len(server.asked) == asked
        assert result.report.reused == ("fetch", "read")
        assert result.manifest.options == {"address": server.address}
        assert any("who is in which group" in text for text in result.report.not_read)
        again = ingest(source, out, spark=unstarted)
        assert len(server.asked) == 2 * asked
        assert (again.is_new, again.report.reused) == (False, ())
    assert all(b"s3cret" not in file.read_bytes() for file in out.rglob("*") if file.is_file())
    assert [row.entity.name for row in load(out).facts.entities] == ["lk"]


def test_what_could_not_be_asked_leaves_the_version_before(
    unstarted: SparkSession, tmp_path: Path
) -> None:
    refused = pytest.raises(BadInput, match="refuses the credential")
    script = {"/api/metalakes": (401, {"message": "who are you"})}
    with scripted(script) as server, refused:
        ingest(Live("gravitino", server.address), tmp_path / "out", spark=unstarted)
    assert [p.name for p in (tmp_path / "out").iterdir()] == [".lock"]


def test_the_order_of_the_answers_is_no_new_input(tmp_path: Path) -> None:
    found: list[Callable[[], object]] = []
    for name, lines in (("a", ["{}\n", '{"x":1}\n']), ("b", ['{"x":1}\n', "{}\n"])):
        (tmp_path / name).mkdir()
        (tmp_path / name / "tables.jsonl").write_text("".join(lines))
        found.append(Live("gravitino", "http://h").copied(tmp_path / name, []).inputs)
    assert found[0]() == found[1]()
