"""Ingested directories: their contents; files outside the manifest are not read."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from lakewarden.kernel.entity import Entity
from lakewarden.kernel.errors import BadInput
from lakewarden.kernel.principal import Principal
from lakewarden.kernel.relations import EntityRow, MembershipRow, OwnerRow
from lakewarden.pipeline.chunk_digests import content_of
from lakewarden.pipeline.directory import load
from lakewarden.pipeline.directory_manifest import FORMAT, Manifest, read_manifest
from lakewarden.pipeline.version_folder import MANIFEST
from lakewarden.service.warden import Warden
from tests.pipeline.directories import Cells, write_directory, write_manifest, write_table

TABLES: dict[str, list[Cells]] = {
    "entities": [
        ("catalog", "lk:c", "metalake", "lk"),
        ("metalake", "lk", None, None),
        ("schema", "lk:c.s", "catalog", "lk:c"),
        ("table", "lk:c.s.t", "schema", "lk:c.s"),
    ],
    "owners": [("catalog", "lk:c", "user", "ana", "")],
    "principals": [("role", "lk:readers"), ("user", "ana"), ("user", "ben")],
    "memberships": [
        ("user", "ana", "implied", "members:lk"),
        ("user", "ben", "implied", "members:lk"),
        ("user", "ben", "role", "lk:readers"),
    ],
    "quarantine": [("entities", '["table","x"]', "bad name", "no metalake", "x.csv: line 3")],
}
STATEMENTS = [
    {"id": "use", "privileges": ["USE_CATALOG"], "to": ["role:lk:readers"], "on": "catalog:lk:c"},
    {
        "id": "read\u2028it",
        "privileges": ["USE_SCHEMA", "SELECT_TABLE"],
        "to": ["role:lk:readers"],
        "on": "schema:lk:c.s",
    },
]


@pytest.fixture
def written(tmp_path: Path) -> Path:
    write_directory(tmp_path, TABLES, statements=STATEMENTS)
    return tmp_path


def test_a_directory_is_read_as_the_facts_it_holds(written: Path) -> None:
    loaded = load(written)
    assert loaded.system.model.name == "gravitino"
    assert loaded.manifest.quarantined == 1
    metalake, catalog = Entity("metalake", "lk"), Entity("catalog", "lk:c")
    assert loaded.facts.entities[:2] == [EntityRow(catalog, metalake), EntityRow(metalake)]
    assert loaded.facts.owners == [OwnerRow(catalog, Principal("user", "ana"))]
    reader = Principal("role", "lk:readers")
    assert loaded.facts.memberships[-1] == MembershipRow(Principal("user", "ben"), reader)
    assert [s.id for s in loaded.facts.statements] == ["use", "read\u2028it"]


def test_what_was_read_decides(written: Path) -> None:
    loaded = load(written)
    warden = Warden(loaded.system, loaded.facts)
    assert warden.who("table.load", "table:lk:c.s.t") == ("ana", "ben")
    assert warden.list("ben", "table.load") == ("table:lk:c.s.t",)
    assert not warden.check("ben", "table.alter", "table:lk:c.s.t").allow


def test_reading_needs_neither_spark_nor_pandas(written: Path) -> None:
    program = (
        "import sys; from pathlib import Path\n"
        "from lakewarden.pipeline.directory import load\n"
        "load(Path(sys.argv[1]))\n"
        "print(sorted({'pyspark', 'py4j', 'pandas'} & set(sys.modules)))"
    )
    command = [sys.executable, "-c", program, str(written)]
    assert subprocess.run(command, check=True, capture_output=True, text=True).stdout == "[]\n"


def test_a_manifest_is_read_back_as_it_was_written(written: Path) -> None:
    manifest = read_manifest(written)
    write_manifest(written, manifest)
    assert read_manifest(written) == manifest
    assert sorted(p.name for p in written.iterdir()) == [MANIFEST, "versions"]


def test_the_digest_is_that_of_the_cells_whatever_the_files(tmp_path: Path) -> None:
    rows: list[Cells] = [("user", f"u{i}") for i in range(10)]
    for files in (1, 2, 10):
        write_table(tmp_path / str(files), "principals", rows, files)
    found = {content_of(tmp_path / str(files), "principals") for files in (1, 2, 10)}
    assert len(found) == 1
    assert found.pop().rows == 10


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ([("ab", "c")], [("a", "bc")]),
        ([("a", "b"), ("a", "c")], [("a", "c"), ("a", "b")]),
        ([("a", "bc"), ("a", "d")], [("a", "b"), ("a", "cd")]),
        ([("a", "b")], [("a", "b"), ("a", "b")]),
        ([], [("", "")]),
    ],
)
def test_different_cells_have_different_digests(
    tmp_path: Path, one: list[Cells], other: list[Cells]
) -> None:
    for name, rows in (("one", one), ("other", other)):
        write_table(tmp_path / name, "principals", rows)
    first, second = (content_of(tmp_path / n, "principals") for n in ("one", "other"))
    assert first.sha256 != second.sha256


def test_null_is_not_the_empty_text(tmp_path: Path) -> None:
    write_table(tmp_path / "one", "entities", [("a", "b", None, None)])
    write_table(tmp_path / "other", "entities", [("a", "b", "", "")])
    first, second = (content_of(tmp_path / n, "entities") for n in ("one", "other"))
    assert first.sha256 != second.sha256


def _rewritten(change: Callable[[dict[str, object]], object]) -> Callable[[Path], None]:
    def rewrite(path: Path) -> None:
        data = json.loads((path / MANIFEST).read_text("utf-8"))
        change(data)
        (path / MANIFEST).write_text(json.dumps(data), "utf-8")

    return rewrite


def _other_cell(path: Path) -> None:
    rows = [*TABLES["principals"][:-1], ("user", "eve")]
    write_table(path / "versions/1/principals", "principals", rows)


def _other_columns(path: Path) -> None:
    write_table(path / "versions/1/principals", "memberships", TABLES["memberships"])


def _cut_file(path: Path) -> None:
    (file,) = (path / "versions/1/owners").iterdir()
    file.write_bytes(file.read_bytes()[:-10])


def _lost_file(path: Path) -> None:
    (file,) = (path / "versions/1/memberships").iterdir()
    file.unlink()


def _lost_quarantine(path: Path) -> None:
    (file,) = (path / "versions/1/quarantine").iterdir()
    file.unlink()
    file.parent.rmdir()


def _other_statement(path: Path) -> None:
    file = path / "versions/1/statements.jsonl"
    file.write_text(file.read_text("utf-8").replace("USE_SCHEMA", "CREATE_TABLE"), "utf-8")


Damage = Callable[[Path], object]
DAMAGES: dict[str, tuple[Damage, str]] = {
    "no manifest": (lambda p: (p / MANIFEST).unlink(), "no ingested directory: `manifest.json`"),
    "half a manifest": (lambda p: (p / MANIFEST).write_text("{"), "manifest.json: expected JSON"),
    "not text": (lambda p: (p / MANIFEST).write_bytes(b"\xff"), "manifest.json: expected JSON"),
    "a list": (lambda p: (p / MANIFEST).write_text("[]"), "manifest.json: expected a table"),
    "newer format": (_rewritten(lambda m: m.update(format=FORMAT + 1)), "format: expected the num"),
    "no format": (_rewritten(lambda m: m.pop("format")), "format: expected the number 1 or 2"),
    "unknown key": (_rewritten(lambda m: m.update(extra=1)), "unknown key `extra`"),
    "version as text": (_rewritten(lambda m: m.update(version="1")), "version: expected a whole"),
    "version as flag": (_rewritten(lambda m: m.update(version=True)), "version: expected a whole"),
    "no such version": (_rewritten(lambda m: m.update(version=2)), "quarantine: is missing"),
    "no tables": (_rewritten(lambda m: m.update(tables={})), "tables: expected the tables ent"),
    "wrong count": (_rewritten(lambda m: m.update(quarantined=0)), "quarantined: differs from"),
    "unknown model": (_rewritten(lambda m: m.update(model="klingon")), "unknown model `klingon`"),
    "unknown setting": (_rewritten(lambda m: m.update(settings={"mode": "x"})), "mode"),
    "no digest": (
        _rewritten(lambda m: m.update(statements={"rows": 1, "sha256": "00"})),
        "statements.sha256: expected a SHA-256 in hexadecimal digits",
    ),
    "another cell": (_other_cell, "versions/1/principals: differs from its manifest"),
    "other columns": (_other_columns, "expected the columns kind, name"),
    "a file cut short": (_cut_file, "cannot be read: "),
    "a file lost": (_lost_file, "versions/1/memberships: differs from its manifest"),
    "a table lost": (_lost_quarantine, "versions/1/quarantine: is missing"),
    "another statement": (_other_statement, "statements.jsonl: differs from its manifest"),
    "no statements": (
        lambda p: (p / "versions/1/statements.jsonl").unlink(),
        "statements.jsonl: cannot be read",
    ),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_damaged_or_foreign_directory_is_refused(written: Path, name: str) -> None:
    damage, message = DAMAGES[name]
    damage(written)
    with pytest.raises(BadInput) as refused:
        load(written)
    assert message in str(refused.value)
    assert str(written) in str(refused.value)


DATAHUB: dict[str, list[Cells]] = {"entities": [("tag", "urn:li:tag:pii", None, None)]}
VIEW_ALL = "urn:li:dataHubPolicy:view-entity-page-all"
ROOT = "urn:li:dataHubPolicy:0"


def _policy(id: str, user: str) -> dict[str, object]:
    return {"id": id, "privileges": ["VIEW_ANALYTICS"], "to": [f"user:urn:li:corpuser:{user}"]}


def _written_by_hand(path: Path, name: str, text: str) -> None:
    (path / "statements").mkdir(exist_ok=True)
    (path / "statements" / name).write_text(text, "utf-8")


def test_defaults_ingested_and_written_statements_come_together(tmp_path: Path) -> None:
    write_directory(
        tmp_path,
        DATAHUB,
        model="datahub",
        statements=[_policy("p", "ana"), _policy(ROOT, "eve"), _policy(VIEW_ALL, "cid")],
    )
    _written_by_hand(
        tmp_path,
        "mine.toml",
        '[[statement]]\nid = "mine"\nprivileges = ["MANAGE_TAGS"]\nto = ["all-users"]\n',
    )
    statements = {s.id: s for s in load(tmp_path).facts.statements}
    assert {"p", "mine"} < set(statements)
    assert statements[ROOT].principals == {Principal("user", "urn:li:corpuser:datahub")}
    assert statements[VIEW_ALL].principals == {Principal("user", "urn:li:corpuser:cid")}


def test_a_written_statement_replaces_an_ingested_one(tmp_path: Path) -> None:
    write_directory(tmp_path, DATAHUB, model="datahub", statements=[_policy("p", "ana")])
    text = '[[statement]]\nid = "p"\nprivileges = ["MANAGE_TAGS"]\nto = ["any-group"]\n'
    _written_by_hand(tmp_path, "p.toml", text)
    (found,) = (s for s in load(tmp_path).facts.statements if s.id == "p")
    assert found.privileges == {"MANAGE_TAGS"}


def test_a_policy_file_for_the_realm_counts_among_the_written_statements(tmp_path: Path) -> None:
    write_directory(tmp_path, DATAHUB, model="datahub", statements=[_policy("p", "ana")])
    _written_by_hand(tmp_path, "nothing.toml", 'realm = "main"\n')
    text = 'realm = "main"\n[[statement]]\nid = "p"\nprivileges = []\nto = []\nactive = false\n'
    _written_by_hand(tmp_path, "proposal.toml", text)
    (found,) = (s for s in load(tmp_path).facts.statements if s.id == "p")
    assert not found.active


def test_deleted_defaults_stay_away_whoever_deleted_them(tmp_path: Path) -> None:
    seven = "urn:li:dataHubPolicy:7"
    write_directory(tmp_path, DATAHUB, model="datahub", deleted=[seven])
    _written_by_hand(tmp_path, "deleted.toml", f'deleted = ["{VIEW_ALL}"]\n')
    ids = {s.id for s in load(tmp_path).facts.statements}
    assert not ids & {seven, VIEW_ALL}
    assert ROOT in ids


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("deleted.toml", f'deleted = ["{ROOT}"]', "deleted.toml: the default statement"),
        ("deleted.toml", 'deleted = ["x"]', "deleted.toml: `x` is not a default statement"),
        ("deleted.toml", "deletd = []", "deleted.toml: unknown key `deletd`"),
        ("a.toml", "[[statement]]\nid =", "a.toml: invalid value"),
        ("deny.yaml", "statement: []", "deny.yaml: expected only TOML files here"),
        ("a.toml", "[[statements]]", "a.toml: unknown key `statements`"),
        ("a.toml", "statement = 1", "a.toml.statement: expected a list of tables"),
        ("a.toml", 'realm = "other"', "a.toml.realm: is for realm `other`, not `main`"),
        ("b.toml", "\udcff", "b.toml: not UTF-8"),
        (
            "a.toml",
            '[[statement]]\nid = "a"\nprivileges = ["FLY"]\nto = ["all-users"]',
            "a.toml: statement[0].privileges: unknown privilege `FLY`",
        ),
        (
            "a.toml",
            f'[[statement]]\nid = "{ROOT}"\nprivileges = []\nto = []',
            f"a.toml: `{ROOT}` is a default that is not editable",
        ),
    ],
)
def test_what_people_wrote_is_refused_with_file_and_field(
    tmp_path: Path, name: str, text: str, message: str
) -> None:
    write_directory(tmp_path, DATAHUB, model="datahub")
    (tmp_path / "statements").mkdir()
    (tmp_path / "statements" / name).write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(BadInput) as refused:
        load(tmp_path)
    assert message in str(refused.value)


def test_an_id_is_written_once(tmp_path: Path) -> None:
    write_directory(tmp_path, DATAHUB, model="datahub")
    for name in ("a.toml", "b.toml"):
        _written_by_hand(tmp_path, name, '[[statement]]\nid = "x"\nprivileges = []\nto = []\n')
    with pytest.raises(BadInput, match=r"b\.toml: id `x` is used in `a\.toml` too"):
        load(tmp_path)


def test_a_manifest_says_nothing_of_time() -> None:
    assert not {"created", "time", "date"} & set(Manifest.__dataclass_fields__)
