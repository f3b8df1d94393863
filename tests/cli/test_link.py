"""`lakewarden link`, `pipeline link`, `load` of links, and questions about several realms."""

from __future__ import annotations

import io
import json
import shutil
from collections.abc import Callable
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from lakewarden.cli import main
from tests.app.threaded import threaded
from tests.cli.realms import Cli, write_gravitino, write_realm
from tests.cli.stores import Admin

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TABLE, OTHER = "table:lk:c.s.t", "table:lk:c.s.u"
DATASET = "dataset:s.t"
URN = "urn:li:dataset:(urn:li:dataPlatform:hive,s.t,PROD)"

RULES = """
keeper = "hive"

[[rule]]
name = "tables"
[rule.realms]
gravitino = "table:lk:c.{schema}.{table}"
cdap = "dataset:{schema}.{table}"
"""


@pytest.fixture(scope="module")
def furnished(tmp_path_factory: pytest.TempPathFactory, initialized: Path) -> Path:
    """Two realms as directories and in a store: `zoe` reads in CDAP what `ana` reads in Gravitino.

    Tests copy it.
    """
    folder = tmp_path_factory.mktemp("linked")
    write_gravitino(folder / "lake")
    write_realm(
        folder / "app",
        "cdap",
        entities=["namespace:s", DATASET],
        principals=["user:zoe", "user:ana"],
        statements=[{"id": "etl", "privileges": ["READ"], "to": ["user:zoe"], "on": DATASET}],
    )
    shutil.copytree(initialized, folder, dirs_exist_ok=True)
    at = ("--database", f"sqlite:///{folder}/store.db")
    with redirect_stdout(io.StringIO()):
        for name, realm in (("lake", "gravitino"), ("app", "cdap")):
            assert main(["load", str(folder / name), "--realm", realm, *at]) == 0
    return folder


@pytest.fixture
def folders(tmp_path: Path, furnished: Path) -> tuple[Path, Path]:
    """Both realms as directories."""
    shutil.copytree(furnished, tmp_path, dirs_exist_ok=True)
    return tmp_path / "lake", tmp_path / "app"


@pytest.fixture
def admin(cli: Cli, tmp_path: Path, folders: tuple[Path, Path]) -> Admin:
    """Both realms in a store."""
    return Admin(cli, f"sqlite:///{tmp_path}/store.db")


ENDS = (f"gravitino={TABLE}", f"cdap={DATASET}")


def listed(admin: Admin, *words: str) -> Any:
    return json.loads(admin("link", "list", "--format", "json", *words).out)["links"]


def test_links_are_added_listed_and_removed(admin: Admin) -> None:
    assert listed(admin) == []
    admin("link", "add", *ENDS)
    (one,) = listed(admin)
    assert one == {
        "one": {"realm": "cdap", "entity": DATASET},
        "other": {"realm": "gravitino", "entity": TABLE},
        "keeper": "",
    }
    assert listed(admin, "--realm", "datahub") == []
    assert listed(admin, "--realm", "cdap", "--entity", DATASET) == [one]
    shown = admin("link", "list").out
    assert f"cdap={DATASET}" in shown
    assert f"gravitino={TABLE}" in shown
    admin("link", "remove", *ENDS)
    assert admin.ask("link", "list").code == 1


def test_links_written_as_a_file_are_read_back_with_their_keepers(
    admin: Admin, tmp_path: Path
) -> None:
    file = tmp_path / "links.toml"
    text = f'[[link]]\nsame = ["cdap={DATASET}", "gravitino={TABLE}"]\nkeeper = "hive"\n'
    file.write_text(f'{text}\n[[link]]\nsame = ["cdap=dataset:a.b", "cdap={DATASET}"]\n', "utf-8")
    admin("link", "add", "--file", str(file))
    before = listed(admin)
    assert [one["keeper"] for one in before] == ["", "hive"]
    written = admin("link", "list", "--format", "toml").out
    for one in before:
        ends = (f"{one[name]['realm']}={one[name]['entity']}" for name in ("one", "other"))
        admin("link", "remove", *ends)
    file.write_text(written, "utf-8")
    admin("link", "add", "--file", str(file))
    assert listed(admin) == before


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("add", "gravitino=table:lk:c.s.none", f"cdap={DATASET}"), "it is not stored"),
        (("add", TABLE, f"cdap={DATASET}"), f"expected REALM=type:name, got `{TABLE}`"),
        (("add", f"cdap={DATASET}"), "give two entities, or --file FILE"),
        (("add", *ENDS, "--file", "x.toml"), "give two entities, or --file FILE"),
        (("add", f"moon={TABLE}", f"cdap={DATASET}"), "unknown realm `moon`"),
        (("list", "--entity", TABLE), "--realm: name the realm of the entity"),
    ],
)
def test_what_is_no_link_is_refused(admin: Admin, words: tuple[str, ...], expected: str) -> None:
    found = admin.ask("link", *words)
    assert found.code == 2
    assert expected in found.err


def links(folder: Path, rows: list[tuple[str, ...]]) -> Path:
    """A directory of links, written without Spark."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    from lakewarden.pipeline.link_directory import COLUMNS, Manifest, digest

    place = folder / "versions/1/links"
    place.mkdir(parents=True)
    columns = [[row[at] for row in rows] for at in range(len(COLUMNS))]
    arrays = [pa.array(column, pa.string()) for column in columns]
    pq.write_table(pa.table(arrays, names=list(COLUMNS)), place / "part-0.parquet")
    manifest = Manifest("hive", "0" * 64, 1, (), len(rows), digest(rows))
    (folder / "manifest.json").write_text(manifest.text(), "utf-8")
    return folder


ROW = ("cdap", "dataset", "s.t", "gravitino", "table", "lk:c.s.t", "tables")


def test_links_are_loaded_once_and_taken_away_on_request(admin: Admin, tmp_path: Path) -> None:
    folder = links(tmp_path / "links", [ROW])
    assert "links of hive: revision" in admin("load", str(folder)).out
    before = admin.revision()
    assert "no changes" in admin("load", str(folder)).out
    assert admin.revision() == before
    assert [one["keeper"] for one in listed(admin)] == ["hive"]
    empty = links(tmp_path / "empty", [])
    assert "--prune removes them (1 links)" in admin("load", str(empty)).err
    assert len(listed(admin)) == 1
    found = json.loads(admin("load", str(empty), "--prune", "--format", "json").out)
    assert (found["keeper"], found["gone"], found["pruned"]) == ("hive", 1, True)
    assert listed(admin) == []
    refused = admin.ask("load", str(folder), "--realm", "cdap")
    assert (refused.code, "--realm: links name their realms" in refused.err) == (2, True)
    assert "--realm: name the realm" in admin.ask("load", str(tmp_path / "lake")).err


@pytest.fixture(params=["files", "database", "server"])
def asking(
    request: pytest.FixtureRequest,
    cli: Cli,
    admin: Admin,
    tmp_path: Path,
    folders: tuple[Path, Path],
    monkeypatch: pytest.MonkeyPatch,
) -> Any:
    """The same linked realms, queried in each of the three places; `ask` returns JSON."""
    folder = links(tmp_path / "links", [ROW])
    admin("load", str(folder))
    lake, app = folders
    where: dict[str, list[str]] = {
        "files": ["--from", str(lake), "--from", f"cdap={app}", "--links", str(folder)],
        "database": ["--database", admin.url, "--realm", "gravitino", "--realm", "cdap"],
    }

    def ask(*words: str) -> Any:
        found = cli(*words, *where[request.param], "--format", "json")
        assert found.code in (0, 1), found.err
        return json.loads(found.out)

    if request.param != "server":
        yield ask
        return
    root = "root-token-of-the-tests-5Vq8Zt2LxW"
    guarded: dict[str, Any] = {"auth": "token", "admin": "root", "root_token": root}
    with threaded(tmp_path / "served", None, database=admin.url, **guarded) as served:
        monkeypatch.setenv("LAKEWARDEN_TOKEN", root)
        where["server"] = ["--server", served.address, "--realm", "gravitino", "--realm", "cdap"]
        yield ask


Ask = Callable[..., Any]


def test_one_question_has_one_answer_wherever_it_is_asked(asking: Ask) -> None:
    found = asking("access", TABLE)
    assert [one["realm"] for one in found["assets"]] == ["cdap", "gravitino"]
    read = {
        one["person"]: [by["realm"] for by in one["by"] if by["way"] == "read"]
        for one in found["people"]
    }
    assert read == {"ana": ["gravitino"], "zoe": ["cdap"]}
    opened = {s["id"] for one in found["people"] for by in one["by"] for s in by["statements"]}
    assert opened == {"read", "etl"}
    who = asking("who", "read", TABLE)
    assert [one["person"] for one in who["union"]] == ["ana", "zoe"]
    assert asking("access", DATASET, "--way", "change")["total"] == 0
    mine = asking("list", "zoe", "read")
    entities = [(one["realm"], e["name"]) for one in mine["realms"] for e in one["entities"]]
    assert entities == [("cdap", "s.t")]
    assert asking("list", "ana", "see", "--count")["total"] == 5
    why = asking("explain", "zoe", "read", TABLE)
    verdicts = {one["realm"]: one["explanation"]["allow"] for one in why["realms"]}
    assert verdicts == {"cdap": True, "gravitino": False}


def test_answers_are_shown_to_people(cli: Cli, admin: Admin) -> None:
    admin("link", "add", *ENDS)
    everywhere = ("--all-realms",)
    access = admin("access", TABLE)
    assert "etl" in access.out
    assert "read over role" not in access.out
    assert "group:staff → role:lk:readers" in access.out
    who = admin("who", "read", TABLE, *everywhere)
    assert who.out.split() == ["user", "in", "ana", "gravitino", "zoe", "cdap"]
    assert "datahub: has no entity linked to this entity" in who.err
    listing = admin("list", "zoe", "read", *everywhere)
    assert listing.out.split() == [
        *("realm", "operation", "entity", "cdap"),
        "dataset.read",
        DATASET,
    ]
    limited = admin("list", "ana", "see", "--limit", "1", *everywhere)
    assert "shown; --limit shows more" in limited.err
    count = admin("list", "zoe", "read", "--count", *everywhere)
    assert count.out.strip() == "1"
    why = admin("explain", "zoe", "read", TABLE, *everywhere)
    assert "in cdap\nzoe may dataset.read on dataset:s.t" in why.out
    assert "in gravitino\nzoe may not table.load" in why.out
    nobody = admin.ask("who", "change", TABLE, *everywhere)
    assert (nobody.code, "nobody may" in nobody.err) == (1, True)
    closed = admin.ask("access", OTHER, "--way", "change")
    assert (closed.code, "nobody has access" in closed.err) == (1, True)


def test_an_option_for_one_realm_asks_one_realm_of_a_database(
    cli: Cli, admin: Admin, folders: tuple[Path, Path]
) -> None:
    stored = ("--realm", "gravitino", "--database", admin.url, "--format", "json")
    for words in (
        ("list", "ana", "table.load", "--within", "schema:lk:c.s", "--limit", "1"),
        ("list", "ana", "table.load", "--after", "schema:lk:c.s"),
        ("who", "--unmasked", "column:lk:c.s.t.amount"),
    ):
        found = cli(*words, *stored)
        assert found.code == 0, found.err
        assert found.json == cli(*words, "--from", str(folders[0]), "--format", "json").json
    attribute = cli("explain", "ana", "table.load", TABLE, *stored, "--attribute", "a=b")
    assert "--attribute: unknown `a`" in attribute.err
    # Without such an option, the answer keeps the form for several realms.
    assert "realms" in cli("list", "ana", "table.load", *stored).json


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (("who", "read", TABLE, "--database", "DB"), "name the realms with --realm, or give"),
        (("who", "read", TABLE, "--database", "DB", "--all-realms", "--realm", "x"), "give either"),
        (("access", TABLE, "--database", "DB", "--from", "LAKE"), "give one of --from DIR"),
        (("access", TABLE, "--database", "DB", "--links", "x"), "--links: needs --from"),
        (("access", TABLE, "--from", "LAKE", "--from", "LAKE"), "two directories have the realm"),
        (("access", TABLE, "--database", "DB", "--limit", "0"), "--limit: expected 1 or more"),
        (("access", "moon:x", "--database", "DB"), "no realm that you may query can contain it"),
        (
            ("list", "ana", "see", "--database", "DB", "--all-realms", "--within", TABLE),
            "need exactly one realm",
        ),
        (
            ("who", "see", TABLE, "--database", "DB", "--all-realms", "--attribute", "a=b"),
            "--attribute: attributes need exactly one realm",
        ),
    ],
)
def test_what_does_not_go_together_is_refused(
    cli: Cli, admin: Admin, folders: tuple[Path, Path], words: tuple[str, ...], expected: str
) -> None:
    places = {"DB": admin.url, "LAKE": str(folders[0])}
    found = cli(*(places.get(word, word) for word in words))
    assert found.code == 2
    assert expected in found.err


def test_the_pipeline_links_what_the_rules_say(
    cli: Cli, admin: Admin, folders: tuple[Path, Path], spark: SparkSession, tmp_path: Path
) -> None:
    rules, out = tmp_path / "rules.toml", tmp_path / "linked"
    rules.write_text(RULES, "utf-8")
    lake, app = folders
    words = ["pipeline", "link", "--rules", str(rules), "--out", str(out)]
    where = ["--from", str(lake), "--from", f"cdap={app}"]
    found = cli(*words, *where)
    assert found.code == 0, found.err
    assert f"{out}: version 1, 1 links" in found.out
    assert f"no counterpart: gravitino: {OTHER}" in found.out
    assert "rule tables: 1 links" in found.out
    admin("load", str(out))
    assert [one["keeper"] for one in listed(admin)] == ["hive"]
    assert cli(*words, *where, "--from", f"hub={lake}").code == 2
    assert "no directory for realm `cdap`" in cli(*words, "--from", str(lake)).err
