"""Every verb works on a realm of a custom model, from its file to its access review."""

from __future__ import annotations

import io
import json
import shutil
import tomllib
from contextlib import redirect_stdout
from pathlib import Path
from typing import Final

import pytest

from lakewarden.cli import main
from lakewarden.store import backup, open_store
from tests.cli.realms import Cli
from tests.cli.stores import Admin
from tests.own_model import GIVEN, NAME, NO_READ, STRICTER, TEXT
from tests.pipeline import spared

TABLES: Final = {
    "entities.csv": """type,name,parent_type,parent_name
workspace,home,,
folder,plans,workspace,home
document,budget,folder,plans
document,poem,workspace,home
""",
    "owners.csv": "type,name,owner_kind,owner_name,ownership\ndocument,poem,user,cid,\n",
    "attributes.csv": "type,name,attribute,value\ndocument,budget,status,archived\n",
    "principals.csv": "kind,name\nuser,ana\nuser,ben\nuser,cid\ngroup,staff\n",
    "memberships.csv": "member_kind,member_name,of_kind,of_name\nuser,ana,group,staff\n",
    "statements.jsonl": """
{"id": "staff-read", "privileges": ["READ"], "to": "group:staff", "on": "workspace:home"}
{"id": "ben-writes", "privileges": ["WRITE"], "to": "user:ben", "on": "folder:plans"}
""",
}

POLICY: Final = """
[[statement]]
id = "cid-reads"
privileges = ["READ"]
to = ["user:cid"]
on = "folder:plans"
"""


@pytest.fixture(autouse=True)
def _no_spark(monkeypatch: pytest.MonkeyPatch) -> None:
    spared.spare(monkeypatch)


@pytest.fixture(scope="module")
def furnished(tmp_path_factory: pytest.TempPathFactory, initialized: Path) -> Path:
    """The model, the directory that the pipeline ingests from tables, and a store with its rows.

    Tests copy it.
    """
    folder = tmp_path_factory.mktemp("own")
    shutil.copytree(initialized, folder, dirs_exist_ok=True)
    model, source, out = (str(folder / name) for name in ("documents.toml", "in", "ingested"))
    Path(model).write_text(TEXT, "utf-8")
    Path(source).mkdir()
    for name, text in TABLES.items():
        Path(source, name).write_text(text, "utf-8")
    at = ("--database", f"sqlite:///{folder}/store.db")
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(io.StringIO()):
        spared.spare(patch)
        for words in (
            ("pipeline", "ingest", source, "--source", "csv", "--model", model, "--out", out),
            ("realm", "create", "mine", "--model", model, *at),
            ("load", out, "--realm", "mine", *at),
        ):
            assert main(words) == 0
    return folder


@pytest.fixture
def model(furnished: Path) -> str:
    return str(furnished / "documents.toml")


@pytest.fixture
def ingested(furnished: Path, tmp_path: Path) -> str:
    """The directory that the pipeline ingests from the tables."""
    return str(shutil.copytree(furnished / "ingested", tmp_path / "ingested"))


@pytest.fixture
def stored(cli: Cli, furnished: Path, tmp_path: Path) -> Admin:
    """A store with a realm of the model, which contains the directory's rows."""
    for file in furnished.glob("store.db*"):
        shutil.copy(file, tmp_path)
    return Admin(cli, f"sqlite:///{tmp_path}/store.db")


def test_a_realm_is_made_of_a_file_and_listed(stored: Admin) -> None:
    listed = json.loads(stored("realm", "list", "--format", "json").out)
    found = next(one for one in listed if one["name"] == "mine")
    assert (found["model"], found["digest"], found["entities"]) == (NAME, GIVEN.digest, 4)


def test_what_is_no_model_makes_no_realm(admin: Admin, tmp_path: Path) -> None:
    file = tmp_path / "odd.toml"
    for text, said in (
        (TEXT.replace('"plain"', '"odd"'), "model.spelling: expected `plain`"),
        (TEXT.replace('"documents"  ', '"cdap"  '), "model.name: `cdap` is a shipped model"),
        (TEXT.replace("[types.folder]", "[types.folder"), "(at line"),
        ("#" * 300_000, "a model has 262,144 at most"),
    ):
        file.write_text(text, "utf-8")
        found = admin.ask("realm", "create", "odd", "--model", str(file))
        assert (found.code, found.out) == (2, ""), said
        assert said in found.err
    file.write_bytes(b"\xff")
    for name, said in ((str(file), "expected UTF-8"), ("./gone.toml", "no such file")):
        found = admin.ask("realm", "create", "odd", "--model", name)
        assert found.code == 2
        assert said in found.err


QUESTIONS: Final = {
    ("check", "ana", "document.read", "document:budget"): True,
    ("check", "ana", "document.write", "document:budget"): False,
    ("check", "ben", "document.write", "document:budget"): False,  # it is archived
    ("check", "ben", "document.create", "folder:plans"): True,
    ("check", "cid", "document.delete", "document:poem"): True,
    ("check", "ben", "document.read", "document:not-there"): False,
    ("explain", "ana", "document.read", "document:budget"): True,
    ("list", "ana", "document.read"): ["document:budget", "document:poem"],
    ("list", "cid", "document.read"): ["document:poem"],
    ("who", "document.read", "document:budget"): ["ana", "ben"],
    ("privileges", "ana", "document:budget"): ["READ"],
    ("operations", "--about", "document"): ["document.write"],
}


@pytest.mark.by_day(5)
@pytest.mark.parametrize(("words", "answer"), QUESTIONS.items(), ids=str)
def test_every_question_is_answered_from_the_store_and_from_the_directory(
    stored: Admin, ingested: str, words: tuple[str, ...], answer: bool | list[str]
) -> None:
    at = ("--database", stored.url, "--realm", "mine")
    for found in (stored.cli(*words, *at), stored.cli(*words, "--from", ingested)):
        assert found.code == (1 if answer is False else 0), found.err
        if isinstance(answer, list):
            said = {"document:budget", "document:poem", "ana", "ben", "cid", "READ", "WRITE"}
            shown = {word for line in found.lines for word in line.split()}
            assert set(answer) <= shown
            assert words[0] == "operations" or shown & said - {*words} == set(answer) - {*words}


def test_the_linter_and_policy_files_work_on_it(stored: Admin, tmp_path: Path) -> None:
    file = tmp_path / "policy.toml"
    file.write_text(POLICY, "utf-8")
    of = ("--realm", "mine")
    planned = stored("plan", str(file), *of)
    assert planned.code == 1
    assert "cid can see and read document:budget" in planned.out
    exactly = planned.err.partition("to apply exactly this:")[2].split()
    assert stored("apply", str(file), *of, *exactly).code == 0
    assert stored("check", "cid", "document.read", "document:budget", *of).code == 0
    linted = stored.ask("lint", *of, "--format", "json")
    assert linted.code in (0, 1), linted.err
    exported = tmp_path / "exported.toml"
    for form in ("toml", "yaml"):
        stored("export", *of, "--format", form, "--out", str(exported.with_suffix(f".{form}")))
        again = stored.ask("plan", str(exported.with_suffix(f".{form}")), *of)
        assert (again.code, again.err) == (0, "")
    table = tomllib.loads(exported.read_text("utf-8"))
    assert table["model"] == {"text": TEXT, "digest": GIVEN.digest}


def test_an_export_is_for_realms_of_the_same_model(stored: Admin, tmp_path: Path) -> None:
    exported, other = tmp_path / "exported.toml", tmp_path / "other.toml"
    stored("export", "--realm", "mine", "--out", str(exported))
    other.write_text(TEXT.replace('rule = "KEEPER"', 'rule = "MANAGE"'), "utf-8")
    stored("realm", "create", "other", "--model", str(other))
    text = exported.read_text("utf-8").replace('realm = "mine"', 'realm = "other"')
    exported.write_text(text, "utf-8")
    found = stored.ask("plan", str(exported), "--realm", "other")
    assert found.code == 2
    assert "model: is for another version of the model" in found.err


def test_a_load_of_another_edition_is_refused(
    stored: Admin, tmp_path: Path, ingested: str, model: str
) -> None:
    Path(model).write_text(TEXT.replace('rule = "KEEPER"', 'rule = "MANAGE"'), "utf-8")
    stored("realm", "create", "other", "--model", model)
    found = stored.ask("load", ingested, "--realm", "other")
    assert found.code == 2
    assert "another version of the model `documents`" in found.err


def test_a_stored_realm_goes_through_the_pipeline_with_its_model(
    stored: Admin, tmp_path: Path
) -> None:
    names = ("read", "index", "review")
    read, index, review = (str(tmp_path / name) for name in names)
    words = ("ingest", stored.url, "--source", "store", "--realm", "mine", "--out", read)
    for asked in (words, ("index", read, "--out", index), ("review", index, "--out", review)):
        found = stored.cli("pipeline", *asked)
        assert found.code == 0, found.err
    assert json.loads(Path(read, "manifest.json").read_text("utf-8"))["model_text"] == {
        "text": TEXT,
        "digest": GIVEN.digest,
    }
    people = stored.cli("pipeline", "people", review, "document:budget", "--format", "csv")
    assert {"ana", "ben"} == {name for name in ("ana", "ben", "cid") if f"{name}" in people.out}


def test_a_directory_whose_model_was_changed_is_refused(cli: Cli, ingested: str) -> None:
    manifest = Path(ingested, "manifest.json")
    manifest.write_text(manifest.read_text("utf-8").replace("'archived' or KEEPER", "'' or READ"))
    found = cli("check", "ana", "document.write", "document:poem", "--from", ingested)
    assert found.code == 2
    assert "does not have its digest" in found.err


def test_a_closed_realm_is_named_by_the_doctor(stored: Admin) -> None:
    from sqlalchemy import text

    with open_store(stored.url) as store, store.engine.begin() as connection:
        connection.execute(text("UPDATE models SET text = '#'"))
    found = stored.ask("doctor", "--format", "json")
    assert found.code == 1
    assert "mine is closed: documents: the text of the model does not have its digest" in found.out
    asked = stored.ask("check", "ana", "document.read", "document:budget", "--realm", "mine")
    assert asked.code == 3
    assert "realm `mine` is closed" in asked.err


def test_a_backup_brings_the_model_along(stored: Admin, tmp_path: Path) -> None:
    file, url = tmp_path / "saved", f"sqlite:///{tmp_path / 'again.db'}"
    stored("backup", str(file))
    backup.restore(file, url)
    asked = ("check", "ana", "document.read", "document:budget", "--realm", "mine")
    assert stored.cli(*asked, "--database", url).code == 0


def test_an_upgrade_is_planned_refused_and_applied(stored: Admin, tmp_path: Path) -> None:
    file = tmp_path / "next.toml"
    file.write_text(STRICTER.text, "utf-8")
    asked = ("realm", "upgrade", "mine", "--model", str(file))
    before = stored.revision()
    planned = stored(*asked)
    assert (planned.code, stored.revision()) == (1, before)
    assert planned.lines[0].startswith(f"mine: would be upgraded from {GIVEN.digest[:12]} to ")
    assert "  ~ document.read" in planned.lines
    assert "ana can no longer read 2 × document" in planned.out
    assert stored(*asked, "--apply").code == 0
    assert stored.revision() == before + 1
    again = stored(*asked)
    assert (again.code, again.lines) == (
        0,
        [f"mine: has this model already, at revision {before + 1}"],
    )
    question = ("check", "ana", "document.read", "document:budget", "--realm", "mine")
    assert stored(*question).code == 1


def test_an_upgrade_drops_what_it_orphans_only_where_that_is_said(
    stored: Admin, tmp_path: Path
) -> None:
    file = tmp_path / "next.toml"
    file.write_text(NO_READ.text, "utf-8")
    asked = ("realm", "upgrade", "mine", "--model", str(file))
    planned = stored(*asked)
    assert "unknown to the new model: --drop drops it" in planned.lines
    assert any(line.startswith("  - statement staff-read: ") for line in planned.lines)
    refused = stored.ask(*asked, "--apply")
    assert refused.code == 2
    assert "orphans 1 × statement, such as statement `staff-read`" in refused.err
    assert stored.ask(*asked, "--drop").code == 2
    done = json.loads(stored(*asked, "--apply", "--drop", "--format", "json").out)
    assert (done["applied"], done["orphaned"]) == (True, {"statement": 1})
    shipped = stored.ask("realm", "upgrade", "gravitino", "--model", str(file))
    assert (shipped.code, shipped.out) == (2, "")
