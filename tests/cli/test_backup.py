"""`lakewarden backup` and `lakewarden restore`."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

from lakewarden.cli.admin_target import account
from tests.cli.stores import Admin


def test_what_was_backed_up_is_restored(admin: Admin, tmp_path: Path) -> None:
    admin("user", "add", "ana")
    file, other = tmp_path / "b", f"sqlite:///{tmp_path / 'other.db'}"
    made = admin("backup", str(file))
    assert made.code == 0
    assert file.stat().st_mode & 0o077 == 0
    found = admin.cli("restore", str(file), "--database", other)
    assert found.code == 0
    assert found.out.split()[-1] == made.out.split()[-1]
    assert "user  ana" in admin.cli("user", "list", "--database", other).out
    unknown = admin.cli("audit", "verify", "--database", other)
    assert (unknown.code, "unknown key" in unknown.out) == (1, True)
    # The key is stored separately from the sealed data, so the operator copies it.
    shutil.copy(tmp_path / "store.db-key", tmp_path / "other.db-key")
    assert admin.cli("audit", "verify", "--database", other).code == 0
    (row,) = json.loads(admin("audit", "tail", "--last", "1", "--format", "json").out)
    # As for every other command: the account that ran it, and whose rights it used.
    assert (row["event"]["operation"], row["event"]["actor"]) == ("backup.create", account())
    assert row["event"]["details"]["rights_of"] == "root"


def test_a_backup_replaces_no_file_and_a_restore_no_store(admin: Admin, tmp_path: Path) -> None:
    file = tmp_path / "b"
    admin("backup", str(file))
    found = admin.ask("backup", str(file))
    assert (found.code, found.out) == (2, "")
    assert "already exists" in found.err
    found = admin.ask("restore", str(file))
    assert (found.code, found.out) == (2, "")
    assert "the database is not empty" in found.err


def test_a_script_compares_the_digests_of_backup_and_restore(admin: Admin, tmp_path: Path) -> None:
    file, other = tmp_path / "b", f"sqlite:///{tmp_path / 'other.db'}"
    made = json.loads(admin("backup", str(file), "--format", "json").out)
    assert (made["file"], made["bytes"]) == (str(file), file.stat().st_size)
    found = admin.cli("restore", str(file), "--database", other, "--format", "json")
    assert json.loads(found.out) == {"file": str(file), "rows": made["rows"]}


def test_a_path_that_cannot_be_a_new_file_is_bad_input(admin: Admin, tmp_path: Path) -> None:
    for path in (".", str(tmp_path), str(tmp_path / "nothing/b")):
        found = admin.ask("backup", path)
        assert (found.code, found.out) == (2, ""), path
        assert f"`{path}`" in found.err


def test_a_file_that_is_no_backup_or_damaged_is_refused(admin: Admin, tmp_path: Path) -> None:
    file, other = tmp_path / "b", f"sqlite:///{tmp_path / 'other.db'}"
    admin("backup", str(file))
    content = file.read_bytes()
    (tmp_path / "short").write_bytes(content[: len(content) // 2])
    (tmp_path / "text").write_text("not a backup", "utf-8")
    for name in ("short", "text", "nothing"):
        found = admin.cli("restore", str(tmp_path / name), "--database", other)
        assert (found.code, found.out) == (2, ""), name
