"""The client from PyPI, in its own environment, with its own server."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

from lakewarden.kernel.entity import Entity
from lakewarden.systems.datahub.aspects import keys, registry
from lakewarden.systems.datahub.aspects.record_names import TIMESERIES, record_name
from tests.systems.datahub.http.commands import CLIENT, TOKEN, check_answered, run
from tests.systems.datahub.http.recorder import Recorder
from tests.systems.datahub.http.ways import urn_of

DATASET = "urn:li:dataset:(urn:li:dataPlatform:hive,shop.a,PROD)"

pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("datahub client")]


def test_the_emitter_and_the_graph_are_content(python: Path, url: str, tmp_path: Path) -> None:
    with Recorder(url) as recorder:
        script = str(CLIENT / "emitting.py")
        said = run([str(python), "-P", script, recorder.url, TOKEN], recorder.url, tmp_path)
        assert said.splitlines()[-1] == "all: ok"
        absent = ("telemetry", "aspect=schemaMetadata", "shop.other", "orders%2CPROD%29?aspect=dat")
        check_answered(recorder, absent)
        paths = {call.target.partition("?")[0].split("/")[1] for call in recorder.calls}
        assert {"config", "aspects", "entities", "entitiesV2", "openapi"} <= paths


def test_below_the_address_of_a_frontend_it_is_the_same(
    python: Path, url: str, tmp_path: Path
) -> None:
    script = str(CLIENT / "emitting.py")
    said = run([str(python), "-P", script, f"{url}/api/gms", TOKEN], url, tmp_path)
    assert said.splitlines()[-1] == "all: ok"


def test_the_command_ingests_reads_and_deletes(python: Path, url: str, tmp_path: Path) -> None:
    owner = {"owner": "urn:li:corpuser:ana", "type": "DATAOWNER"}
    stamp = {"time": 0, "actor": "urn:li:corpuser:x"}
    ownership = {"owners": [owner], "lastModified": stamp}
    snapshot = {
        "urn": DATASET,
        "aspects": [{"com.linkedin.pegasus2avro.common.Ownership": ownership}],
    }
    name = "com.linkedin.pegasus2avro.metadata.snapshot.DatasetSnapshot"
    proposal = {
        "entityType": "dataset",
        "entityUrn": DATASET.replace("shop.a", "shop.b"),
        "changeType": "UPSERT",
        "aspectName": "domains",
        "aspect": {"json": {"domains": ["urn:li:domain:shop"]}},
    }
    records = tmp_path / "records.json"
    records.write_text(json.dumps([{"proposedSnapshot": {name: snapshot}}, proposal]))
    with Recorder(url) as recorder:
        recipe = {
            "source": {"type": "file", "config": {"path": str(records)}},
            "sink": {"type": "datahub-rest", "config": {"server": recorder.url, "token": TOKEN}},
        }
        (tmp_path / "recipe.yml").write_text(json.dumps(recipe))
        datahub = str(python.parent / "datahub")
        said = run([datahub, "ingest", "-c", "recipe.yml"], recorder.url, tmp_path)
        assert "Pipeline finished successfully" in said
        found = json.loads(run([datahub, "get", "--urn", DATASET], recorder.url, tmp_path))
        assert [one["owner"] for one in found["ownership"]["owners"]] == ["urn:li:corpuser:ana"]
        assert "true" in run([datahub, "exists", "--urn", DATASET], recorder.url, tmp_path)
        run([datahub, "delete", "--urn", DATASET, "--hard", "--force"], recorder.url, tmp_path)
        assert "false" in run([datahub, "exists", "--urn", DATASET], recorder.url, tmp_path)
        absent = json.loads(run([datahub, "get", "--urn", DATASET], recorder.url, tmp_path))
        assert absent == {}
        check_answered(recorder, ("telemetry", "aspect=datasetKey"))


USER = [{"id": "bar", "first_name": "The", "last_name": "Bar", "groups": ["staff"]}]
GROUP = {"id": "staff", "display_name": "Staff", "members": ["urn:li:corpuser:bar"]}


def test_the_command_writes_users_groups_and_owners(python: Path, url: str, tmp_path: Path) -> None:
    status = {
        "entityType": "dataset",
        "entityUrn": DATASET,
        "changeType": "UPSERT",
        "aspectName": "status",
        "aspect": {"json": {"removed": False}},
    }
    (tmp_path / "records.json").write_text(json.dumps([status]))
    (tmp_path / "user.yml").write_text(json.dumps(USER))
    (tmp_path / "group.yml").write_text(json.dumps(GROUP))
    pattern = {"rules": {".*shop.*": ["urn:li:corpGroup:staff"]}}
    owning = {"semantics": "PATCH", "ownership_type": "DATAOWNER", "owner_pattern": pattern}
    with Recorder(url) as recorder:
        recipe = {
            "source": {"type": "file", "config": {"path": str(tmp_path / "records.json")}},
            "transformers": [{"type": "pattern_add_dataset_ownership", "config": owning}],
            "sink": {"type": "datahub-rest", "config": {"server": recorder.url, "token": TOKEN}},
        }
        (tmp_path / "recipe.yml").write_text(json.dumps(recipe))
        datahub = str(python.parent / "datahub")
        for command in (
            "user upsert -f user.yml",
            "group upsert -f group.yml",
            "ingest -c recipe.yml",
        ):
            run([datahub, *command.split()], recorder.url, tmp_path)
        bar, found = (
            json.loads(run([datahub, "get", "--urn", urn], recorder.url, tmp_path))
            for urn in ("urn:li:corpuser:bar", DATASET)
        )
        assert bar["groupMembership"] == {"groups": ["urn:li:corpGroup:staff"]}
        assert [one["owner"] for one in found["ownership"]["owners"]] == ["urn:li:corpGroup:staff"]
        check_answered(recorder, ("telemetry", "aspect=groupMembership", "aspect=ownership"))


def test_a_wrong_token_is_said_to_be_one(python: Path, url: str, tmp_path: Path) -> None:
    script = str(CLIENT / "refused.py")
    assert "authentication error" in run([str(python), "-P", script, url], url, tmp_path)


@pytest.fixture(scope="module")
def schemas(python: Path) -> Any:
    """The contents of the client's schemas."""
    said = subprocess.run(
        [str(python), "-P", str(CLIENT / "schemas.py")],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    return json.loads(said.stdout)


def test_records_have_the_names_that_the_client_looks_for(schemas: Any) -> None:
    """Every aspect of the client's schemas, and which of them are time series."""
    wanted = schemas["aspects"]
    assert len(wanted) > 250
    assert {name: record_name(name) for name in wanted} == {n: r for n, (r, _) in wanted.items()}
    assert {name for name, (_, in_time) in wanted.items() if in_time} == TIMESERIES


def test_keys_are_complete_as_the_client_checks_them(schemas: Any) -> None:
    """For every type of the client: the key aspect, its fields, and the type's other aspects."""
    assert set(schemas["keys"]) == set(registry.TYPES)
    for type, (aspect, fields, others) in schemas["keys"].items():
        found = keys.key_of(Entity(type, urn_of(type)))
        assert found is not None, type
        assert (found[0], list(found[1])) == (aspect, fields)
        assert set(registry.aspects_of(type)) == set(others)
