"""`lakewarden doctor`."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.realms import Cli
from tests.cli.stores import Admin
from tests.cli.test_audit import damage


def findings(admin: Admin) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for line in json.loads(admin.ask("doctor", "--format", "json").out):
        found.setdefault(line["name"], set()).add(line["state"])
    return found


def test_a_store_that_is_well_has_nothing_wrong(admin: Admin) -> None:
    found = admin("doctor")
    assert found.code == 0, found.out
    assert "bad" not in found.out
    assert "datahub: `view_authorization` is off: everybody is shown" in found.out
    told = findings(admin)
    assert {
        "systems",
        "settings",
        "database",
        "store",
        "realms",
        "audit trail",
        "clock",
        "change feed",
        "documents",
        "spark",
    } == set(told)


def test_files_that_others_can_read_are_told(admin: Admin, tmp_path: Path) -> None:
    key = tmp_path / "store.db-key"
    key.chmod(0o644)
    found = admin("doctor")
    assert found.code == 0
    assert f"other users can read `{key}`; chmod 600 {key}" in found.out


def test_a_row_that_the_feed_does_not_know_is_found(admin: Admin) -> None:
    damage(admin, "DELETE FROM statements WHERE rowid = (SELECT min(rowid) FROM statements)")
    found = admin.ask("doctor")
    assert found.code == 1
    assert "rows that differ between change feed and tables: 1 of statements" in found.out
    assert findings(admin)["change feed"] == {"bad"}


def test_a_broken_trail_is_found(admin: Admin) -> None:
    damage(admin, "UPDATE audit SET body = '{}' WHERE seq = 1")
    assert admin.ask("doctor").code == 1
    assert findings(admin)["audit trail"] == {"bad"}


def test_a_database_that_holds_nothing_is_told(cli: Cli, tmp_path: Path) -> None:
    file = tmp_path / "empty.db"
    file.touch()
    found = cli("doctor", "--database", f"sqlite:///{file}")
    assert found.code == 3
    assert "upgrade the store first" in found.out


def test_settings_that_are_wrong_are_found(
    admin: Admin, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "lakewarden.toml"
    file.write_text("prot = 1\n", "utf-8")
    found = admin.ask("doctor", "--config", str(file))
    assert found.code == 1
    assert "unknown setting `prot`" in found.out
