"""`lakewarden export`."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.policies import furnish
from tests.cli.stores import Admin

OF = ("--realm", "gravitino")


@pytest.mark.parametrize("form", ["toml", "yaml"])
def test_an_export_is_a_policy_that_changes_nothing(
    admin: Admin, tmp_path: Path, form: str
) -> None:
    furnish(admin)
    file = tmp_path / f"policy.{form}"
    found = admin("export", *OF, "--format", form, "--out", str(file))
    assert found.err == f"note: {file}: 2 statements, 2 roles, 6 memberships\n"
    assert admin("export", *OF, "--format", form).out == file.read_text("utf-8")
    assert admin("plan", str(file), *OF).code == 0
    plan = tmp_path / "plan.json"
    found = admin("plan", str(file), *OF, "--adopt", "--out", str(plan))
    assert found.code == 1
    assert "access: nobody can do anything more, or less" in found.out
    admin("apply", str(plan))
    assert admin("plan", str(file), *OF).code == 0


@pytest.mark.parametrize("realm", ["gravitino", "datahub", "cdap"])
def test_the_policy_of_every_system_is_read_back(admin: Admin, tmp_path: Path, realm: str) -> None:
    admin("load", str(admin.cli.folders[realm]), "--realm", realm)
    for form in ("toml", "yaml"):
        file = tmp_path / f"{realm}.{form}"
        admin("export", "--realm", realm, "--format", form, "--out", str(file))
        found = admin("plan", str(file), "--realm", realm, "--adopt", "--format", "json").json
        access = found["access"]
        assert isinstance(access, dict)
        assert (access["effect"], access["privileges"]) == ([], [])


def test_a_realm_that_is_not_there_is_not_exported(admin: Admin) -> None:
    assert admin.ask("export", "--realm", "nope").code == 2


@pytest.mark.parametrize("realm", ["gravitino", "datahub", "cdap"])
def test_a_plan_of_an_export_is_empty_until_somebody_edits_it(
    admin: Admin, tmp_path: Path, realm: str
) -> None:
    admin("load", str(admin.cli.folders[realm]), "--realm", realm)
    file = tmp_path / "policy.toml"
    admin("export", "--realm", realm, "--out", str(file))
    found = admin("plan", str(file), "--realm", realm)
    assert (found.code, "nothing is pending" in found.out) == (0, True)
    text = file.read_text("utf-8")
    file.write_text(text.replace("[[statement]]\n", "[[statement]]\nactive = false\n", 1), "utf-8")
    edited = admin.ask("plan", str(file), "--realm", realm)
    assert edited.code == 2
    assert "has no mark: adopt it" in edited.err
