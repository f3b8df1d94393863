"""`lakewarden privileges`: the held privileges, and what they allow."""

from __future__ import annotations

from tests.cli.realms import Cli


def test_privileges_and_the_operations_they_open(cli: Cli) -> None:
    found = cli("privileges", "ana", "table:lk:c.s.t", "@gravitino")
    assert (found.code, found.err) == (0, "")
    kinds = {tuple(line.split()[:2]) for line in found.lines}
    assert ("privilege", "SELECT_TABLE") in kinds
    assert ("operation", "table.load") in kinds
    assert ("operation", "table.alter") not in kinds


def test_nothing_held_is_exit_code_1(cli: Cli) -> None:
    found = cli("privileges", "eve", "table:lk:c.s.t", "@gravitino")
    assert (found.code, found.out, found.err) == (1, "", "note: nothing is held\n")


def test_json_has_both_lists(cli: Cli) -> None:
    found = cli("privileges", "ana", "dataset:sales.t1", "@cdap", "--format", "json")
    assert found.code == 0
    assert found.json["privileges"] == ["READ", "VISIBLE"]
    operations = found.json["operations"]
    assert isinstance(operations, list)
    assert "dataset.read" in operations
    found = cli("privileges", "eve", "table:lk:c.s.t", "@gravitino", "--format", "json")
    assert (found.code, found.json["privileges"]) == (1, [])


def test_a_user_that_is_not_stored_is_noted(cli: Cli) -> None:
    found = cli("privileges", "zoe", "@datahub")
    assert found.code == 0
    assert "VIEW_ANALYTICS" in found.out
    assert "user `urn:li:corpuser:zoe` is not stored" in found.err
