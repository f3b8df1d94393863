"""`lakewarden init`, and databases that are not suitable for a verb."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.realms import Cli


def test_a_fresh_database_gets_the_realms_and_an_administrator(cli: Cli, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'x.db'}"
    found = cli("init", "--database", url, "--admin", "ana")
    assert (found.code, found.out) == (0, "ready; realms: _server, cdap, datahub, gravitino\n")
    assert "`ana` is its administrator" in found.err
    found = cli("init", "--database", url, "--admin", "ana")
    assert found.out == "ready, unchanged; realms: _server, cdap, datahub, gravitino\n"
    assert cli("user", "list", "--database", url).lines[1:] == ["user  ana"]
    realms = ["_server", "cdap", "datahub", "gravitino"]
    found = cli("init", "--database", url, "--format", "json")
    assert json.loads(found.out) == {"changed": False, "realms": realms}
    schema = json.loads(cli("migrate", "--database", url, "--format", "json").out)
    assert schema["schema"] == schema["before"]


def test_another_administrator_comes_beside_the_first(cli: Cli, tmp_path: Path) -> None:
    url = f"sqlite:///{tmp_path / 'x.db'}"
    made = ("init", "--database", url, "--admin")
    assert cli(*made, "ana").code == 0
    refused = cli(*made, "ben")
    assert refused.code == 2
    assert "`ben` is not an administrator of this database, `ana` is" in refused.err
    assert cli(*made, "ana").code == 0
    assert cli("init", "--database", url).code == 0
    assert cli(*made, "ben", "--add-admin").code == 0
    assert cli("user", "remove", "ana", "--database", url).code == 0
    found = cli("user", "remove", "ben", "--database", url)
    assert found.code == 2
    assert "no user who may grant privileges" in found.err


@pytest.mark.parametrize("verb", ["audit verify", "user list", "export --realm cdap", "doctor"])
def test_what_only_reads_does_not_make_a_database(cli: Cli, tmp_path: Path, verb: str) -> None:
    file = tmp_path / "nothing.db"
    found = cli(*verb.split(), "--database", f"sqlite:///{file}")
    assert found.code == 3
    assert "there is no database" in found.err + found.out
    assert not file.exists()


def test_the_database_may_be_named_by_the_environment(
    cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found = cli("token", "create", "ana", "--new")
    assert found.code == 2
    assert "give --database URL, or set" in found.err
    monkeypatch.setenv("LAKEWARDEN_DATABASE", f"sqlite:///{tmp_path / 'x.db'}")
    assert cli("token", "create", "ana", "--new").code == 0


def test_a_database_and_a_server_are_not_both_meant(cli: Cli, tmp_path: Path) -> None:
    found = cli("user", "list", "--database", "sqlite:///x", "--server", "http://127.0.0.1:1")
    assert (found.code, found.out) == (2, "")
    assert "give either --database URL or --server URL" in found.err


def test_a_database_that_cannot_be_reached_is_exit_code_3(cli: Cli, tmp_path: Path) -> None:
    found = cli("init", "--database", f"sqlite:///{tmp_path / 'no' / 'folder' / 'x.db'}")
    assert (found.code, found.out) == (3, "")
    assert cli("init", "--database", "mysql://x/y").code == 2


def test_an_administrator_who_is_added_is_named(cli: Cli, tmp_path: Path) -> None:
    found = cli("init", "--database", f"sqlite:///{tmp_path / 'x.db'}", "--add-admin")
    assert found.code == 2
    assert "the name of the new administrator" in found.err
