"""`lakewarden load`."""

from __future__ import annotations

import json
from pathlib import Path

from tests.cli import realms
from tests.cli.stores import Admin


def test_a_directory_is_loaded_once_and_then_nothing_changes(admin: Admin) -> None:
    folder = str(admin.cli.folders["gravitino"])
    before = admin.revision()
    found = admin("load", folder, "--realm", "gravitino")
    assert found.code == 0
    assert found.lines[0] == f"gravitino: revision {before + 1}"
    assert "entities     8    0        0" in found.out
    assert admin.revision() == before + 1
    again = admin("load", folder, "--realm", "gravitino")
    assert again.lines[0] == f"gravitino: no changes, revision {before + 1}"
    assert admin.revision() == before + 1
    assert admin("doctor").code == 0


def test_every_system_is_loaded(admin: Admin) -> None:
    for name in ("gravitino", "datahub", "cdap"):
        folder = str(admin.cli.folders[name])
        answer = admin("load", folder, "--realm", name, "--format", "json").json
        assert answer["new"] is True
        answer = admin("load", folder, "--realm", name, "--prune", "--format", "json").json
        admin("load", folder, "--realm", name, "--prune")
        answer = admin("load", folder, "--realm", name, "--prune", "--format", "json").json
        assert answer["new"] is False
    assert admin("doctor").code == 0


def test_rejected_rows_are_kept_in_the_trail(admin: Admin) -> None:
    admin("load", str(admin.cli.folders["gravitino"]), "--realm", "gravitino")
    last = admin("audit", "tail", "--last", "1", "--format", "json")
    loaded = json.loads(last.out)[0]["event"]
    assert loaded["details"]["quarantine"] == {
        "total": 0,
        "first": [],
        "directory": str(admin.cli.folders["gravitino"]),
    }


def test_what_is_gone_goes_with_prune_only(admin: Admin, tmp_path: Path) -> None:
    admin("load", str(admin.cli.folders["gravitino"]), "--realm", "gravitino")
    less = realms.write_realm(
        tmp_path / "less", "gravitino", entities=["metalake:lk"], members={"members:lk": ["ana"]}
    )
    found = admin("load", str(less), "--realm", "gravitino")
    assert "entities     0    0        7" in found.out
    assert "--prune drops them" in found.err
    found = admin("load", str(less), "--realm", "gravitino", "--prune")
    assert "entities     0    0        7" in found.out
    assert "--prune" not in found.err
    listed = json.loads(admin("realm", "list", "--format", "json").out)
    assert next(one for one in listed if one["name"] == "gravitino")["entities"] == 1
    assert admin("doctor").code == 0


def test_what_does_not_fit_the_realm_is_refused(admin: Admin, tmp_path: Path) -> None:
    folder = str(admin.cli.folders["gravitino"])
    before = admin.revision()
    for words, message in (
        ((folder, "--realm", "cdap"), "is of model `cdap`, not `gravitino`"),
        ((folder, "--realm", "nope"), "unknown realm `nope`"),
        ((str(tmp_path / "no"), "--realm", "cdap"), "no ingested directory"),
    ):
        found = admin.ask("load", *words)
        assert (found.code, found.out) == (2, "")
        assert message in found.err
    assert admin.revision() == before
