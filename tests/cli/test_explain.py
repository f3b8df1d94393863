"""`lakewarden explain`: the deciding statements, the principals, and what would turn a denial."""

from __future__ import annotations

from pathlib import Path

import pytest

from lakewarden.cli import explain as verb
from lakewarden.kernel.explain import Explanation
from lakewarden.kernel.request import Decision, Reason
from tests.cli.realms import DATASET, Cli, write_realm

TABLE = "table:lk:c.s.t"


def test_an_allow_names_its_statements_and_how_they_reach_the_asker(cli: Cli) -> None:
    found = cli("explain", "ana", "table.load", TABLE, "@gravitino")
    assert found.code == 0
    assert found.lines == [
        "ana may table.load on table:lk:c.s.t",
        "  yes all of",
        "    yes MEMBER  (allowed by implied:member:lk)",
        "    yes all of",
        "      yes USE_CATALOG  (allowed by read)",
        "      yes USE_SCHEMA  (allowed by read)",
        "      yes SELECT_TABLE  (allowed by read)",
        "the statements",
        "  read",
        "    ALLOW SELECT_TABLE, USE_CATALOG, USE_SCHEMA on catalog:lk:c to role:lk:readers",
        "    reaches ana → group:staff → role:lk:readers",
    ]


def test_an_allowed_read_says_what_limits_it(cli: Cli, tmp_path: Path) -> None:
    granted = {"privileges": ["USE_CATALOG", "USE_SCHEMA", "SELECT_TABLE"], "on": "catalog:lk:c"}
    everybody: dict[str, list[str]] = {"to": []}
    folder = write_realm(
        tmp_path / "limited",
        "gravitino",
        entities=["metalake:lk", "catalog:lk:c", "schema:lk:c.s", TABLE],
        principals=["user:ana", "user:ben"],
        members={"members:lk": ["user:ana", "user:ben"]},
        statements=[
            {"id": "read", "effect": "allow", "to": ["user:ana"], **granted},
            {"id": "rows", "effect": "filter", "on": TABLE, "expression": "a = 1", **everybody},
            {"id": "null", "effect": "mask", "on": TABLE, "expression": "null", **everybody},
        ],
    )
    at = ("--from", str(folder))
    note = (
        "1 row filter (rows) and 1 column mask (null) bind where it is read:"
        " `lakewarden see ana table:lk:c.s.t`"
    )
    found = cli("explain", "ana", "table.load", TABLE, *at)
    assert (found.code, found.err) == (0, f"note: {note}\n")
    as_json = cli("explain", "ana", "table.load", TABLE, *at, "--format", "json").json
    assert as_json["notes"] == [note]
    assert as_json["limits"] == {"filters": ["rows"], "masks": ["null"]}
    denied = cli("explain", "ben", "table.load", TABLE, *at, "--format", "json").json
    assert (denied["allow"], denied["limits"]) == (False, None)


def test_a_deny_names_what_is_missing_and_what_would_turn_it(cli: Cli) -> None:
    found = cli("explain", "ben", "table.alter", TABLE, "@gravitino")
    assert found.code == 1
    assert found.lines == [
        "ben may not table.alter on table:lk:c.s.t",
        "  no  any of",
        "    no  owner of metalake or catalog",
        "    no  owner of schema",
        "    no  USE_SCHEMA  (allowed by read; denied by block)",
        "the statements",
        "  read",
        "    ALLOW USE_SCHEMA (and 2 more) on catalog:lk:c to role:lk:readers",
        "    reaches ben → role:lk:readers",
        "  block",
        "    DENY USE_SCHEMA on schema:lk:c.s to role:lk:blocked (no raw data)",
        "    reaches ben → role:lk:blocked",
        "it would be allowed with",
        "  DENY block lifted",
        "    also allows there table.load, table.write, table.drop, table.purge and 14 more",
    ]


def test_the_whole_rule_is_shown_when_asked_for(cli: Cli) -> None:
    short = cli("explain", "ana", "table.load", TABLE, "@gravitino")
    whole = cli("explain", "ana", "table.load", TABLE, "@gravitino", "--full")
    assert whole.code == 0
    assert len(whole.lines) > len(short.lines)
    assert "          no  MODIFY_TABLE" in whole.out


def test_an_owner_is_reached_as_an_owner(cli: Cli) -> None:
    found = cli("explain", "ana", "entity.update", DATASET, "@datahub")
    assert found.code == 0
    assert "    ALLOW EDIT_ENTITY where TAG ≠ x to its owners" in found.lines
    assert "    reaches ana as an owner" in found.lines


def test_a_group_of_the_request_is_told(cli: Cli) -> None:
    found = cli("explain", "eve", "SELECT_TABLE", TABLE, "@gravitino", "--group", "staff")
    assert "    reaches eve → role:lk:readers" in found.lines or (
        "    reaches eve → group:staff → role:lk:readers" in found.lines
    )


def test_a_way_says_who_can_grant_it(cli: Cli) -> None:
    found = cli("explain", "ben", "dataset.read", "dataset:sales.t1", "@cdap")
    assert found.code == 1
    assert found.lines[2:] == [
        "it would be allowed with",
        "  entering role:reader",
        "    also allows there dataset.get, namespace.search.filter, core.list.filter, core.get"
        " and 7 more",
        "  READ on dataset:sales.t1 (nobody stored can grant it)",
        "    also allows there dataset.get, namespace.search.filter, core.list.filter, core.get"
        " and 7 more",
    ]


def test_a_way_says_on_how_many_others_it_opens_the_same(cli: Cli) -> None:
    found = cli("explain", "ben", "table.load", "table:lk:c.s.u", "@gravitino")
    assert found.lines[-2] == "  DENY block lifted"
    assert found.lines[-1].startswith("    also allows table.load on 1 × table more; there ")


def test_what_is_not_stored_has_no_way(cli: Cli) -> None:
    found = cli("explain", "ana", "table.load", "table:lk:c.s.x", "@gravitino")
    assert found.code == 1
    assert found.lines == [
        "ana may not table.load on table:lk:c.s.x",
        "  because it is not stored",
        "no grant would change this",
    ]


def test_json_has_the_whole_rule_and_the_ways(cli: Cli) -> None:
    found = cli("explain", "ben", "table.alter", TABLE, "@gravitino", "--format", "json")
    assert found.code == 1
    body = found.json
    assert body["allow"] is False
    assert body["reason"] == "denied"
    assert body["statements"] == ["block", "implied:member:lk", "read"]
    ways = body["ways"]
    assert isinstance(ways, list)
    (way,) = ways
    assert (way["allow"], way["lift"], way["join"], way["others"]) == ([], ["block"], [], 0)
    assert way["opens"][0] == "table.load"
    rule = body["rule"]
    assert isinstance(rule, dict)
    assert (rule["says"], rule["holds"], rule["entity"]) == ("all of", False, TABLE)
    found = cli("explain", "ana", "table.alter", TABLE, "@gravitino", "--format", "json")
    (way,) = (w for w in found.json["ways"] if len(w["allow"]) == 1)  # type: ignore[attr-defined]
    assert way["allow"][0]["privilege"] == "MODIFY_TABLE"


def test_json_of_a_question_without_a_rule(cli: Cli) -> None:
    words = ("explain", "ana", "table.load", "table:lk:c.s.x", "@gravitino", "--format", "json")
    found = cli(*words)
    assert found.json["rule"] is None
    assert found.json["reason"] == "not stored"


def test_what_cannot_be_judged_is_neither_yes_nor_no(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    error = Explanation(Decision(False, Reason.ERROR, 0), None, (), ())
    monkeypatch.setattr(verb, "explained", lambda *_: error)
    found = cli("explain", "ana", "table.load", TABLE, "@gravitino")
    assert found.code == 3
    assert "because the question could not be judged" in found.out
