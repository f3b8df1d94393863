"""`lakewarden list`: pages, counts, containers."""

from __future__ import annotations

from tests.cli.realms import DATASET, Cli


def test_entities_are_listed_as_any_verb_takes_them(cli: Cli) -> None:
    found = cli("list", "ana", "table.load", "@gravitino")
    assert (found.code, found.err) == (0, "")
    assert found.lines == ["entity", "table:lk:c.s.t", "table:lk:c.s.u"]
    found = cli("list", "ana", "entity.update", "@datahub")
    assert DATASET in found.lines


def test_nothing_to_list_is_exit_code_1(cli: Cli) -> None:
    found = cli("list", "eve", "table.load", "@gravitino")
    assert (found.code, found.out) == (1, "")


def test_json_has_types_and_names(cli: Cli) -> None:
    found = cli("list", "ana", "table.load", "@gravitino", "--format", "json")
    assert found.code == 0
    assert found.json == {
        "total": 2,
        "entities": [
            {"type": "table", "name": "lk:c.s.t"},
            {"type": "table", "name": "lk:c.s.u"},
        ],
        "after": None,
        "notes": [],
    }


def test_a_page_says_how_to_go_on(cli: Cli) -> None:
    first = cli("list", "ana", "table.load", "@gravitino", "--limit", "1")
    assert first.lines == ["entity", "table:lk:c.s.t"]
    assert "1 of 2 shown; go on with --after 'table:lk:c.s.t'" in first.err
    words = ("list", "ana", "table.load", "@gravitino", "--limit", "1", "--after", "table:lk:c.s.t")
    second = cli(*words)
    assert second.lines == ["entity", "table:lk:c.s.u"]
    assert second.err == ""
    page = cli(*words[:6], "--format", "json").json
    assert (page["total"], page["after"]) == (2, "table:lk:c.s.t")


def test_only_the_number_is_counted(cli: Cli) -> None:
    found = cli("list", "ana", "table.load", "@gravitino", "--count")
    assert (found.code, found.out) == (0, "2\n")
    found = cli("list", "eve", "table.load", "@gravitino", "--count")
    assert (found.code, found.out) == (1, "0\n")
    found = cli("list", "ana", "table.load", "@gravitino", "--count", "--format", "json")
    assert found.json == {"total": 2, "notes": []}


def test_within_keeps_what_lies_below(cli: Cli) -> None:
    words = ("list", "ana", "table.load", "@gravitino", "--count", "--within")
    assert cli(*words, "catalog:lk:c").out == "2\n"
    assert cli(*words, "table:lk:c.s.t").out == "0\n"
    found = cli(*words, "schema:lk:c.x")
    assert (found.code, found.out) == (1, "0\n")
    assert "schema `lk:c.x` is not stored, so nothing lies below it" in found.err


def test_a_user_that_is_not_stored_gets_a_list_and_a_note(cli: Cli) -> None:
    found = cli("list", "zoe", "entity.view", "@datahub")
    assert "user `urn:li:corpuser:zoe` is not stored" in found.err


def test_a_limit_below_1_is_refused(cli: Cli) -> None:
    found = cli("list", "ana", "table.load", "@gravitino", "--limit", "0")
    assert (found.code, found.err) == (2, "lakewarden: --limit: expected 1 or more, got 0\n")


def test_a_bad_container_is_refused(cli: Cli) -> None:
    found = cli("list", "ana", "table.load", "@gravitino", "--within", "shelf:x")
    assert found.code == 2
    assert "unknown type `shelf`" in found.err


def test_csv_has_a_row_for_each_entity(cli: Cli) -> None:
    found = cli("list", "ana", "table.load", "@gravitino", "--format", "csv")
    assert found.out == "type,name\ntable,lk:c.s.t\ntable,lk:c.s.u\n"
    folder = str(cli.folders["gravitino"])
    several = ("--from", folder, "--from", f"second={folder}", "--format", "csv")
    found = cli("list", "ana", "read", *several)
    assert found.lines[:2] == [
        "realm,operation,type,name",
        "gravitino,table.load,table,lk:c.s.t",
    ]
