"""`lakewarden realm`."""

from __future__ import annotations

import json

from tests.cli.stores import Admin


def test_a_realm_is_created_listed_and_dropped(admin: Admin) -> None:
    admin("realm", "create", "lake", "--model", "gravitino", "--setting", "mode=next")
    listed = json.loads(admin("realm", "list", "--format", "json").out)
    found = next(one for one in listed if one["name"] == "lake")
    assert (found["model"], found["settings"]["mode"]) == ("gravitino", "next")
    assert any(line.startswith("lake ") for line in admin("realm", "list").lines)
    assert admin("realm", "drop", "lake", "--yes").code == 0
    assert "lake " not in admin("realm", "list").out


def test_a_realm_is_dropped_only_when_that_is_said(admin: Admin) -> None:
    found = admin.ask("realm", "drop", "cdap")
    assert found.code == 2
    assert "confirm with --yes" in found.err
    assert "cdap" in admin("realm", "list").out


def test_what_cannot_be_a_realm_is_refused(admin: Admin) -> None:
    for words in (
        ("create", "cdap", "--model", "cdap"),
        ("create", "Bad Name", "--model", "cdap"),
        ("create", "x", "--model", "nope"),
        ("create", "x", "--model", "control"),
        ("create", "x", "--model", "gravitino", "--setting", "mode=odd"),
        ("drop", "_server", "--yes"),
        ("drop", "nope", "--yes"),
    ):
        found = admin.ask("realm", *words)
        assert (found.code, found.out) == (2, ""), words
