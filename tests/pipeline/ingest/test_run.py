"""Whole runs over small metadata files: results, repetition, failures, and decisions."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest

import lakewarden
from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput, Conflict, WardenError
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.relations import EntityRow, OwnerRow
from lakewarden.pipeline.directory import load
from lakewarden.pipeline.directory_manifest import read_manifest
from lakewarden.pipeline.ingest import run
from lakewarden.pipeline.ingest.run import ingest
from lakewarden.pipeline.ingest.source import STAGES, Reading
from lakewarden.pipeline.ingest.version import DirectoryDraft, draft
from lakewarden.pipeline.tables import QUARANTINE
from lakewarden.service.warden import Warden
from lakewarden.systems.datahub.ingest.file import DatahubFile
from tests.pipeline import spared
from tests.pipeline.directories import write_directory

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from lakewarden.pipeline.directory_manifest import Content

REAL = Path(lakewarden.__file__).parents[3] / "shared" / "data" / "datahub-2021"


def data(name: str) -> str:
    return f"urn:li:dataset:(urn:li:dataPlatform:hive,{name},PROD)"


def person(name: str) -> str:
    return f"urn:li:corpuser:{name}"


def proposal(urn: str, aspect: str, value: object, change: str = "UPSERT") -> dict[str, Any]:
    return {
        "entityType": urn.split(":")[2],
        "entityUrn": urn,
        "changeType": change,
        "aspectName": aspect,
        "aspect": {"json": value},
    }


def policy(name: str, **fields: object) -> dict[str, Any]:
    value = {
        "displayName": name,
        "description": "",
        "type": "METADATA",
        "state": "ACTIVE",
        "actors": {},
        "privileges": ["EDIT_ENTITY_TAGS"],
        **fields,
    }
    return proposal(f"urn:li:dataHubPolicy:{name}", "dataHubPolicyInfo", value)


def where(field: str, *values: str) -> dict[str, object]:
    return {"filter": {"criteria": [{"field": field, "values": list(values)}]}}


ORDERS, ITEMS, OLD = data("shop.orders"), data("shop.items"), data("shop.old")
SALES, SHOP = "urn:li:domain:sales", "urn:li:domain:shop"
STAFF = "urn:li:corpGroup:staff"

SNAPSHOT = {
    "proposedSnapshot": {
        "com.linkedin.pegasus2avro.metadata.snapshot.DatasetSnapshot": {
            "urn": ORDERS,
            "aspects": [
                {
                    "com.linkedin.pegasus2avro.common.Ownership": {
                        "owners": [{"owner": person("ana"), "type": "DATAOWNER"}],
                        "lastModified": {"time": 0, "actor": person("etl")},
                    }
                },
                {"com.linkedin.pegasus2avro.schema.SchemaMetadata": {"schemaName": "orders"}},
            ],
        }
    }
}
FIRST = [
    SNAPSHOT,
    proposal(ORDERS, "domains", {"domains": [SHOP]}),
    proposal(ORDERS, "container", {"container": "urn:li:container:db"}),
    proposal(ORDERS, "globalTags", {"tags": [{"tag": "urn:li:tag:pii"}]}),
    proposal(ITEMS, "status", {"removed": True}),
    proposal(OLD, "status", {"removed": False}),
    proposal(SALES, "domainProperties", {"name": "sales"}),
    proposal(SHOP, "domainProperties", {"name": "shop", "parentDomain": SALES}),
    proposal(person("ana"), "corpUserInfo", {"active": True}),
    proposal(person("ben"), "groupMembership", {"groups": [STAFF]}),
    proposal(STAFF, "corpGroupInfo", {"members": [person("eve")]}),
    policy("taggers", actors={"groups": [STAFF]}, resources=where("DOMAIN", SALES)),
    policy("colours", actors={"allUsers": True}, resources=where("COLOUR", "red")),
    policy("inactive", actors={"allUsers": True}, state="INACTIVE"),
]
SECOND = [
    proposal(OLD, "datasetKey", {}, "DELETE"),
    proposal(
        ORDERS,
        "ownership",
        [
            {
                "op": "add",
                "path": f"/owners/{STAFF}/DATAOWNER",
                "value": {"owner": STAFF, "type": "DATAOWNER"},
            }
        ],
        "PATCH",
    ),
    proposal("urn:li:domain:a", "domainProperties", {"parentDomain": "urn:li:domain:b"}),
    proposal("urn:li:domain:b", "domainProperties", {"parentDomain": "urn:li:domain:a"}),
    proposal(ITEMS, "globalTags", {"tags": [{"tag": "pii"}, {"tag": "urn:li:tag:x"}]}),
    proposal("urn:li:dataset:nonsense", "status", {}),
    proposal("urn:li:dataHubPolicy:view-entity-page-all", "dataHubPolicyKey", {}, "DELETE"),
    {"bucket": 0, "resource": ORDERS, "metrics": {}},
]


SET_ASIDE = [
    proposal("urn:li:dataset:nonsense", "status", {}),
    proposal("urn:li:domain:a", "domainProperties", {"parentDomain": "urn:li:domain:b"}),
    proposal("urn:li:domain:b", "domainProperties", {"parentDomain": "urn:li:domain:a"}),
    policy("colours", actors={"allUsers": True}, resources=where("COLOUR", "red")),
]
AS_READ = dict.fromkeys(("inputs", "reused", "seconds"))
"""The parts of a report about how its rows were read, which may differ."""


def written(folder: Path, files: Mapping[str, Iterable[object]]) -> DatahubFile:
    """A folder with these files: `.json` as a list, the others as a sequence."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, records in files.items():
        if name.endswith(".json"):
            text = json.dumps(list(records), indent=4)
        else:
            text = "".join(json.dumps(record) + "\n" for record in records)
        (folder / name).write_text(text, "utf-8")
    return DatahubFile(folder)


def left(out: Path) -> list[str]:
    """The files that readers see, and those that a refused run would leave."""
    return sorted(p.name for p in out.iterdir() if p.name not in (".lock", "current"))


def shown(out: Path) -> list[str]:
    """The files that readers see."""
    return [name for name in left(out) if not name.startswith(".")]


def test_metadata_files_are_ingested_checked_and_decide(
    unstarted: SparkSession, tmp_path: Path
) -> None:
    out = tmp_path / "out [1]"
    source = written(tmp_path / "in", {"1.json": FIRST, "2.jsonl": SECOND})
    steps: list[tuple[str, int, int]] = []
    result = ingest(
        source,
        out,
        spark=unstarted,
        realm="estate",
        progress=lambda stage, done, total, message: steps.append((stage, done, total)),
    )

    assert result.is_new
    assert (result.manifest.version, result.manifest.realm) == (1, "estate")
    assert result.manifest == read_manifest(out)
    assert result.report.quarantined == {"bad name": 2, "bad statement": 1, "cycle": 2}
    assert result.manifest.quarantined == 5
    for rows in result.report.rows.values():
        assert rows.came_in == rows.passed + rows.quarantined
    assert result.report.ignored == {
        "aspect corpGroupInfo": 1,
        "aspect corpUserInfo": 1,
        "aspect schemaMetadata": 1,
        "usage statistics": 1,
    }
    assert result.report.named == {"container": 1, "tag": 2}
    assert result.manifest.deleted == ("urn:li:dataHubPolicy:view-entity-page-all",)
    saved = json.loads((out / "versions/1/report.json").read_text("utf-8"))
    assert saved["quarantined"] == result.report.quarantined
    assert set(saved["seconds"]) == set(STAGES)

    assert [stage for stage, _, _ in steps] == sorted(
        (stage for stage, _, _ in steps), key=STAGES.index
    )
    assert all(0 <= done <= total for _, done, total in steps)
    assert steps[-1][1] == steps[-1][2]

    loaded = load(out)
    entities = {row.entity: row.parent for row in loaded.facts.entities}
    assert Entity("dataset", OLD) not in entities
    assert entities[Entity("dataset", ORDERS)] == Entity("container", "urn:li:container:db")
    assert entities[Entity("domain", SHOP)] == Entity("domain", SALES)
    assert entities[Entity("domain", "urn:li:domain:a")] is None
    orders = Entity("dataset", ORDERS)
    assert set(loaded.facts.owners) == {
        OwnerRow(orders, Principal("user", person("ana"))),
        OwnerRow(orders, Principal("group", STAFF)),
    }
    assert set(loaded.facts.principals) == {
        Principal("user", person("ana")),
        Principal("user", person("ben")),
        Principal("group", STAFF),
    }
    warden = Warden(loaded.system, loaded.facts)
    assert warden.check(person("ben"), "EDIT_ENTITY_TAGS", f"dataset:{ORDERS}").allow
    assert not warden.check(person("cid"), "EDIT_ENTITY_TAGS", f"dataset:{ORDERS}").allow
    assert not warden.check(person("ben"), "EDIT_ENTITY_TAGS", f"dataset:{ITEMS}").allow
    assert not warden.check(person("cid"), "VIEW_ENTITY_PAGE", f"dataset:{ORDERS}").allow


def test_the_same_input_makes_no_new_version_and_failures_leave_the_old_one(
    unstarted: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "out"
    source = written(tmp_path / "in", {"a.json": FIRST})
    first = ingest(source, out, spark=unstarted)
    again = ingest(source, out, spark=unstarted)
    assert (again.is_new, again.manifest) == (False, first.manifest)
    assert left(out) == ["manifest.json", "versions"]
    assert left(out / "versions") == ["1"]

    written(tmp_path / "in", {"a.json": [*FIRST, proposal(data("new"), "status", {})]})
    put = DirectoryDraft.put

    def failing(self: DirectoryDraft, table: str, rows: Iterable[Sequence[str | None]]) -> Content:
        if table == "owners":
            raise OSError("no space left on device")
        return put(self, table, rows)

    with monkeypatch.context() as patch:
        patch.setattr(DirectoryDraft, "put", failing)
        with pytest.raises(OSError, match="no space left"):
            ingest(source, out, spark=unstarted)
    with monkeypatch.context() as patch:
        patch.setattr(run, "_report", lambda *_: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            ingest(source, out, spark=unstarted)
    assert shown(out) == ["manifest.json", "versions"]
    assert read_manifest(out) == first.manifest
    assert load(out).manifest == first.manifest
    with monkeypatch.context() as patch:
        patch.setattr("lakewarden.pipeline.check_local.check", lambda rows, _: list(rows)[:3])
        with pytest.raises(WardenError, match=r"rows do not add up: .* after the checks"):
            ingest(source, out, spark=unstarted, fresh=True)
    assert left(out) == ["manifest.json", "versions"]

    second = ingest(source, out, spark=unstarted)
    assert (second.is_new, second.manifest.version) == (True, 2)
    assert left(out / "versions") == ["1", "2"]
    assert second.manifest.tables["entities"].rows == first.manifest.tables["entities"].rows + 1


@pytest.mark.parametrize("change", ["a.json", "b.json"])
def test_a_source_that_changes_while_it_is_read_is_refused(
    change: str, unstarted: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = written(tmp_path / "in", {"a.json": FIRST})
    whole = DatahubFile.read

    def written_meanwhile(self: DatahubFile, *given: Any) -> Reading:
        reading = whole(self, *given)
        written(tmp_path / "in", {change: SECOND})
        return reading

    with monkeypatch.context() as patch:
        patch.setattr(DatahubFile, "read", written_meanwhile)
        with pytest.raises(Conflict, match=f"`{change}` changed while the source was read"):
            ingest(source, tmp_path / "out", spark=unstarted)
    assert shown(tmp_path / "out") == []
    assert ingest(source, tmp_path / "out", spark=unstarted).manifest.version == 1


def test_in_spark_neither_the_order_of_tasks_nor_a_failure_matters_to_the_content(
    spark: SparkSession, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each record describes its own entity, spread differently over files."""
    records = [proposal(data(f"t{i}"), "domains", {"domains": [SHOP]}) for i in range(40)]
    records += [proposal(person("ben"), "groupMembership", {"groups": [STAFF]}), *SET_ASIDE]
    records += [policy("taggers", actors={"groups": [STAFF]}, resources=where("DOMAIN", SALES))]
    shuffled = random.Random(1).sample(records, len(records))
    one = written(tmp_path / "1", {"all.json": records})
    parts = {f"{i}.jsonl": shuffled[i::7] for i in range(7)}
    many = written(tmp_path / "2", parts)
    first = ingest(one, tmp_path / "one", spark=spared.session())
    spared.spare_nothing(monkeypatch)

    def failing(*_: object) -> Content:
        raise OSError("no space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(DirectoryDraft, "write", failing)
        with pytest.raises(OSError, match="no space left"):
            ingest(many, tmp_path / "many", spark=spark)
    assert shown(tmp_path / "many") == []
    again = ingest(many, tmp_path / "many", spark=spark)
    assert again.report.reused == ("read", "check")
    assert first.report.quarantined == {"bad name": 1, "bad statement": 1, "cycle": 2}
    told = [{**one.report.table(one.manifest), **AS_READ} for one in (first, again)]
    assert told[0] == told[1]
    # Rows set aside are reported with file and line.
    tables = [{**one.manifest.tables, QUARANTINE: None} for one in (first, again)]
    assert tables[0] == tables[1]


def _malformed(tmp_path: Path, text: str) -> DatahubFile:
    source = written(tmp_path / "in", {"a.json": FIRST, "c.json": FIRST})
    (tmp_path / "in/b.json").write_text(text, "utf-8")
    return source


OWNERLESS = proposal(ORDERS, "ownership", {"owners": [{"type": "DATAOWNER"}]})
BAD_PATCH = proposal(ORDERS, "status", [{"op": "add", "path": "/removed", "value": "x"}], "PATCH")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[\n  {]", "b.json: line 2, column 4: expecting property name"),
        (
            json.dumps([SNAPSHOT, OWNERLESS], indent=1),
            "[1].aspect.json.owners[0].owner: expected a string",
        ),
        (json.dumps(BAD_PATCH), "b.json: line 1.aspect.json.removed: expected true or false"),
    ],
)
def test_a_file_with_an_error_is_refused_as_a_whole(
    unstarted: SparkSession, tmp_path: Path, text: str, message: str
) -> None:
    with pytest.raises(BadInput) as refused:
        ingest(_malformed(tmp_path, text), tmp_path / "out", spark=unstarted)
    assert message in str(refused.value)
    assert str(refused.value).startswith("b.json: line ")
    assert left(tmp_path / "out") == []


@pytest.mark.nightly
def test_owners_are_given_by_pattern(spark: SparkSession, tmp_path: Path) -> None:
    rules = tmp_path / "owners.toml"
    rules.write_text(
        '[[rule]]\npattern = ".*,shop[.]orders,"\nowners = ["urn:li:corpuser:cid"]\n', "utf-8"
    )
    source = written(tmp_path / "in", {"a.json": FIRST})
    result = ingest(source, tmp_path / "out", spark=spark, ownership=rules)
    assert (result.report.owners_added, result.report.owners_removed) == (1, 0)
    assert set(result.manifest.options) == {"ownership"}
    owners = {row.owner.name for row in load(tmp_path / "out").facts.owners}
    assert owners == {person("ana"), person("cid")}
    plain = ingest(source, tmp_path / "out", spark=spark)
    assert (plain.is_new, plain.manifest.version) == (True, 2)


def test_a_run_is_refused_before_it_begins(unstarted: SparkSession, tmp_path: Path) -> None:
    source = written(tmp_path / "in", {"a.json": FIRST})
    write_directory(tmp_path / "lake", {"entities": [("metalake", "lk", None, None)]})
    with pytest.raises(BadInput, match="holds a realm of the model `gravitino`"):
        ingest(source, tmp_path / "lake", spark=unstarted)
    with draft(tmp_path / "out"), pytest.raises(Conflict, match="another process works on"):
        ingest(source, tmp_path / "out", spark=unstarted)
    with pytest.raises(BadInput, match="no such file or folder"):
        ingest(DatahubFile(tmp_path / "nowhere"), tmp_path / "out", spark=unstarted)
    with pytest.raises(BadInput, match="setting"):
        ingest(source, tmp_path / "out", spark=unstarted, settings={"bootstrap": "x"})
    assert left(tmp_path / "out") == []


def test_every_row_that_was_set_aside_says_what_why_and_whence(
    unstarted: SparkSession, tmp_path: Path
) -> None:
    source = written(tmp_path / "in", {"a.json": [proposal("urn:li:tag:", "status", {})]})
    ingest(source, tmp_path / "out", spark=unstarted)
    assert pq.read_table(tmp_path / f"out/versions/1/{QUARANTINE}").to_pylist() == [
        {
            "table": "entities",
            "row": '["tag","urn:li:tag:"]',
            "reason": "bad name",
            "detail": "the key of `urn:li:tag:` is empty or has a space at an end",
            "place": "a.json: line 2: [0].aspect.json",
        }
    ]


@pytest.mark.skipif(not REAL.is_dir(), reason="the real files are not here")
def test_real_files_of_2021_are_ingested(unstarted: SparkSession, tmp_path: Path) -> None:
    result = ingest(DatahubFile(REAL), tmp_path / "out", spark=unstarted)
    assert {table: rows.came_in for table, rows in result.report.rows.items()} == {
        "entities": 118,
        "relations": 4,
        "attributes": 1,  # the type of a column with a tag
        "owners": 23,
        "principals": 9,
        "memberships": 0,
        "placements": 14,
        "statements": 0,
    }
    assert result.report.quarantined == {}
    facts = load(tmp_path / "out").facts
    job, flow = (
        "urn:li:dataJob:(urn:li:dataFlow:(airflow,dag_abc,PROD),task_123)",
        "urn:li:dataFlow:(airflow,dag_abc,PROD)",
    )
    assert EntityRow(Entity("dataJob", job), Entity("dataFlow", flow)) in facts.entities
