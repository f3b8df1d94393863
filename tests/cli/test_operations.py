"""`lakewarden operations`: the operations for requests."""

from __future__ import annotations

import json

import pytest

from lakewarden import models
from tests.cli.realms import Cli


@pytest.mark.parametrize("name", models.names())
def test_every_model_lists_its_operations(cli: Cli, name: str) -> None:
    found = cli("operations", "--model", name)
    assert found.code == 0
    first = {line.split()[0] for line in found.lines[1:]}
    assert set(models.load(name).operations) <= first


def test_a_realm_lists_those_of_its_model(cli: Cli) -> None:
    of_realm = cli("operations", "@cdap")
    assert of_realm.code == 0
    assert of_realm.out == cli("operations", "--model", "cdap").out


def test_operations_about_one_type(cli: Cli) -> None:
    found = cli("operations", "--model", "gravitino", "--about", "tag", "--format", "json")
    rows = json.loads(found.out)
    assert {row["on"] for row in rows} <= {"tag", "any"}
    assert "tag.load" in {row["operation"] for row in rows}
    assert all(row["rule"] and row["title"] for row in rows)


def test_a_type_without_operations_of_its_own_is_exit_code_1(cli: Cli) -> None:
    found = cli("operations", "--model", "cdap_parent_write", "--about", "profile", "--privileges")
    assert found.code == 0
    found = cli("operations", "--model", "gravitino", "--about", "job", "--privileges")
    assert (found.code, found.out) == (1, "privilege  on  title\n")


def test_privileges_are_listed_instead(cli: Cli) -> None:
    found = cli("operations", "--model", "gravitino", "--privileges")
    line = next(line for line in found.lines if line.startswith("SELECT_TABLE "))
    assert "catalog, metalake, schema, table" in line
    found = cli("operations", "--model", "datahub", "--privileges")
    line = next(line for line in found.lines if line.startswith("MANAGE_POLICIES "))
    assert "the platform" in line


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ((), "give one of --from DIR, --server URL, --database URL, --model NAME (one of: cdap"),
        (
            ("--model", "gravitino", "@cdap"),
            "give one of --from DIR, --server URL, --database URL, --model NAME",
        ),
        (("--model", "gravitona"), "gravitona"),
        (("--model", "gravitino", "--about", "shelf"), "unknown type `shelf`"),
    ],
)
def test_what_is_not_known_is_named(cli: Cli, words: tuple[str, ...], message: str) -> None:
    found = cli("operations", *words)
    assert (found.code, found.out) == (2, "")
    assert message in found.err
