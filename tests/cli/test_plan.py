"""`lakewarden plan`, and its input files."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from lakewarden.cli import policy_file
from lakewarden.kernel.errors import BadInput, WardenError
from lakewarden.service import policy_text
from tests.cli.policies import AS_YAML, POLICY, furnish, write
from tests.cli.stores import Admin

OF = ("--realm", "gravitino")


def test_a_plan_shows_what_changes_and_who_gains_what(admin: Admin, tmp_path: Path) -> None:
    furnish(admin)
    before = admin.revision()
    found = admin("plan", write(tmp_path), *OF)
    assert found.code == 1
    assert found.lines[0] == f"gravitino: changes that `policy` makes, at revision {before}"
    assert "  + role lk:analysts" in found.lines
    assert "  + eve in role:lk:analysts" in found.lines
    assert "  + analysts-read" in found.lines
    line = "eve gain SELECT_TABLE on 2 × table, such as table:lk:c.s.t (through role:lk:analysts)"
    lacks = "lacks MEMBER on metalake:lk and USE_CATALOG on catalog:lk:c"
    assert f"  + {line}: no effect yet, such as on table:lk:c.s.t: {lacks}" in found.lines
    assert "gain USE_SCHEMA on 2 × table" not in found.out
    assert "  and 3 technical lines; --whole shows them" in found.lines
    assert "ana gain SELECT_TABLE" not in found.out
    assert f"--revision {before} --digest " in found.err
    assert admin.revision() == before


@contextmanager
def standard_input(text: str) -> Iterator[None]:
    """The text as the standard input of this process."""
    end, begin = os.pipe()
    before = os.dup(0)
    os.write(begin, text.encode())
    os.close(begin)
    os.dup2(end, 0)
    try:
        yield
    finally:
        os.dup2(before, 0)
        os.close(end)
        os.close(before)


def test_policies_come_from_standard_input(admin: Admin, tmp_path: Path) -> None:
    furnish(admin)
    with standard_input(POLICY):
        found = json.loads(admin("plan", "-", *OF, "--format", "json").out)
    assert (
        found["digest"]
        == json.loads(admin("plan", write(tmp_path), *OF, "--format", "json").out)["digest"]
    )
    with standard_input(POLICY):
        unusable = admin.ask("plan", "-", *OF, "--out", str(tmp_path / "plan.json"))
    assert (unusable.code, unusable.out) == (2, "")
    assert "--revision and --digest" in unusable.err
    agreed = ("--revision", str(found["revision"]), "--digest", found["digest"])
    with standard_input(POLICY):
        assert admin("apply", "-", *OF, *agreed).code == 0


def test_what_people_can_do_comes_before_the_privileges(admin: Admin, tmp_path: Path) -> None:
    furnish(admin)
    more = """
        [[statement]]
        id = "analysts-enter"
        privileges = ["USE_CATALOG"]
        to = ["role:lk:analysts"]
        on = "catalog:lk:c"
    """
    policy = POLICY.replace("[members]\n", '[members]\n"members:lk" = ["user:eve"]\n') + more
    found = admin("plan", write(tmp_path, policy), *OF)
    heading = found.lines.index("privileges by their bare names")
    way = found.lines.index("  + eve can see and read 2 × table, such as table:lk:c.s.t")
    assert way < heading
    assert found.lines[way + 1].startswith("      by table.load, ")
    assert "no effect yet" not in found.out
    whole = admin("plan", write(tmp_path, policy), *OF, "--whole")
    assert "gain USE_CATALOG, USE_SCHEMA on 2 × table" in whole.out
    assert "technical" not in whole.out


def test_the_file_of_a_plan_has_a_line_for_each_part(admin: Admin, tmp_path: Path) -> None:
    furnish(admin)
    out = tmp_path / "plan.json"
    admin("plan", write(tmp_path), *OF, "--out", str(out))
    text = out.read_text("utf-8")
    plan = json.loads(text)
    told = admin("plan", write(tmp_path), *OF, "--format", "json").json
    assert told == {key: value for key, value in plan.items() if key != "files"}
    assert len(text.splitlines()) < 80
    assert '      {"privileges": ["SELECT_TABLE"], "gained": true, "users": ' in text


def test_yaml_says_the_same_as_toml(admin: Admin, tmp_path: Path) -> None:
    furnish(admin)
    toml, yaml = write(tmp_path), write(tmp_path, AS_YAML, "other.yaml")
    first = admin("plan", toml, *OF, "--format", "json").json
    second = admin("plan", yaml, *OF, "--format", "json").json
    assert first["digest"] == second["digest"]
    assert first["pending"] is True


def test_nothing_pending_is_exit_code_0(admin: Admin, tmp_path: Path) -> None:
    furnish(admin)
    found = admin("plan", write(tmp_path, "", "empty.toml"), *OF)
    assert (found.code, found.out.count("\n")) == (0, 1)
    assert "nothing is pending" in found.out


def test_a_folder_stands_for_the_files_in_it(admin: Admin, tmp_path: Path) -> None:
    furnish(admin)
    folder = tmp_path / "policies"
    folder.mkdir()
    assert admin.ask("plan", str(folder), *OF).code == 2
    write(folder)
    write(folder, "not policy", "README.md")
    assert admin("plan", str(folder), *OF).code == 1


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        ("a = ", "x.toml", "invalid value"),
        ("a: [", "x.yaml", "x.yaml: line"),
        ("a: &x 1\nb: *x", "x.yaml", "line 1: anchors and aliases are not supported"),
        ("a: 1\na: 2", "x.yaml", "line 2: the key `a` occurs twice"),
        ("members: {12: [user:ana]}", "x.yaml", "line 1: expected text for a key"),
        ("{a: b}: c", "x.yaml", "line 1: expected text for a key"),
        ("- a", "x.yaml", "expected a table"),
        ("!!python/object:os.system {}", "x.yaml", "could not determine a constructor"),
        ("x", "x.txt", "expected a file of .toml, .yaml, .yml"),
        ("states = []", "x.toml", "unknown key `states`"),
        ('realm = "cdap"', "x.toml", "is for realm `cdap`, not `gravitino`"),
    ],
)
def test_a_file_that_is_wrong_is_refused_with_its_place(
    admin: Admin, tmp_path: Path, text: str, name: str, message: str
) -> None:
    furnish(admin)
    found = admin.ask("plan", write(tmp_path, text, name), *OF)
    assert (found.code, found.out) == (2, "")
    assert message in found.err
    assert name in found.err


def test_a_file_that_is_not_there_is_refused(admin: Admin, tmp_path: Path) -> None:
    found = admin.ask("plan", str(tmp_path / "no.toml"), *OF)
    assert found.code == 2
    assert "no such file or folder" in found.err


def test_words_stay_words_in_yaml(tmp_path: Path) -> None:
    text = "on: no\nyes: y\nnumber: 12\nflag: true\nnone: null\nmoment: 2026-01-01T00:00:00Z\n"
    read = policy_file.read(Path(write(tmp_path, text, "x.yaml")))
    assert isinstance(read, dict)
    assert read["on"] == "no"
    assert read["yes"] == "y"
    assert (read["number"], read["flag"], read["none"]) == (12, True, None)
    assert read["moment"].tzinfo is not None


TABLES: list[dict[str, object]] = [
    {"realm": "x", "statement": []},
    {
        "realm": "x",
        "roles": ["lk:a", 'q"uo\\te', "é\u2028\x7f"],
        "members": {"role:lk:a": ["user:ana", "user:no"], "members:lk": ["user:on"]},
        "statement": [
            {
                "id": "on",
                "active": False,
                "valid_from": 1.5,
                "where": [{"field": "TAG", "values": ["a: b", "#c", "- d"]}],
                "to": [],
            },
            {"id": "12", "privileges": ["READ", "WRITE"] * 9, "on": "dataset:a.b"},
        ],
    },
]


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("form", ["toml", "yaml"])
def test_what_is_written_is_read_back(
    tmp_path: Path, table: dict[str, object], form: policy_text.Form
) -> None:
    text = policy_text.written(table, form)
    expected = table if table["statement"] or form == "yaml" else {"realm": "x"}
    assert policy_file.read(Path(write(tmp_path, text, f"x.{form}"))) == expected


def test_a_huge_file_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy_file, "LARGEST", 10)
    with pytest.raises(WardenError, match="larger than"):
        policy_file.read(Path(write(tmp_path, POLICY)))
    (tmp_path / "latin.toml").write_bytes(b"a = '\xe9'")
    monkeypatch.undo()
    with pytest.raises(BadInput, match="expected UTF-8"):
        policy_file.read(tmp_path / "latin.toml")
