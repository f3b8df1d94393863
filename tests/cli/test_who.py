"""`lakewarden who`: the permitted stored users, by name."""

from __future__ import annotations

from tests.cli.realms import DATASET, Cli


def test_users_are_listed_by_name(cli: Cli) -> None:
    found = cli("who", "table.load", "table:lk:c.s.t", "@gravitino")
    assert (found.code, found.out, found.err) == (0, "user\nana\n", "")
    found = cli("who", "entity.update", DATASET, "@datahub")
    assert found.lines == ["user", "ana"]


def test_nobody_is_exit_code_1(cli: Cli) -> None:
    found = cli("who", "table.drop", "table:lk:c.s.u", "@gravitino")
    assert (found.code, found.out, found.err) == (1, "", "note: nobody may\n")


def test_json_has_the_names_as_stored(cli: Cli) -> None:
    found = cli("who", "entity.update", DATASET, "@datahub", "--format", "json")
    assert found.json == {"total": 1, "users": ["urn:li:corpuser:ana"], "notes": []}
    found = cli("who", "table.drop", "table:lk:c.s.u", "@gravitino", "--format", "json")
    assert (found.code, found.json["total"]) == (1, 0)


def test_what_is_not_stored_is_noted_and_nobody_asked_is(cli: Cli) -> None:
    found = cli("who", "table.load", "table:lk:c.s.x", "@gravitino")
    assert found.code == 1
    assert "table `lk:c.s.x` is not stored" in found.err
    assert "anybody" not in found.err


def test_sub_resources_count_and_groups_cannot_be_given(cli: Cli) -> None:
    words = ("who", "EDIT_ENTITY_TAGS", DATASET, "@datahub")
    assert cli(*words, "--sub", "urn:li:tag:spring").lines == ["user", "ana"]
    assert cli(*words, "--sub", "urn:li:tag:pii").code == 1
    assert cli(*words, "--group", "staff").code == 2


def test_csv_has_a_row_for_each_user(cli: Cli) -> None:
    found = cli("who", "table.load", "table:lk:c.s.t", "@gravitino", "--format", "csv")
    assert (found.code, found.out) == (0, "user\nana\n")
    nobody = cli("who", "table.alter", "table:lk:c.s.u", "@gravitino", "--format", "csv")
    assert (nobody.code, nobody.out) == (1, "user\n")
    folder = str(cli.folders["gravitino"])
    several = ("--from", folder, "--from", f"second={folder}", "--format", "csv")
    found = cli("who", "read", "table:lk:c.s.t", "--home", "gravitino", *several)
    assert found.out == "user,realm\nana,gravitino\n"


def test_who_sees_the_values_of_a_column(cli: Cli) -> None:
    words = ("who", "--unmasked", "column:lk:c.s.t.amount", "@gravitino")
    assert cli(*words).lines == ["user", "ana"]
    assert cli("who", "--unmasked", "column:lk:c.none.u.amount", "@gravitino").code == 1
    refused = cli("who", "--unmasked", "table:lk:c.s.t", "@gravitino")
    assert (refused.code, refused.out) == (2, "")
    assert "a table is not a column; types that are: column" in refused.err


def test_an_operation_or_a_column_is_expected(cli: Cli) -> None:
    for words in ((), ("table.load", "table:lk:c.s.t", "--unmasked", "column:lk:c.s.t.amount")):
        refused = cli("who", *words, "@gravitino")
        assert refused.code == 2
        assert "expected either OPERATION or `--unmasked COLUMN`" in refused.err
    folder = str(cli.folders["gravitino"])
    several = ("--from", folder, "--from", f"second={folder}")
    refused = cli("who", "--unmasked", "column:lk:c.s.t.amount", *several)
    assert (refused.code, "takes one realm" in refused.err) == (2, True)
