"""`lakewarden pipeline ingest`: options, the report, and exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import get_args

import pytest

from lakewarden.cli.pipeline.ingest_sources import Database, Kind, show_result, source_of
from lakewarden.kernel.errors import BadInput
from lakewarden.pipeline.directory import load
from lakewarden.pipeline.directory_manifest import Content, Manifest
from lakewarden.pipeline.ingest.report import Note, Quality, Report, Rows, Share
from lakewarden.pipeline.ingest.run import Result
from lakewarden.systems.gravitino.ingest.sql import Sql
from tests.cli.realms import Cli

DOCS = Path(__file__).parents[3] / "docs"
TAG = {
    "entityType": "tag",
    "entityUrn": "urn:li:tag:a",
    "changeType": "UPSERT",
    "aspectName": "tagProperties",
    "aspect": {"json": {"name": "a"}},
}


@pytest.fixture
def export(tmp_path: Path) -> Path:
    """A file of DataHub with one tag."""
    file = tmp_path / "export.json"
    file.write_text(json.dumps([TAG]), "utf-8")
    return file


def test_each_word_names_a_source(tmp_path: Path) -> None:
    place = str(tmp_path)
    assert source_of("datahub-file", place).kind == "datahub-file"
    assert source_of("gravitino-file", place).kind == "gravitino-file"
    assert source_of("cdap-file", place).model == "cdap"
    assert source_of("cdap-file", place, "cdap_parent_write").model == "cdap_parent_write"
    assert source_of("csv", place, "datahub").kind == "csv"
    assert source_of("parquet", place, "gravitino").model == "gravitino"
    database = Database("lk", "c", takes_data_for_modify=True)
    ranger = source_of("ranger-file", place, None, Database("lk", service="hive"))
    assert ranger.options == {"metalake": "lk", "service": "hive"}
    assert source_of("dbt-file", place).model == "datahub"
    assert source_of("dbt-file", place, None, Database(platform="x")).options["platform"] == "x"
    dbt = source_of("dbt-file", place, "gravitino", Database("lk", "c"))
    assert (dbt.model, dbt.options) == ("gravitino", {"metalake": "lk", "catalog": "c"})
    sql = source_of("sql", "sqlite://", None, database)
    assert sql.options == {"metalake": "lk", "catalog": "c", "takes_data_for_modify": "true"}


@pytest.mark.parametrize("kind", get_args(Kind))
def test_every_source_stands_in_the_pages(kind: str) -> None:
    for page in ("pipeline.md", "cli.md"):
        assert f"`{kind}`" in (DOCS / page).read_text("utf-8")


def test_a_url_may_come_from_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SECRET_URL", "sqlite:///x")
    database = Database("lk", "c")
    assert source_of("sql", "env:SECRET_URL", None, database) == Sql("sqlite:///x", "lk", "c")
    monkeypatch.delenv("SECRET_URL")
    with pytest.raises(BadInput, match="the environment variable `SECRET_URL` is not set"):
        source_of("sql", "env:SECRET_URL", None, database)


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("missing", "--source", "datahub-file"), "missing: no such file or folder"),
        ((".", "--source", "csv"), "--model: `--source csv` needs the model, one of: cdap, "),
        ((".", "--source", "csv", "--model", "x"), "--model: `--source csv` takes one of: cdap"),
        (
            (".", "--source", "datahub-file", "--model", "cdap"),
            "--model: `--source datahub-file` takes no model; got `cdap`",
        ),
        (
            (".", "--source", "cdap-file", "--model", "datahub"),
            "takes one of: cdap, cdap_parent_write; got `datahub`",
        ),
        (
            (".", "--source", "csv", "--model", "cdap", "--metalake", "x"),
            "only `--source ranger-file` and `--source sql` and",
        ),
        ((".", "--source", "sql", "--service", "x"), "only `--source ranger-file` takes it"),
        ((".", "--source", "ranger-file"), "--metalake: `--source ranger-file` needs"),
        ((".", "--source", "dbt-file", "--model", "cdap"), "takes one of: datahub, gravitino"),
        ((".", "--source", "dbt-file", "--model", "gravitino"), "`--source dbt-file` needs a name"),
        ((".", "--source", "dbt-file", "--metalake", "x"), "only under `--model gravitino`"),
        (
            (
                *(".", "--source", "dbt-file", "--model", "gravitino"),
                *("--metalake", "x", "--platform", "y"),
            ),
            "only under `--model datahub` is there a platform",
        ),
        ((".", "--source", "csv", "--model", "cdap", "--revision", "0"), "only `--source store`"),
        (("http://h", "--source", "gravitino", "--model", "x"), "takes no model"),
        (("sqlite://", "--source", "sql", "--catalog", "c"), "--metalake: `--source sql` needs"),
        (("sqlite://", "--source", "sql", "--metalake", "lk"), "--catalog: `--source sql` needs"),
        ((".", "--source", "datahub-file", "--setting", "x"), "--setting: expected NAME=VALUE"),
        ((".", "--source", "datahub-file", "--setting", "x=y"), "unknown setting `x`"),
        ((".", "--source", "datahub-file", "--setting", "views=y"), "views"),
        ((".", "--source", "floppy"), "invalid value"),
    ],
)
def test_what_does_not_go_together_is_refused_before_spark_starts(
    cli: Cli, tmp_path: Path, words: tuple[str, ...], message: str
) -> None:
    found = cli("pipeline", "ingest", *words, "--out", str(tmp_path / "out"))
    assert (found.code, found.out) == (2, "")
    assert message in found.err
    assert "Spark" not in found.err
    assert not (tmp_path / "out").exists()


@pytest.mark.usefixtures("unstarted")
def test_a_run_reports_what_it_did(cli: Cli, tmp_path: Path, export: Path) -> None:
    out = tmp_path / "out"
    words = ("pipeline", "ingest", str(export), "--source", "datahub-file", "--out", str(out))
    found = cli(*words, "--realm", "main")
    assert found.code == 0
    assert found.lines[0] == f"{out}: version 1 of realm main"
    assert ["entities", "1", "1", "0"] in [line.split() for line in found.lines]
    assert "without meaning here: 1 × aspect tagProperties" in found.lines
    assert "datahub-file: write: version 1" in found.err
    again = cli(*words, "--realm", "main", "--format", "json")
    assert again.code == 0
    assert (again.json["new"], again.json["version"]) == (False, 1)
    assert again.json["rows"]["entities"] == {"in": 1, "out": 1, "quarantined": 0}  # type: ignore[index]
    asked = cli("check", "ana", "VIEW_ENTITY_PAGE", "urn:li:tag:a", "--from", str(out))
    assert (asked.code, asked.out) == (0, "allow\n")


@pytest.mark.usefixtures("unstarted")
def test_an_error_in_the_input_names_its_place_and_changes_nothing(
    cli: Cli, tmp_path: Path, export: Path
) -> None:
    words = ("pipeline", "ingest", str(export), "--source", "datahub-file", "--out")
    out = tmp_path / "out"
    assert cli(*words, str(out)).code == 0
    export.write_text(json.dumps([TAG, {**TAG, "changeType": "PUSH"}]), "utf-8")
    found = cli(*words, str(out))
    assert (found.code, found.out) == (2, "")
    complaint = found.err.splitlines()[-1]
    assert complaint.startswith("lakewarden: export.json: line 1: [1].changeType: unknown `PUSH`")
    assert cli("check", "ana", "VIEW_ENTITY_PAGE", "urn:li:tag:a", "--from", str(out)).code == 0


@pytest.mark.usefixtures("unstarted")
def test_a_folder_of_somebody_else_is_left_alone(cli: Cli, tmp_path: Path, export: Path) -> None:
    words = ("pipeline", "ingest", str(export), "--source", "datahub-file")
    found = cli(*words, "--out", str(tmp_path))
    assert found.code == 2
    assert "holds `export.json` and no `manifest.json`" in found.err


@pytest.mark.usefixtures("unstarted")
def test_rules_about_owners_are_read(cli: Cli, tmp_path: Path, export: Path) -> None:
    words = ("pipeline", "ingest", str(export), "--source", "datahub-file")
    rules = tmp_path / "owners.toml"
    rules.write_text("semantics = 'MAYBE'\n", "utf-8")
    found = cli(*words, "--out", str(tmp_path / "out"), "--owners", str(rules))
    assert found.code == 2
    assert "owners.toml" in found.err
    found = cli(*words, "--out", str(tmp_path / "out"), "--owners", str(tmp_path / "missing"))
    assert found.code == 2
    assert "missing" in found.err


@pytest.mark.usefixtures("unstarted")
def test_another_process_at_work_could_not_be_waited_for(
    cli: Cli, tmp_path: Path, export: Path
) -> None:
    from lakewarden.pipeline.ingest.version import draft

    words = ("pipeline", "ingest", str(export), "--source", "datahub-file", "--out")
    with draft(tmp_path / "out"):
        found = cli(*words, str(tmp_path / "out"))
    assert found.code == 3
    assert "another process works on" in found.err


@pytest.mark.usefixtures("unstarted")
def test_what_spark_fails_at_could_not_be_found_out(
    cli: Cli, tmp_path: Path, export: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from pyspark.errors import PySparkRuntimeError

    from lakewarden.systems.datahub.ingest.file import DatahubFile

    def fail(*_: object) -> None:
        raise PySparkRuntimeError("the cluster is gone\nand much more")

    monkeypatch.setattr(DatahubFile, "read", fail)
    words = ("pipeline", "ingest", str(export), "--source", "datahub-file", "--out")
    found = cli(*words, str(tmp_path / "out"))
    assert found.code == 3
    assert found.err.splitlines()[-1] == "lakewarden: spark failed: the cluster is gone"


def test_a_master_and_a_remote_are_refused(cli: Cli, tmp_path: Path, export: Path) -> None:
    words = ("pipeline", "ingest", str(export), "--source", "datahub-file", "--out")
    found = cli(*words, str(tmp_path / "out"), "--master", "local", "--remote", "sc://x")
    assert found.code == 2
    assert "expected a master or a remote, got both: `local`, `sc://x`" in found.err


def test_the_report_tells_everything_that_is_to_be_told(
    capsys: pytest.CaptureFixture[str],
) -> None:
    report = Report(
        rows={"entities": Rows(1200, 1190, 10), "owners": Rows(0, 0, 0)},
        quarantined={"cycle": 4, "not stored": 6},
        owners_added=3,
        owners_removed=1,
        named={"domain": 2},
        ignored={"aspect x": 5},
        notes=[Note(f"r{n}", "SET ROLE") for n in range(8)],
        note_count=9,
        not_read=["sequences"],
        quality=Quality(
            ownerless={"table": Share(1, 3), "schema": Share(0, 2)},
            undescribed={"view": Share(2, 2)},
            dangling={"domain": 2, "user": 1},
            duplicates=7,
            unknown_types={"odd": 1},
        ),
        seconds={"fetch": 9.0, "read": 1.25, "write": 0.5},
        reused=["fetch"],
    )
    none = Content(0, "0" * 64)
    manifest = Manifest("gravitino", {}, "main", "sql", 7, (), {}, none)
    show_result(Result(manifest, report, False), Path("x"), "table")
    assert capsys.readouterr().out.splitlines() == [
        "x: version 7 of realm main, unchanged",
        "",
        "table     in     out    set aside",
        "entities  1,200  1,190  10",
        "set aside: 4 × cycle",
        "set aside: 6 × not stored",
        "owners by pattern: 3 added, 1 removed",
        "named, but not stored: 2 × domain",
        "without meaning here: 5 × aspect x",
        *(f"no counterpart: r{n}: SET ROLE" for n in range(5)),
        "no counterpart: 4 more, in report.json",
        "not read: sequences",
        "without owner: 1 of 3 × table (33%)",
        "without description: 2 of 2 × view (100%)",
        "named, but no principal that is stored: 1 × user",
        "duplicates: 7",
        "of a type that the model does not know: 1 × odd",
        "taken over from a run that was cut short: fetch",
        "took 1.8 s",
    ]


def test_events_of_openlineage_are_read_with_an_environment(cli: Cli, tmp_path: Path) -> None:
    dataset = {"namespace": "bigquery", "name": "p.s.t", "facets": {}}
    event = {"eventTime": "2026-03-01T10:00:00Z", "dataset": dataset}
    file = tmp_path / "events.json"
    file.write_text(json.dumps([event]), "utf-8")
    words = ("pipeline", "ingest", str(file), "--source", "openlineage-file", "--out")
    assert cli(*words, str(tmp_path / "out"), "--environment", "DEV").code == 0
    assert [row.entity.name for row in load(tmp_path / "out").facts.entities] == [
        "urn:li:dataset:(urn:li:dataPlatform:bigquery,p.s.t,DEV)"
    ]
    refused = cli(*words, str(tmp_path / "no"), "--metalake", "lk")
    assert refused.code == 2
    assert "--metalake" in refused.err
