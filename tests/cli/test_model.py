"""`lakewarden model`: the errors of a file, its page, and a file to begin with."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path

import pytest

from tests.cli.realms import Cli
from tests.own_model import GIVEN, STRICTER, TEXT

PAGE = Path(__file__).parents[2] / "docs" / "model-files.md"
RULE = "KEEPER and not denied(WRITE)"


def test_the_model_to_begin_with_is_right_and_its_page_is_shown(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "documents.toml"
    made = cli("model", "new", str(file))
    assert (made.code, made.out) == (0, "")
    assert file.read_text("utf-8") == TEXT == cli("model", "new").out
    checked = cli("model", "check", str(file))
    assert checked.code == 0
    assert "# documents of the company" in checked.lines
    assert any(line.startswith("| `document.read` | read a document |") for line in checked.lines)


def test_a_file_that_is_there_is_left_as_it_is(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "documents.toml"
    file.write_text("mine", "utf-8")
    refused = cli("model", "new", str(file))
    assert (refused.code, file.read_text("utf-8")) == (2, "mine")
    assert str(file) in refused.err


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        (RULE, "KEEPER and not denied(XRITE)", ':31: operations."document.delete".rule: unknown'),
        (
            'KEEPER = "owner(self)',
            'KEEPER = "ownr(self)',
            ":11: macros.KEEPER: unknown form `ownr`",
        ),
        ('on = "document"', 'on = "thing"', ":1: operations."),
        ('title = "documents of the company"', "colour = 1", ":1: model.title: expected"),
        (
            '[model]\nname = "documents"',
            '[model]\nname = "documents"\nx = 1',
            ":1: model: unknown key",
        ),
        ('name = "documents"', 'name = "gravitino"', ":1: model.name: "),
        ("[model]", "[model", ":7: "),
    ],
)
def test_a_fault_has_its_line_its_column_and_its_path(
    cli: Cli, tmp_path: Path, old: str, new: str, said: str
) -> None:
    assert old in TEXT
    file = tmp_path / "documents.toml"
    file.write_text(TEXT.replace(old, new, 1), "utf-8")
    found = cli("model", "check", str(file))
    assert found.code == 1
    (line,) = found.lines
    assert said in line
    number = int(line.removeprefix(f"{file}:").partition(":")[0])
    told = json.loads(cli("model", "check", str(file), "--format", "json").out)
    assert (told["model"], told["page"], told["fault"]["line"]) == (None, "", number)


def test_a_model_as_json_has_its_name_and_digest(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "documents.toml"
    file.write_text(TEXT, "utf-8")
    told = json.loads(cli("model", "check", str(file), "--format", "json").out)
    assert (told["model"], told["digest"], told["fault"]) == ("documents", GIVEN.digest, None)


@pytest.mark.parametrize("text", ["a = [", "x = 1\n[[", ""])
def test_what_is_no_model_at_all_is_told_with_its_place(
    cli: Cli, tmp_path: Path, text: str
) -> None:
    file = tmp_path / "documents.toml"
    file.write_text(text, "utf-8")
    assert cli("model", "check", str(file)).code == 1


def test_a_file_that_is_not_there_cannot_be_checked(cli: Cli) -> None:
    found = cli("model", "check", "nowhere.toml")
    assert (found.code, "nowhere.toml" in found.err) == (2, True)


def test_the_commands_of_the_page_do_what_it_says(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    section = PAGE.read_text("utf-8").split("## Create your own model")[1].split("\n## ")[0]
    making, upgrading = re.findall(r"```\n(.*?)```", section, re.DOTALL)
    for line in making.splitlines():
        assert cli(*shlex.split(line)[1:]).code == 0, line
    same = cli(*shlex.split(upgrading)[1:])
    assert (same.code, same.lines) == (0, ["documents: has this model already, at revision 2"])
    Path("documents.toml").write_text(STRICTER.text, "utf-8")
    planned = cli(*shlex.split(upgrading)[1:])
    assert (planned.code, bool(planned.lines)) == (1, True)
