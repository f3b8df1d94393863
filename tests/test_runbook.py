"""The runbook: its commands run in order, with the outputs that it shows."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml

from lakewarden.cli import main
from tests.test_tutorial import Block, Reader, blocks

DOCS = Path(__file__).parent.parent / "docs"
PAGE = (DOCS / "runbook.md").read_text("utf-8")
OURS = re.compile(r"(! )?lakewarden ")
GRANT = """
realm = "cdap"
[[statement]]
id = "ben-reads"
privileges = ["READ"]
to = ["user:ben"]
on = "dataset:sales.orders"
"""


class Operator(Reader):
    """Runs lines with only our own commands in this process; `!` expects exit code 1."""

    def answers(self, block: Block) -> Iterator[tuple[str, str]]:
        lines = block.text.splitlines()
        if block.language != "sh" or not all(map(OURS.match, lines)):
            yield from super().answers(block)
            return
        for line in lines:
            words = shlex.split(line)
            code = 1 if words[0] == "!" else 0
            assert main(words[1 + code :]) == code, self._capsys.readouterr().err
        self._capsys.readouterr()


def test_the_runbook_answers_as_it_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("LAKEWARDEN_DATABASE", "sqlite:///estate.db")
    monkeypatch.delenv("LAKEWARDEN_SECRET_KEYS", raising=False)
    assert main(["init", "--admin", "ana"]) == 0
    assert main(["user", "add", "ben"]) == 0
    assert main(["token", "create", "ben"]) == 0
    Path("grant.toml").write_text(GRANT, "utf-8")
    assert main(["plan", "grant.toml", "--realm", "cdap", "--out", "plan.json"]) in {0, 1}
    assert main(["apply", "plan.json"]) == 0
    assert "applied: revision 4" in capsys.readouterr().out
    Operator(None, capsys).follow(blocks(PAGE))
    # What the page cannot show: nobody is left, and restoring without the key is reported.
    assert main(["who", "dataset.read", "dataset:sales.orders", "--from", "later"]) == 1
    assert "ben" not in capsys.readouterr().out
    assert main(["restore", "estate.backup", "--database", "sqlite:///bare.db"]) == 0
    assert main(["audit", "verify", "--database", "sqlite:///bare.db"]) == 1
    assert "sealed with the unknown key" in capsys.readouterr().out


def test_the_runbook_names_alerts_that_there_are() -> None:
    rules = yaml.safe_load((DOCS / "monitoring/rules.yml").read_text("utf-8"))
    known = {rule["alert"]: group["name"] for group in rules["groups"] for rule in group["rules"]}
    named = set(re.findall(r"`(Lakewarden\w+)`", PAGE))
    assert named <= known.keys()
    assert {name for name, group in known.items() if group == "lakewarden-server"} <= named
