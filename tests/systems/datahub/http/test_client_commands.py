"""The client's commands on real files and on the sample estate; their requests are answered."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from lakewarden import sample
from tests.systems.datahub.http.commands import TOKEN, check_answered, run
from tests.systems.datahub.http.recorder import Recorder

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("datahub client")]

REAL = Path(__file__).parents[5] / "shared" / "data" / "datahub-2021"
"""Files from which DataHub's own examples were made; not part of the project."""

ORDERS = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.orders,PROD)"
STOCK = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.stock,PROD)"
ANA = "urn:li:corpuser:ana"
BOB = "urn:li:corpuser:bob"

ABSENT = ("telemetry", "aspect=ownership", "aspect=datasetKey")
"""Requests of the client for things that may be missing."""


def ingest(
    datahub: str, url: str, folder: Path, records: Path, *transformers: dict[str, Any]
) -> str:
    recipe = {
        "source": {"type": "file", "config": {"path": str(records)}},
        "transformers": list(transformers),
        "sink": {"type": "datahub-rest", "config": {"server": url, "token": TOKEN}},
    }
    file = folder / "recipe.yml"
    file.write_text(json.dumps(recipe))
    return run([datahub, "ingest", "-c", str(file)], url, folder)


def change(urn: str, aspect: str, value: object) -> dict[str, Any]:
    return {
        "entityType": urn.split(":")[2],
        "entityUrn": urn,
        "changeType": "UPSERT",
        "aspectName": aspect,
        "aspect": {"json": value},
    }


def got(datahub: str, url: str, folder: Path, urn: str) -> Any:
    return json.loads(run([datahub, "get", "--urn", urn], url, folder))


def owners(datahub: str, url: str, folder: Path) -> list[str]:
    found = got(datahub, url, folder, ORDERS)["ownership"]["owners"]
    return [one["owner"] for one in found]


@pytest.mark.skipif(not REAL.is_dir(), reason="the files are not here")
def test_real_files_are_ingested(python: Path, url: str, tmp_path: Path) -> None:
    datahub = str(python.parent / "datahub")
    with Recorder(url) as recorder:
        said = ingest(datahub, recorder.url, tmp_path, REAL)
        assert "Pipeline finished successfully" in said
        check_answered(recorder, ABSENT)


@pytest.mark.nightly
def test_the_sample_estate_is_ingested(python: Path, url: str, tmp_path: Path) -> None:
    """Except for the deliberately wrong names in it: one refused change refuses its batch."""
    records = json.loads(sample.path("datahub").read_text())
    good = [one for one in records if '"personal-data"' not in json.dumps(one)]
    assert len(records) - 10 < len(good) < len(records)
    (tmp_path / "estate.json").write_text(json.dumps(good))
    datahub = str(python.parent / "datahub")
    with Recorder(url) as recorder:
        said = ingest(datahub, recorder.url, tmp_path, tmp_path / "estate.json")
        assert "Pipeline finished successfully" in said
        check_answered(recorder, ABSENT)


@pytest.mark.nightly
def test_owners_are_overwritten_or_added_as_the_transformer_says(
    python: Path, url: str, tmp_path: Path
) -> None:
    datahub = str(python.parent / "datahub")
    kept = {"owners": [{"owner": ANA, "type": "DATAOWNER"}], "lastModified": stamp()}
    first, second = tmp_path / "first.json", tmp_path / "second.json"
    first.write_text(json.dumps([change(ORDERS, "ownership", kept)]))
    second.write_text(json.dumps([change(ORDERS, "status", {"removed": False})]))
    with Recorder(url) as recorder:
        for semantics, wanted in (("PATCH", {ANA, BOB}), ("OVERWRITE", {BOB})):
            ingest(datahub, recorder.url, tmp_path, first)
            adding = {
                "type": "pattern_add_dataset_ownership",
                "config": {
                    "semantics": semantics,
                    "ownership_type": "DATAOWNER",
                    "owner_pattern": {"rules": {".*shop.*": [BOB]}},
                },
            }
            ingest(datahub, recorder.url, tmp_path, second, adding)
            assert set(owners(datahub, recorder.url, tmp_path)) == wanted
        check_answered(recorder, ABSENT)


def stamp() -> dict[str, Any]:
    return {"time": 0, "actor": ANA}


def test_what_is_put_is_got_told_of_and_deleted(python: Path, url: str, tmp_path: Path) -> None:
    datahub = str(python.parent / "datahub")
    (tmp_path / "tags.json").write_text(json.dumps({"tags": [{"tag": "urn:li:tag:pii"}]}))
    with Recorder(url) as recorder:

        def do(*words: str) -> str:
            return run([datahub, *words], recorder.url, tmp_path)

        for urn in (ORDERS, STOCK):
            do("put", "--urn", urn, "--aspect", "globalTags", "-d", "tags.json")
        assert "urn:li:tag:pii" in do("get", "--urn", ORDERS, "--aspect", "globalTags")
        assert "urn:li:tag:pii" in do("timeline", "--urn", ORDERS, "-c", "tag")
        do("delete", "--urn", ORDERS, "--soft", "--force")
        assert got(datahub, recorder.url, tmp_path, ORDERS)["status"] == {"removed": True}
        assert "true" in do("exists", "--urn", ORDERS)
        do("delete", "--entity-type", "dataset", "--platform", "hive", "--hard", "--force")
        assert "false" in do("exists", "--urn", STOCK)
        check_answered(recorder, ABSENT)


def test_the_command_lists_runs_of_sources(python: Path, url: str, tmp_path: Path) -> None:
    datahub = str(python.parent / "datahub")
    status = change(ORDERS, "status", {"removed": False})
    (tmp_path / "one.json").write_text(json.dumps([status]))
    ingest(datahub, url, tmp_path, tmp_path / "one.json")
    with Recorder(url) as recorder:
        said = run([datahub, "ingest", "list-source-runs"], recorder.url, tmp_path)
        assert "SUCCESS" in said
        named = [datahub, "ingest", "list-source-runs", "--source", "nobody knows"]
        assert "No ingestion sources or executions found" in run(named, recorder.url, tmp_path)
        check_answered(recorder, ())
