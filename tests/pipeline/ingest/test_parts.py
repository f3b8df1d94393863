"""A realm from parts: each with a keeper, renewed alone; conflicts name the keepers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from lakewarden.kernel.errors import BadInput
from lakewarden.pipeline.directory import load
from lakewarden.pipeline.ingest.parts import read_parts
from lakewarden.pipeline.ingest.run import Result, ingest
from lakewarden.pipeline.ingest.tabular import Tabular
from lakewarden.service.warden import Warden

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ORDERS = "table:lk:c.s.orders"
TABLES = {
    "entities.csv": "type,name\nmetalake,lk\ncatalog,lk:c\nschema,lk:c.s\ntable,lk:c.s.orders\n",
    "owners.csv": "type,name,owner_kind,owner_name,ownership\ntable,lk:c.s.orders,user,dora,\n",
    "attributes.csv": "type,name,attribute,value\ncatalog,lk:c,type,relational\n",
}
PEOPLE = {
    "entities.csv": "type,name\nmetalake,lk\nuser,lk:ana\nuser,lk:dora\ngroup,lk:crew\n",
    "principals.csv": "kind,name\nuser,ana\nuser,dora\ngroup,crew\n",
    "memberships.csv": "member_kind,member_name,of_kind,of_name\n"
    "user,ana,implied,members:lk\nuser,dora,implied,members:lk\nuser,ana,group,crew\n",
    "statements.jsonl": json.dumps(
        {"id": "rogue", "privileges": ["SELECT_TABLE"], "to": ["user:dora"], "on": "metalake:lk"}
    ),
}
READ = {
    "id": "read",
    "privileges": ["USE_CATALOG", "USE_SCHEMA", "SELECT_TABLE"],
    "to": ["group:crew"],
    "on": "catalog:lk:c",
}
GRANTS = {
    "entities.csv": "type,name\nmetalake,lk\ncatalog,lk:c\n",
    "statements.jsonl": json.dumps(READ),
}
FILE = """
[parts.tables]
directory = "tables"
keeper = "group:platform"
takes = ["entities", "owners"]

[parts.grants]
directory = "grants"
keeper = "user:sam"
takes = ["statements"]

[parts.people]
directory = "people"
keeper = "group:hr"
takes = ["people"]
"""


def renewed(folder: Path, name: str, files: Mapping[str, str], spark: SparkSession) -> Result:
    place = folder / f"{name}-in"
    place.mkdir(exist_ok=True)
    for file, text in files.items():
        (place / file).write_text(text, "utf-8")
    return ingest(Tabular(place, "csv", "gravitino"), folder / name, spark=spark)


@pytest.fixture
def folder(unstarted: SparkSession, tmp_path: Path) -> Path:
    for name, files in (("tables", TABLES), ("people", PEOPLE), ("grants", GRANTS)):
        renewed(tmp_path, name, files, unstarted)
    (tmp_path / "parts.toml").write_text(FILE, "utf-8")
    return tmp_path


def together(folder: Path, spark: SparkSession) -> tuple[Warden, Result]:
    result = ingest(read_parts(folder / "parts.toml"), folder / "lake", spark=spark)
    loaded = load(folder / "lake")
    return Warden(loaded.system, loaded.facts), result


def test_each_part_gives_what_it_keeps(unstarted: SparkSession, folder: Path) -> None:
    warden, result = together(folder, unstarted)
    assert warden.who("table.load", ORDERS) == ("ana",)
    # the statement that came with the people is not their keeper's
    assert "rogue" not in {one.id for one in load(folder / "lake").facts.statements}
    assert result.manifest.source == "parts"
    assert result.manifest.options == {
        "part tables": "entities,owners; keeper group:platform",
        "part grants": "statements; keeper user:sam",
        "part people": "people; keeper group:hr",
    }
    assert "statements: 1 rows, of part people (keeper group:hr)" in result.report.not_read
    assert "entities: 3 rows, of part grants (keeper user:sam)" in result.report.not_read
    assert not together(folder, unstarted)[1].is_new


def test_a_part_is_renewed_alone(unstarted: SparkSession, folder: Path) -> None:
    before = together(folder, unstarted)[1].manifest
    memberships = PEOPLE["memberships.csv"].replace("user,ana,group", "user,dora,group")
    left = {**PEOPLE, "memberships.csv": memberships}
    assert renewed(folder, "people", left, unstarted).manifest.version == 2
    warden, result = together(folder, unstarted)
    assert warden.who("table.load", ORDERS) == ("dora",)
    assert result.manifest.version == 2
    changed = {*result.manifest.inputs} - {*before.inputs}
    assert {one.name for one in changed} == {"people"}


def test_a_conflict_names_both_keepers(unstarted: SparkSession, folder: Path) -> None:
    other = {**GRANTS, "attributes.csv": "type,name,attribute,value\ncatalog,lk:c,type,fileset\n"}
    renewed(folder, "grants", other, unstarted)
    text = FILE.replace('takes = ["statements"]', 'takes = ["statements", "entities"]')
    (folder / "parts.toml").write_text(text, "utf-8")
    with pytest.raises(BadInput) as refused:
        together(folder, unstarted)
    assert str(refused.value) == (
        "part tables (keeper group:platform) and part grants (keeper user:sam):"
        " catalog:lk:c has as type `relational` in one, `fileset` in the other"
    )
    assert not (folder / "lake" / "manifest.json").exists()


def test_a_role_of_two_parts_with_other_members_is_noted(
    unstarted: SparkSession, tmp_path: Path
) -> None:
    """It is one role here: a holder in one part gets the grants of the other part."""
    header = "member_kind,member_name,of_kind,of_name\n"
    for name, user in (("one", "ana"), ("two", "ben"), ("three", "ben")):
        files = {
            "principals.csv": f"kind,name\nuser,{user}\nrole,lk:readers\nrole,lk:of_{user}\n",
            "memberships.csv": header
            + "".join(f"user,{user},role,lk:{role}\n" for role in ("readers", f"of_{user}")),
        }
        renewed(tmp_path, name, files, unstarted)
    part = '[parts.{0}]\ndirectory = "{0}"\nkeeper = "user:sam"\ntakes = ["people"]\n'
    text = "".join(map(part.format, ("one", "two", "three")))
    (tmp_path / "parts.toml").write_text(text, "utf-8")
    _, result = together(tmp_path, unstarted)
    assert [(note.subject, note.what) for note in result.report.notes] == [
        (
            "role:lk:readers",
            "has other members in part one (keeper user:sam) and in part two (keeper user:sam)"
            " and in part three (keeper user:sam), and is one role here",
        )
    ]


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ('keeper = "user:sam"\n', "", 'parts."grants".keeper: expected a non-empty string'),
        ('keeper = "user:sam"', 'keeper = "role:lk:sam"', "keeper: expected a user or group"),
        ('["people"]', '["peoples"]', "unknown `peoples`; expected one of: entities, owners"),
        ('takes = ["people"]', "", "expected a string or a list of strings"),
        ('directory = "grants"', 'directory = "gone"', "no ingested directory"),
        ("[parts.grants]", "[grants]", "unknown key `grants`"),
        (FILE, "", "expected a table `[parts.NAME]` for each part"),
    ],
)
def test_a_malformed_file_is_refused(
    unstarted: SparkSession, folder: Path, before: str, after: str, message: str
) -> None:
    assert before in FILE
    (folder / "parts.toml").write_text(FILE.replace(before, after), "utf-8")
    with pytest.raises(BadInput) as refused:
        together(folder, unstarted)
    assert message in str(refused.value)


def test_parts_are_of_one_model_and_of_the_same_settings(
    unstarted: SparkSession, folder: Path
) -> None:
    place = folder / "grants-in"
    source = Tabular(place, "csv", "gravitino")
    ingest(source, folder / "grants", spark=unstarted, settings={"mode": "next"})
    with pytest.raises(BadInput, match="its statements are under `mode = next`"):
        together(folder, unstarted)
    (folder / "hub-in").mkdir()
    (folder / "hub-in" / "entities.csv").write_text("type,name\n", "utf-8")
    ingest(Tabular(folder / "hub-in", "csv", "datahub"), folder / "hub", spark=unstarted)
    (folder / "parts.toml").write_text(FILE.replace('"grants"', '"hub"'), "utf-8")
    with pytest.raises(BadInput, match="is of the model `datahub`"):
        together(folder, unstarted)
