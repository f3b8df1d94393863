"""`lakewarden apply`."""

from __future__ import annotations

import json
import os
import pwd
from pathlib import Path

import pytest

from tests.cli.policies import POLICY, furnish, write
from tests.cli.stores import Admin

OF = ("--realm", "gravitino")


@pytest.fixture
def planned(admin: Admin, tmp_path: Path) -> Path:
    """A plan that was written to a file."""
    furnish(admin)
    out = tmp_path / "plan.json"
    assert admin("plan", write(tmp_path), *OF, "--out", str(out)).code == 1
    return out


def test_a_plan_is_applied_and_then_nothing_is_pending(
    admin: Admin, planned: Path, tmp_path: Path
) -> None:
    before = admin.revision()
    found = admin("apply", str(planned))
    assert found.code == 0
    assert found.lines[-1] == f"applied: revision {before + 1}"
    assert admin("plan", str(tmp_path / "policy.toml"), *OF).code == 0
    assert admin("doctor").code == 0
    event = json.loads(admin("audit", "tail", "--last", "1", "--format", "json").out)[0]["event"]
    assert event["operation"] == "realm.apply"
    assert event["actor"] == pwd.getpwuid(os.getuid()).pw_name
    assert event["details"]["credential"] == "database"
    assert event["details"]["rights_of"] == "root"


def test_a_plan_is_applied_once(admin: Admin, planned: Path) -> None:
    admin("apply", str(planned))
    found = admin.ask("apply", str(planned))
    assert (found.code, found.out) == (2, "")
    assert "plan again" in found.err


def test_a_plan_is_refused_when_the_store_moved_on(admin: Admin, planned: Path) -> None:
    admin("user", "add", "dan")
    before = admin.revision()
    found = admin.ask("apply", str(planned))
    assert (found.code, found.out) == (2, "")
    assert "has changed since revision" in found.err
    assert admin.revision() == before


def test_a_token_made_meanwhile_stands_in_no_plans_way(admin: Admin, planned: Path) -> None:
    admin("token", "create", "ana", "--new")
    assert admin("apply", str(planned)).code == 0


def test_a_plan_is_refused_when_the_files_changed(
    admin: Admin, planned: Path, tmp_path: Path
) -> None:
    write(tmp_path, POLICY.replace("schema:lk:c.s", "catalog:lk:c"))
    found = admin.ask("apply", str(planned))
    assert (found.code, found.out) == (2, "")
    assert "the files have changed since the plan" in found.err


def test_a_plan_that_somebody_edited_is_refused(admin: Admin, planned: Path) -> None:
    table = json.loads(planned.read_text("utf-8"))
    planned.write_text(json.dumps({**table, "keeper": "other"}), "utf-8")
    assert admin.ask("apply", str(planned)).code == 2
    planned.write_text("{}", "utf-8")
    assert "is not a plan" in admin.ask("apply", str(planned)).err
    planned.write_text("no JSON", "utf-8")
    assert "expected JSON" in admin.ask("apply", str(planned)).err


def test_files_are_applied_with_the_plans_revision_and_digest(
    admin: Admin, planned: Path, tmp_path: Path
) -> None:
    table = json.loads(planned.read_text("utf-8"))
    file = str(tmp_path / "policy.toml")
    assert admin.ask("apply", file, *OF).code == 2
    agreed = ("--revision", str(table["revision"]), "--digest", table["digest"])
    assert admin.ask("apply", file, *OF, *agreed[:3], "0" * 64).code == 2
    assert admin.ask("apply", str(planned), *OF).code == 2
    answer = admin("apply", file, *OF, *agreed, "--format", "json").json
    assert answer["applied"] == admin.revision()


def test_what_leaves_the_files_leaves_the_realm_and_others_stay(
    admin: Admin, planned: Path, tmp_path: Path
) -> None:
    admin("apply", str(planned))
    write(tmp_path, "")
    found = admin("plan", str(tmp_path / "policy.toml"), *OF, "--out", str(planned))
    assert found.code == 1
    assert "  - analysts-read" in found.lines
    assert "  - role lk:analysts" in found.lines
    admin("apply", str(planned))
    text = admin("export", *OF).out
    assert "analysts" not in text
    assert 'id = "read"' in text


def test_loading_again_leaves_what_the_files_keep(admin: Admin, planned: Path) -> None:
    admin("apply", str(planned))
    folder = str(admin.cli.folders["gravitino"])
    found = admin("load", folder, *OF, "--prune", "--format", "json").json
    assert found["left"] == ["analysts-read"]
