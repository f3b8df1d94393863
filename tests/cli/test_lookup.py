"""`lakewarden lookup`, and lookup tables in policy files: planned, applied, exported, retained."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path

import pytest

from tests.cli.policies import furnish
from tests.cli.realms import Cli
from tests.cli.stores import Admin, made

OF = ("--realm", "gravitino")
CSV = "region,manager,level\neu,ana,1\nus,O'Hara,2\n"
AS_TABLE = [
    "region  manager  level",
    "eu      ana      1",
    "us      O'Hara   2",
]
POLICY = """
[[filter]]
id = "managed"
on = "table:lk:c.s.t"
where = "(region, $user.name) in lookup.managers"

[lookup.managers]
columns = [{ name = "region", type = "string" }, { name = "manager" }]
rows = [["eu", "ana"], ["us", "bo"]]
"""
AS_YAML = """
filter:
  - id: managed
    on: "table:lk:c.s.t"
    where: "(region, $user.name) in lookup.managers"
lookup:
  managers:
    columns: [{name: region, type: string}, {name: manager}]
    rows: [[eu, ana], [us, bo]]
"""


def put(admin: Admin, folder: Path, *words: str, text: str = CSV) -> tuple[int, str]:
    file = folder / "managers.csv"
    file.write_text(text, "utf-8")
    found = admin.ask("lookup", "put", "managers", str(file), *OF, *words)
    return found.code, found.err


def test_a_lookup_table_is_declared_listed_shown_and_removed(admin: Admin, tmp_path: Path) -> None:
    furnish(admin)
    assert admin.ask("lookup", "list", *OF).code == 1
    assert put(admin, tmp_path, "--type", "level=integer") == (0, "")
    assert admin("lookup", "show", "managers", *OF).lines == AS_TABLE
    shown = json.loads(admin("lookup", "show", "managers", *OF, "--format", "json").out)
    assert shown["columns"][2] == {"name": "level", "type": "integer"}
    assert shown["rows"][1] == ["us", "O'Hara", 2]
    (listed,) = json.loads(admin("lookup", "list", *OF, "--format", "json").out)
    assert (listed["name"], listed["rows"], listed["used_by"]) == ("managers", 2, [])
    columns = "region string, manager string, level integer"
    assert columns in admin("lookup", "list", *OF).out
    before = admin.revision()
    assert put(admin, tmp_path, "--type", "level=integer")[0] == 0
    assert admin.revision() == before
    assert admin("lookup", "remove", "managers", *OF).code == 0
    missing = admin.ask("lookup", "show", "managers", *OF)
    assert missing.code == 2
    assert "unknown lookup table `managers`" in missing.err


@pytest.mark.parametrize(
    ("text", "words", "problem"),
    [
        ("", (), "expected at least one column"),
        ("a b\nx\n", (), "expected a name of letters, digits"),
        ("a\nx\n", ("--type", "b=date"), "--type: the file has no column `b`"),
        ("a\nx\n", ("--type", "a=date"), "expected a value of type date"),
        ("a\nx,y\n", (), "line 2: expected 1 values, got 2"),
        ("a\n" + "".join(f"{n}\n" for n in range(1001)), (), "at most 1,000 are allowed"),
    ],
    ids=["empty", "name", "column", "type", "width", "rows"],
)
def test_what_is_no_lookup_table_is_refused(
    admin: Admin, tmp_path: Path, text: str, words: tuple[str, ...], problem: str
) -> None:
    furnish(admin)
    code, error = put(admin, tmp_path, *words, text=text)
    assert code == 2
    assert problem in error


@pytest.mark.parametrize(
    ("name", "text"), [("p.toml", POLICY), ("p.yaml", AS_YAML)], ids=["toml", "yaml"]
)
def test_policy_files_have_lookup_tables(
    admin: Admin, tmp_path: Path, name: str, text: str
) -> None:
    furnish(admin)
    file, plan = tmp_path / name, str(tmp_path / "plan.json")
    file.write_text(text, "utf-8")
    planned = admin("plan", str(file), *OF, "--out", plan)
    assert planned.code == 1
    assert "  + managers (region, manager): 2 rows" in planned.lines
    admin("apply", plan)
    assert admin("plan", str(file), *OF).code == 0
    for form in ("toml", "yaml"):
        exported = tmp_path / f"exported.{form}"
        exported.write_text(admin("export", *OF, "--format", form).out, "utf-8")
        assert admin("plan", str(exported), *OF).code == 0
    written = tomllib.loads((tmp_path / "exported.toml").read_text("utf-8"))
    assert written["lookup"]["managers"]["rows"] == [["eu", "ana"], ["us", "bo"]]

    # A change of rows, then the removal of the whole file: its rows are removed with it.
    file.write_text(text.replace('"bo"', '"zoe"').replace("bo]", "zoe]"), "utf-8")
    planned = admin("plan", str(file), *OF, "--out", plan)
    assert "  ~ managers (region, manager): 2 rows" in planned.lines
    admin("apply", plan)
    assert "zoe" in admin("lookup", "show", "managers", *OF).out
    file.write_text("roles: []\n" if name.endswith("yaml") else "roles = []\n", "utf-8")
    planned = admin("plan", str(file), *OF, "--out", plan)
    assert "  - managers" in planned.lines
    admin("apply", plan)
    assert admin.ask("lookup", "list", *OF).code == 1


def test_one_that_is_there_is_left_alone_and_one_that_is_used_stays(
    admin: Admin, tmp_path: Path
) -> None:
    furnish(admin)
    put(admin, tmp_path, text="region,manager\neu,olga\n")
    file = tmp_path / "p.toml"
    file.write_text(POLICY, "utf-8")
    refused = admin.ask("plan", str(file), *OF)
    assert refused.code == 2
    assert "lookup table `managers` already exists, and these files do not keep it" in refused.err
    plan = str(tmp_path / "plan.json")
    admin("plan", str(file), *OF, "--adopt", "--out", plan)
    admin("apply", plan)
    (listed,) = json.loads(admin("lookup", "list", *OF, "--format", "json").out)
    assert listed["used_by"] == ["managed"]

    refused = admin.ask("lookup", "remove", "managers", *OF)
    assert refused.code == 2
    assert "is used by `managed`; change these first, or force it" in refused.err
    code, error = put(admin, tmp_path, text="region\neu\n")
    assert code == 2
    assert "is used by `managed`" in error
    assert put(admin, tmp_path, text="region,boss\neu,ana\n")[0] == 0
    (tmp_path / "q.toml").write_text(POLICY[POLICY.index("[[filter]]") : POLICY.index("[lookup")])
    refused = admin.ask("plan", str(tmp_path / "q.toml"), *OF)
    assert refused.code == 2
    assert "lookup tables cannot be changed (`managers`): `managed` uses one" in refused.err
    assert admin("lookup", "remove", "managers", *OF, "--force").code == 0
    found = admin("lint", *OF, "--rule", "broken-obligation")
    assert "cannot be evaluated: unknown lookup table `managers`" in found.out


def test_a_backup_has_them(admin: Admin, tmp_path: Path, cli: Cli) -> None:
    furnish(admin)
    put(admin, tmp_path, "--type", "level=integer")
    admin("backup", str(tmp_path / "all.backup"))
    other = Admin(cli, f"sqlite:///{tmp_path / 'other.db'}")
    assert other.ask("restore", str(tmp_path / "all.backup")).code == 0
    assert other("lookup", "show", "managers", *OF).lines == AS_TABLE


def test_a_system_without_rows_has_none(cli: Cli, tmp_path: Path) -> None:
    admin = made(cli, tmp_path)
    (tmp_path / "a.csv").write_text("a\nx\n", "utf-8")
    refused = admin.ask("lookup", "put", "a", str(tmp_path / "a.csv"), "--realm", "cdap")
    assert refused.code == 2
    assert "has no rows to filter and no columns to mask" in refused.err
