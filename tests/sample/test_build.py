"""The sample estate: the same files whenever they are made, and of the promised shape."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import lakewarden
from lakewarden import sample
from lakewarden.sample import build, company
from lakewarden.systems.datahub import sample as datahub
from lakewarden.systems.gravitino import sample as gravitino

MAX_BYTES = 1536 * 1024


def stored() -> dict[str, str]:
    """The files that are shipped."""
    files = (file for file in sample.DATA.rglob("*") if file.is_file())
    return {f.relative_to(sample.DATA).as_posix(): f.read_text("utf-8") for f in files}


def test_the_files_are_those_that_the_program_writes() -> None:
    assert build.files() == stored()


def test_the_program_writes_them_byte_for_byte(tmp_path: Path) -> None:
    subprocess.run([sys.executable, "-m", "lakewarden.sample.build", str(tmp_path)], check=True)
    made = {f.relative_to(tmp_path): f.read_bytes() for f in tmp_path.rglob("*") if f.is_file()}
    kept = {f.relative_to(sample.DATA): f.read_bytes() for f in sample.DATA.rglob("*.json")}
    assert made == kept


def test_they_are_small_enough_to_be_shipped() -> None:
    assert sum(len(text.encode()) for text in stored().values()) < MAX_BYTES


def test_every_file_is_a_list_with_one_record_on_a_line() -> None:
    for name, text in stored().items():
        found = json.loads(text)
        assert isinstance(found, list), name
        assert len(found) == len(text.splitlines()) - 2, name


def test_there_are_sixty_people_and_twelve_groups() -> None:
    names = [person.name for person in company.PEOPLE]
    assert len(names) == len(set(names)) == 60
    assert names == sorted(names)
    assert len(company.GROUPS) == 12
    for person in company.PEOPLE:
        assert set(person.groups) <= set(company.GROUPS), person
        assert person.full_name.split()[0].casefold() == person.name
        assert person.title
    assert [group for group in company.GROUPS if not company.members(group)] == ["interns"]


def test_people_and_groups_are_the_same_in_all_systems() -> None:
    groups = {group: set(company.members(group)) for group in company.GROUPS}
    for folder in (sample.path("gravitino"), sample.path("cdap")):
        users, listed = json.loads((folder / "identity.json").read_text("utf-8"))
        names = {user["id"]: user["userName"] for user in users["reply"]["Resources"]}
        assert sorted(names.values()) == [person.name for person in company.PEOPLE]
        found = {
            group["displayName"]: {names[member["value"]] for member in group["members"]}
            for group in listed["reply"]["Resources"]
        }
        assert found == groups
    found = {group: set() for group in company.GROUPS}
    for record in datahub.records():
        if record["aspectName"] == "groupMembership":
            value = record["aspect"]["json"]  # type: ignore[index]
            for urn in value["groups"]:
                found[urn.rpartition(":")[2]].add(str(record["entityUrn"]).rpartition(":")[2])
    assert found == groups


def test_tables_have_the_same_names_in_the_catalog_and_in_the_lake() -> None:
    urns = {str(record["entityUrn"]) for record in datahub.records()}
    for area in company.AREAS:
        for table in area.tables:
            assert datahub.dataset("iceberg", f"lake.{area.name}.{table}") in urns
    lake = next(schemas for _, name, schemas in gravitino._contents() if name == "lake")
    assert {area.name: area.tables for area in company.AREAS}.items() <= dict(lake).items()


def test_the_readme_names_every_planted_mistake_by_something_that_exists() -> None:
    text = (Path(sample.__file__).parent / "README.md").read_text("utf-8")
    section = text.split("on purpose")[1]
    everything = "\n".join(stored().values())
    rows = [line.split("|")[1:3] for line in section.splitlines() if line.startswith("| ")]
    named = [word for _, what in rows for word in re.findall(r"`([^`]+)`", what)]
    assert len(named) > 25
    for word in named:
        last = re.split(r"[:.…]+", word.rstrip("….*"))[-1]
        assert last in everything, word


def test_it_is_part_of_the_package() -> None:
    assert sample.DATA.is_relative_to(Path(lakewarden.__file__).parent)
    assert sample.path("datahub").is_file()
    assert sample.path("gravitino").is_dir()
    assert sample.path("cdap").is_dir()
