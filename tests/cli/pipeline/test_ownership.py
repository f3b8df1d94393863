"""`lakewarden pipeline ownership`: changes only the owners of a directory."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.relations import OwnerRow
from lakewarden.pipeline import directory_manifest
from lakewarden.pipeline.directory import check_tables, load
from lakewarden.pipeline.directory_manifest import read_manifest
from lakewarden.service.source_row import COUNTED
from tests.cli.realms import DATASET, OTHER, Cli, write_datahub

STAFF = "urn:li:corpGroup:staff"
STEWARDS = "urn:li:ownershipType:stewards"

RULES = f"""
ownership_type = "{STEWARDS}"
[[rule]]
pattern = '.*,shop[.]orders,'
owners = ["{STAFF}", "urn:li:corpuser:ana"]
[[rule]]
pattern = '.*,shop'
owners = ["urn:li:corpuser:ben"]
"""

WRITTEN = """
[[statement]]
id = "urn:li:dataHubPolicy:mine"
privileges = ["EDIT_ENTITY"]
to = ["user:urn:li:corpuser:eve"]
"""


def owned(folder: Path) -> set[tuple[str, str, str]]:
    return {(row.entity.name, row.owner.name, row.ownership) for row in load(folder).facts.owners}


@pytest.mark.nightly
@pytest.mark.usefixtures("spark")
def test_the_owners_of_a_directory_change_and_nothing_else(cli: Cli, tmp_path: Path) -> None:
    source, out, rules = tmp_path / "in", tmp_path / "out", tmp_path / "owners.toml"
    write_datahub(source)
    (source / "statements").mkdir()
    (source / "statements" / "mine.toml").write_text(WRITTEN, "utf-8")
    rules.write_text(RULES, "utf-8")
    words = ("pipeline", "ownership", str(source), "--rules", str(rules), "--out")
    found = cli(*words, str(out))
    assert found.lines[0] == f"{out}: version 1 of realm datahub"
    assert "owners by pattern: 3 added, 0 removed" in found.lines
    added = {
        (DATASET, STAFF, STEWARDS),
        (DATASET, "urn:li:corpuser:ana", STEWARDS),
        (OTHER, "urn:li:corpuser:ben", STEWARDS),
    }
    assert owned(out) == {(DATASET, STAFF, ""), *added}
    before, after = load(source).facts, load(out).facts
    assert replace(after, owners=before.owners) == before
    assert cli(*words, str(out), "--format", "json").json["new"] is False
    patched: Any = cli(*words, str(source), "--semantics", "PATCH", "--format", "json").json
    assert (patched["version"], patched["owners"]) == (2, {"added": 3, "removed": 1})
    assert owned(source) == added
    assert set(patched["rows"]) == set(COUNTED)
    assert patched["rows"]["statements"]["out"] == read_manifest(source).statements.rows
    places = sum(row.parent is not None for row in before.entities)
    assert patched["rows"]["placements"]["out"] == places
    assert OwnerRow(
        Entity("dataset", OTHER), Principal("user", "urn:li:corpuser:ben"), STEWARDS
    ) in (load(source).facts.owners)


@pytest.mark.nightly
@pytest.mark.usefixtures("spark")
def test_large_tables_of_an_earlier_format_get_digests_of_this_one(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source, out, rules = tmp_path / "in", tmp_path / "out", tmp_path / "owners.toml"
    write_datahub(source)
    rules.write_text(RULES, "utf-8")
    monkeypatch.setattr(directory_manifest, "CHUNK_ROWS", 2)
    assert not read_manifest(source).in_chunks
    found = cli("pipeline", "ownership", str(source), "--rules", str(rules), "--out", str(out))
    assert found.code == 0
    manifest = read_manifest(out)
    assert manifest.in_chunks
    check_tables(out, manifest)
    assert load(out).facts.entities == load(source).facts.entities


@pytest.mark.usefixtures("spark")
def test_what_cannot_be_owned_so_is_refused(cli: Cli, tmp_path: Path) -> None:
    rules = tmp_path / "owners.toml"
    rules.write_text(RULES, "utf-8")
    words = ("--rules", str(rules), "--out", str(tmp_path / "out"))
    found = cli("pipeline", "ownership", str(cli.folders["gravitino"]), *words)
    assert found.code == 2
    assert "owners by pattern are for datasets of DataHub" in found.err
    source = write_datahub(tmp_path / "in")
    part = next((source / "versions/1/principals").iterdir())
    part.write_bytes((source / "versions/1/memberships" / part.name).read_bytes())
    found = cli("pipeline", "ownership", str(source), *words)
    assert found.code == 2
    assert "versions/1/principals" in found.err
    found = cli("pipeline", "ownership", str(tmp_path / "none"), *words)
    assert found.code == 2
    assert "no ingested directory" in found.err
