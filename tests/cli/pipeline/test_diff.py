"""`lakewarden pipeline diff` and `lint`: their outputs, and their exit codes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.cli.realms import Cli

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

READERS = """
[[statement]]
id = "auditors"
privileges = ["SELECT_TABLE"]
to = ["all-users"]
on = "metalake:lk"
"""


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ((), "give either --statements FILES, or the folder of a later index"),
        (("other", "--statements", "p.toml"), "give either --statements FILES, or"),
        (("other", "--only"), "--only: needs --statements FILES"),
        (("other", "--now", "3"), "--now: needs --statements FILES"),
        (("--statements", "nowhere.toml"), "nowhere.toml: no such file or folder"),
    ],
)
def test_what_is_to_be_compared_has_to_be_clear(
    cli: Cli, tmp_path: Path, words: tuple[str, ...], says: str
) -> None:
    found = cli("pipeline", "diff", "index", *words, "--out", str(tmp_path / "out"))
    assert found.code == 2
    assert says in found.err


@pytest.mark.nightly
def test_a_policy_file_is_compared_and_the_index_is_linted(
    cli: Cli, spark: SparkSession, tmp_path: Path
) -> None:
    realm, index, out = cli.folders["gravitino"], tmp_path / "index", tmp_path / "diff"
    assert cli("pipeline", "index", str(realm), "--out", str(index)).code == 0
    file = tmp_path / "policy.toml"
    file.write_text(READERS, "utf-8")
    asked = ("pipeline", "diff", str(index), "--statements", str(file), "--out", str(out))

    found = cli(*asked)
    assert found.code == 1
    assert "whoever is not stored gain SELECT_TABLE on" in found.out
    assert "and 0 lost" in found.out
    assert "(all-users by auditors)" in found.out

    again = cli(*asked, "--fail-on", "lost", "--format", "json")
    assert again.code == 0
    told = json.loads(again.out)
    assert told["new"] is False
    assert told["changes"]["privilege"]["gained"]["pairs"] > 0
    assert told["changes"]["others"] is True

    window = "\nvalid_from = 2001-01-01T00:00:00Z\nvalid_until = 2002-01-01T00:00:00Z\n"
    file.write_text(READERS + window, "utf-8")
    assert "nobody gains or loses anything" in cli(*asked).out
    within = cli(*asked, "--now", "1000000000", "--format", "markdown")
    assert "| gains |" in within.out
    assert "| SELECT\\_TABLE | " in within.out
    assert "nobody gains" not in within.out
    file.write_text(READERS, "utf-8")

    same = cli(
        *("pipeline", "diff", str(index), str(index)),
        *("--out", str(tmp_path / "same"), "--format", "sarif"),
    )
    assert same.code == 0
    assert json.loads(same.out)["runs"][0]["results"] == []

    file.write_text(READERS.replace("metalake:lk", "table:lk:c.s.nope"), "utf-8")
    refused = cli(*asked)
    assert refused.code == 2
    assert "policy.toml" in refused.err

    plain = cli("lint", "--from", str(realm), "--format", "json")
    made = tmp_path / "lint"
    linted = cli("pipeline", "lint", str(index), "--out", str(made), "--format", "json")
    assert linted.code == plain.code
    assert json.loads(linted.out) == json.loads(plain.out)
    text = cli("pipeline", "lint", str(index), "--out", str(made), "--from", str(realm))
    assert text.code == cli("lint", "--from", str(realm)).code
    assert text.lines[-1] == cli("lint", "--from", str(realm)).lines[-1]
    assert "lint: version" in text.err
