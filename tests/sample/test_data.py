"""The files of the sample estate: their format, and the consistency of the three systems."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any, Final

import lakewarden
from lakewarden import sample
from tests.sample.estate import members, people

MAX_BYTES: Final = 1536 * 1024
AREAS: Final = frozenset(
    ("customers", "finance", "marketing", "people", "reference", "sales", "supply", "web")
)


def files() -> dict[str, str]:
    """The text of each file, by its path."""
    paths = (path for path in sample.DATA.rglob("*") if path.is_file())
    return {path.relative_to(sample.DATA).as_posix(): path.read_text("utf-8") for path in paths}


def records(system: str, file: str = "") -> list[dict[str, Any]]:
    """The records of a file."""
    records: list[dict[str, Any]] = json.loads((sample.path(system) / file).read_text("utf-8"))
    return records


def test_the_sample_files_are_small_enough_to_be_shipped() -> None:
    assert sum(len(text.encode()) for text in files().values()) < MAX_BYTES


def test_every_file_is_a_list_with_one_record_on_a_line() -> None:
    for name, text in files().items():
        assert len(json.loads(text)) == len(text.splitlines()) - 2, name


def test_there_are_sixty_people_and_twelve_groups_of_which_one_is_empty() -> None:
    names, groups = people().values(), members()
    assert len(set(names)) == len(names) == 60
    assert len(groups) == 12
    assert [group for group, people in groups.items() if not people] == ["interns"]


def test_people_and_groups_are_the_same_in_all_systems() -> None:
    assert records("cdap", "identity.json") == records("gravitino", "identity.json")
    groups: dict[str, set[str]] = {group: set() for group in members()}
    for record in records("datahub"):
        if record["aspectName"] == "groupMembership":
            for urn in record["aspect"]["json"]["groups"]:
                person = record["entityUrn"].rpartition(":")[2]
                groups[urn.rpartition(":")[2]].add(person)
    assert groups == members()


def test_tables_have_the_same_names_in_the_catalog_and_in_the_lake() -> None:
    urns = {record["entityUrn"] for record in records("datahub")}
    schemas = re.compile("/api/metalakes/quillmere/catalogs/lake/schemas/([^/]+)/tables")
    areas = set()
    for record in records("gravitino", "tables.json"):
        found = schemas.fullmatch(record["path"])
        if found is None or found[1] not in AREAS:
            continue
        areas.add(found[1])
        for table in record["reply"]["identifiers"]:
            name = f"lake.{found[1]}.{table['name']}"
            assert f"urn:li:dataset:(urn:li:dataPlatform:iceberg,{name},PROD)" in urns
    assert areas == AREAS


def test_the_readme_names_every_planted_mistake_by_something_that_exists() -> None:
    text = (Path(sample.__file__).parent / "README.md").read_text("utf-8")
    section = text.split("on purpose")[1]
    everything = "\n".join(files().values())
    rows = [line.split("|")[1:3] for line in section.splitlines() if line.startswith("| ")]
    named = [word for _, what in rows for word in re.findall(r"`([^`]+)`", what)]
    assert len(named) > 25
    for word in named:
        last = re.split(r"[:.…]+", word.rstrip("….*"))[-1]
        assert last in everything, word


def test_the_sample_is_part_of_the_package() -> None:
    assert sample.DATA.is_relative_to(Path(lakewarden.__file__).parent)
    assert sample.path("datahub").is_file()
    assert sample.path("gravitino").is_dir()
    assert sample.path("cdap").is_dir()
